"""A copy of the database is put back, and the log grows past what the engine has read before the engine looks.

For example:

    log      ─ s q 1 2 3 ┬ 4 5 6 7 8 9              read by the engine, answered, lost
                         └ 4'5'6'7'8'9'10'11'12'    as it is now: all of this is answered, as a replay answers it
                       copy
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

from csparql_spark.asking.replay import answer
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.engine.messages import InstantAnswer
from csparql_spark.log import Draft, Log, LogWriter
from csparql_spark.log.sqlite.incarnations import Incarnations
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.store import AnswerStore, QueryRecord, Registry
from csparql_spark.store.registry import StreamRecord

STREAM = "urn:s"
TEXT = f"REGISTER QUERY q AS SELECT ?n FROM STREAM <{STREAM}> [RANGE 3s STEP 1s] WHERE {{ ?push <urn:number> ?n }}"
PATIENCE_SECONDS = 400


class House:
    def __init__(self, path: Path) -> None:
        self.directory = DataDirectory(path).create()
        self.database = Database(self.directory.database).create()
        Incarnations(self.database).begin(at=0)
        self.writer = LogWriter(self.database, self.directory.bell("log")).start()

    def push(self, branch: str, *seconds: int) -> None:
        for second in seconds:
            stamp = 1000 * second
            chunk = Chunk.from_triples([("<urn:push>", "<urn:number>", f'"{branch}{second}"')], [stamp])
            self.writer.append(Draft("chunk", STREAM, chunk.to_ipc(), rows=1, first=stamp, last=stamp))

    def close(self) -> None:
        self.writer.stop()
        self.database.close()

    def replayed(self) -> dict[tuple[int, int], bytes]:
        log = Log(self.database)
        return {
            (told.instant, told.part): told.payload
            for told in answer(log.read(0, log.tail()))
            if isinstance(told, InstantAnswer)
        }

    def stored(self) -> dict[tuple[int, int], bytes]:
        query = Registry(self.database).query("q")
        store = AnswerStore(self.database, self.directory.bell("answers"))
        return {(told.instant, told.part): told.payload for told in store.after(query.id, 0, 1000)}


def engine(house: House) -> str:
    """Run the engine to the end of the log; what it says."""
    run = subprocess.run(
        [sys.executable, "-m", "csparql_spark.spark.engine", "--data", str(house.directory.path), "--to-the-end"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    return run.stderr


def test_a_log_that_has_grown_past_what_was_read_of_another_one(tmp_path: Path) -> None:
    house = House(tmp_path / "data")
    house.writer.append(StreamRecord.draft(STREAM, name="s", clock="event", delay=0))
    house.writer.append(QueryRecord.draft("q", text=TEXT, base=None))
    house.push("a", 1, 2, 3)
    with sqlite3.connect(tmp_path / "copy.db") as copy:
        house.database.connection.backup(copy)
    copy.close()
    house.push("a", *range(4, 10))
    assert "copy" not in engine(house)
    assert house.stored() == house.replayed() and len(house.stored()) == 8
    house.close()

    for file in tmp_path.glob("data/store.db*"):
        file.unlink()
    shutil.copy(tmp_path / "copy.db", house.directory.database)
    house = House(tmp_path / "data")
    assert house.stored() == {}, "nothing was answered when the copy was taken"
    house.push("b", *range(4, 13))
    said = engine(house)
    assert "a copy that was put back" in said and "checkpoint-1.damaged" in said
    assert house.stored() == house.replayed() and len(house.stored()) == 11
    house.push("b", 13)
    assert "a copy" not in engine(house)
    assert house.stored() == house.replayed() and len(house.stored()) == 12
    house.close()
