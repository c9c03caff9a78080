"""Batches: where in the log each micro-batch ends, as the checkpoint says.

Spark writes the end of a batch into `offsets/` before it runs it, and tells the source that it is over when it begins
the next one, which may be hours later. So whoever wants to know how far everything is answered looks here when a batch
has been gone through:

    offsets/17      v1
                    {"batchWatermarkMs": 0, …}
                    {"seq": 41}                     the batch 17 ends with the entry 41 (see `source` for other forms)

    Batches(directory, database).end(17)            # 41; None if that cannot be told
"""

from __future__ import annotations

import json

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.store.batch_ends import Ends


class Batches:
    def __init__(self, directory: DataDirectory, database: Database) -> None:
        self._offsets, self._ends = directory.checkpoint / "offsets", Ends(database)

    def end(self, batch: int) -> int | None:
        """The place with which a batch ends that has been read."""
        try:
            offset = json.loads((self._offsets / str(batch)).read_text().rstrip().rpartition("\n")[2])
            return self._ends.of(offset["seq"], offset["tick"]) if "tick" in offset else offset["seq"]
        except (OSError, ValueError, KeyError, TypeError):
            return None  # only a hint hangs on it
