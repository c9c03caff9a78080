"""The log: the only clock and the only input. All that ever happened to a server, in one total order.

- `clock`   the arrival clock that stamps entries
- `sqlite`  the log in the database of the data directory
"""

from __future__ import annotations

from csparql_spark.log.sqlite.reader import Draft, Entry, Log
from csparql_spark.log.sqlite.writer import LogWriter, Refused

__all__ = ["Draft", "Entry", "Log", "LogWriter", "Refused"]
