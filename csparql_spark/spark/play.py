"""Play scripts through the whole pipeline: a store of their own, the engine process, and nothing left behind.

For example:

    for message in play(script):
        print(message.instant)
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from csparql_spark.asking.replay import Script
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.engine.messages import InstantAnswer, Message, QueryFailure
from csparql_spark.lifeline import Lifeline
from csparql_spark.log import LogWriter
from csparql_spark.spark.scratch import Scratch
from csparql_spark.spark.session import EngineError, check_java
from csparql_spark.store import AnswerStore, Registry, Status

LOOK_SECONDS = 0.5
PAGE = 500


def play(script: Script) -> Iterator[Message]:
    """The answers of a script's query, in the order of their instants."""
    return (message for _, message in play_together([script]))


def play_together(scripts: Sequence[Script]) -> Iterator[tuple[int, Message]]:
    """The answers of several scripts, which one engine plays from one log: the place of a script, and what it is told.

    Their queries and streams have names of their own: no two scripts have one in common. Its steps, from an empty
    directory to one that is taken away, follow one after the other.
    """
    check_java()
    with tempfile.TemporaryDirectory(prefix="csparql-spark-") as path:
        directory = DataDirectory(path).create()
        database = Database(directory.database).create()
        writer = LogWriter(database, directory.bell("log")).start()
        for script in scripts:
            for draft in script.drafts():
                writer.append(draft)
        writer.stop()
        queries = [query.id for query in Registry(database).queries()]
        answers = AnswerStore(database, directory.bell("answers"))
        line = Lifeline(Path(path) / "line")
        with (
            (Path(path) / "engine.log").open("wb") as noise,
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "csparql_spark.spark.engine",
                    "--data",
                    path,
                    "--to-the-end",
                    "--lifeline",
                    str(line.reading),
                ],
                stdin=subprocess.DEVNULL,
                stdout=noise,
                stderr=noise,
                start_new_session=True,
                pass_fds=(line.reading,),
            ) as engine,
        ):
            line.tie(engine.pid)
            try:
                last = dict.fromkeys(queries, -(1 << 62))
                running = True
                while running:
                    running = engine.poll() is None
                    if running:
                        answers.wait(LOOK_SECONDS)
                    for place, query in enumerate(queries):
                        while page := answers.after(query, last[query], PAGE):
                            for answer in page:
                                yield (
                                    place,
                                    InstantAnswer(query, answer.instant, answer.part, answer.rows, answer.payload),
                                )
                            last[query] = page[-1].instant
            finally:
                line.cut()  # the JVM and its workers end with the engine
                engine.kill()
                engine.wait()
                Scratch(directory).clear()
            if engine.wait():
                status = Status(database).of("engine") or {}
                raise EngineError(f"the engine has failed: {status.get('reason', 'it did not say why')}")
        for place, query in enumerate(queries):
            if failure := answers.failure(query):
                yield place, QueryFailure(query, *failure)
        database.close()
