"""The store: what is known of queries and their answers, in the database of the data directory. The only contract
between the web process and the engine, beside the log, of which it is partly a view.

It knows bytes, numbers and names, and nothing of windows or Spark; of RDF one module knows how answers are put together
of changes:

- `registry`   streams and queries, as a view of the log
- `versions`   how much is kept of those that were replaced
- `answers`    what became true, keyed so that nothing is told twice
- `stored_answers`  one of them, as it is handed over, as it is read, and as a row
- `packing`    their payloads, compressed
- `keyframes`  which of them are stored whole, and which as what has changed
- `newest_answers`  what is stored last of each query
- `answer_batch`  answers on their way into the store
- `chains`     wholes, out of a keyframe and the changes after it
- `folding`    what the two above need to know of answers
- `order`      the one line in which all answers stand, and what of it is forgotten
- `witness`    what the database last looked like, noted beside the engine's checkpoint
- `indexes`    which of the database's indexes are damaged, and are made anew
- `inspection` the whole of a database, read for what is damaged
- `retention`  what may be forgotten
- `progress`   how far the engine has come
- `batch_ends` where batches end that were begun before their end was there
- `status`     what a process says of itself
- `waiting_groups` which groups wait until their background is closed
- `measures`   what queries cost
- `observers`  whom the server calls, and how far each has heard
- `tokens`     who may do what
"""

from __future__ import annotations

from csparql_spark.store.answers import AnswerStore
from csparql_spark.store.registry import QueryRecord, Registry, StreamRecord
from csparql_spark.store.status import Status
from csparql_spark.store.stored_answers import StoredAnswer

__all__ = ["AnswerStore", "QueryRecord", "Registry", "Status", "StoredAnswer", "StreamRecord"]
