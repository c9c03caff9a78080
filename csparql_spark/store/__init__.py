"""The store: what is known of queries and their answers, in the database of the data directory. The only contract
between the web process and the engine, beside the log, of which it is partly a view.

It knows bytes, numbers and names, and nothing of RDF, windows or Spark:

- `registry`   streams and queries, as a view of the log
- `answers`    what became true, keyed so that nothing is told twice
- `keyframes`  which of them are stored whole, and which as what has changed
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

from csparql_spark.store.answers import AnswerStore, StoredAnswer
from csparql_spark.store.registry import QueryRecord, Registry, StreamRecord
from csparql_spark.store.status import Status

__all__ = ["AnswerStore", "QueryRecord", "Registry", "Status", "StoredAnswer", "StreamRecord"]
