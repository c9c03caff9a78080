"""The store: one directory, one embedded database, the only contract between the web process and the engine.

It knows bytes, numbers and names, and nothing of RDF, windows or Spark:

- `directory`  where the store lives, and the lock that gives it to one server at a time
- `database`   SQLite in WAL mode: schema, connections, write transactions
- `indexes`    which of its indexes are damaged, and are made anew
- `log`        entries in one total order; reading them
- `writer`     group commit: the only way into the log
- `clock`      the arrival clock that stamps entries
- `registry`   streams and queries, as a view of the log
- `answers`    what became true, keyed so that nothing is told twice
- `order`      the one line in which all answers stand, and what of it is forgotten
- `incarnations`  which past the log has, since copies of it can be put back
- `witness`    what the database last looked like, noted beside the engine's checkpoint
- `checksum`   whether what is read is what was written; `damage`: what of it is not
- `inspection` the whole of a database, read for that
- `retention`  what may be forgotten; `vacuum`: its room is given back to the disk
- `batch_ends` where batches end that were begun before their end was there
- `status`     what a process says of itself
- `measures`   what queries cost
- `repeats`    pushes that were named by who sent them, so that none counts twice
- `observers`  whom the server calls, and how far each has heard
- `tokens`     who may do what
- `bell`       a hint that something new is there
"""

from __future__ import annotations

from csparql_spark.store.answers import AnswerStore, StoredAnswer
from csparql_spark.store.database import Database
from csparql_spark.store.directory import DataDirectory, StoreError
from csparql_spark.store.log import Draft, Entry, Log
from csparql_spark.store.registry import QueryRecord, Registry, StreamRecord
from csparql_spark.store.status import Status
from csparql_spark.store.writer import LogWriter, Refused

__all__ = ["AnswerStore", "DataDirectory", "Database", "Draft", "Entry", "Log", "LogWriter", "QueryRecord",
           "Refused", "Registry", "Status", "StoreError", "StoredAnswer", "StreamRecord"]
