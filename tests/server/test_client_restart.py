"""A client whose server is killed: what it pushes is counted once, and its subscription misses nothing."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from pathlib import Path

from csparql_spark.client import Client
from csparql_spark.client.following import SILENCE_SECONDS
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Log
from csparql_spark.store import AnswerStore, StoredAnswer
from tests.server.playing import TEXT, number
from tests.server.test_process import Parent

# Shorter than a client waits for a server that says nothing: one that is silent does not go unnoticed.
JOIN_SECONDS = 50.0


def test_it_lives_through_kill_9(tmp_path: Path) -> None:
    assert JOIN_SECONDS < SILENCE_SECONDS
    parent = Parent(tmp_path / "data")
    parent.start()

    def replace(seconds: float) -> None:
        time.sleep(seconds)
        parent.children[-1].send_signal(signal.SIGKILL)
        parent.children[-1].wait()
        parent.start()

    try:
        with Client(f"http://127.0.0.1:{parent.port}", timeout=60) as client:
            client.create_stream("s", clock="event")
            query = client.register("q", TEXT)["id"]
            directory = DataDirectory(tmp_path / "data")
            store = AnswerStore(Database(directory.database), directory.bell("answers"))
            told, seen, folded = [], [], []
            readers = [
                threading.Thread(
                    target=lambda: seen.extend(
                        answer.at for answer in itertools.islice(client.subscribe("q", start="beginning"), 6)
                    )
                ),
                threading.Thread(
                    target=lambda: folded.extend(
                        (change.at, [str(row["n"]) for row in change.whole.rows])
                        for change in itertools.islice(client.follow("q", start="beginning"), 3)
                    )
                ),
            ]
            for reader in readers:
                reader.start()
            for turn in range(3):
                store.write([StoredAnswer(query, 1000 * (2 * turn + i), 0, 1, number(turn).to_bytes()) for i in (1, 2)])
                told.append(client.push("s", f"<urn:{turn}> <urn:n> 1 .")["seq"])
                replacing = threading.Thread(target=replace, args=(0.01 * turn,))
                replacing.start()
                told.append(client.push("s", f"<urn:{turn}> <urn:n> 2 .")["seq"])
                replacing.join()
            for reader in readers:
                reader.join(JOIN_SECONDS)
                assert not reader.is_alive(), "it sits there, and is told nothing"
            assert seen == [1000, 2000, 3000, 4000, 5000, 6000]
            assert folded == [(1000, ["0"]), (3000, ["1"]), (5000, ["2"])], "what is the same is not told"
            log = Log(Database(directory.database))
            assert [entry.seq for entry in log.read(0, log.tail()) if entry.kind == "chunk"] == told
    finally:
        parent.close()
