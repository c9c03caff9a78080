"""Play a script through the whole pipeline: a store of its own, the engine process, and nothing left behind.

    for told in play(script):
        print(told.instant, told.rows)
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from csparql_spark.pipeline.group import FAILURE, Told
from csparql_spark.pipeline.replay import Script
from csparql_spark.spark.session import EngineError, check_java
from csparql_spark.store import AnswerStore, Database, DataDirectory, LogWriter, Registry, Status

LOOK_SECONDS = 0.5
PAGE = 500


def play(script: Script) -> Iterator[Told]:
    """The answers of a script's query, in the order of their instants."""
    check_java()
    with tempfile.TemporaryDirectory(prefix="csparql-spark-") as path:
        directory = DataDirectory(path).create()
        database = Database(directory.database).create()
        writer = LogWriter(database, directory.bell("log")).start()
        for draft in script.drafts():
            writer.append(draft)
        writer.stop()
        (query,) = Registry(database).queries()
        answers = AnswerStore(database, directory.bell("answers"))
        with (Path(path) / "engine.log").open("wb") as noise, subprocess.Popen(
                [sys.executable, "-m", "csparql_spark.spark.engine", "--data", path, "--to-the-end"],
                stdin=subprocess.DEVNULL, stdout=noise, stderr=noise, start_new_session=True) as engine:
            try:
                told = -(1 << 62)
                running = True
                while running:
                    running = engine.poll() is None
                    if running:
                        answers.wait(LOOK_SECONDS)
                    while page := answers.after(query.id, told, PAGE):
                        for answer in page:
                            yield Told(answer.query, answer.instant, answer.part, answer.rows, answer.payload)
                        told = page[-1].instant
            finally:
                engine.kill()
            if engine.wait():
                said = Status(database).of("engine") or {}
                raise EngineError(f"the engine has failed: {said.get('reason', 'it did not say why')}")
        if failure := answers.failure(query.id):
            yield Told(query.id, failure[0], FAILURE, 0, failure[1].encode())
        database.close()
