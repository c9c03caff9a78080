"""The log: the only clock and the only input. All that ever happened to a server, in one total order.

- `entries`   entries and drafts of them, and their kinds
- `contents`  what entries say, as values: the one place that writes and reads it
- `guards`    on what condition an entry goes in, as values
- `contract`  what may be asked of a log, wherever it keeps its entries
- `clock`     the arrival clock that stamps entries
- `sqlite`    the log in the database of the data directory
- `fold`      what there is after a place of the log: guards are decided by it
- `memory`    a log in memory
"""

from __future__ import annotations

from csparql_spark.log.entries import Draft, Entry
from csparql_spark.log.guards import Refused
from csparql_spark.log.sqlite.reader import Log
from csparql_spark.log.sqlite.writer import LogWriter

__all__ = ["Draft", "Entry", "Log", "LogWriter", "Refused"]
