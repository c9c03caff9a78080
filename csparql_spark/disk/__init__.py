"""The disk: the directory of a server, and the database file in it. It knows bytes, and nothing of what they say.

- `directory`  where everything lives, and the lock that gives it to one server at a time
- `database`   SQLite in WAL mode: schema, connections, write transactions
- `connection` SQLite's connections, whose errors are the house's
- `errors`     what the store cannot do, as sentences
- `checksum`   whether what is read is what was written
- `damage`     what of it is not
- `vacuum`     room of what is forgotten is given back
- `bell`       a hint that something new is there
"""

from __future__ import annotations

from csparql_spark.disk.database import Database
from csparql_spark.disk.directory import DataDirectory
from csparql_spark.disk.errors import DatabaseFault, StoreError

__all__ = ["DataDirectory", "Database", "DatabaseFault", "StoreError"]
