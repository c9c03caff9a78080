"""The engine process: runs the job until it is told to stop, or dies trying.

It is crash-only: everything that it knows is in the log, the checkpoint and the answer store, so there is no orderly
way to end that would be any better than being killed. Whoever starts it restarts it.

    python -m csparql_spark.spark.engine --data data --master 'local[2]'
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click
from pyspark.sql.streaming import StreamingQuery

from csparql_spark import lifeline
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.disk.directory import PRIVATE
from csparql_spark.pulse import DRIVER, Pulse
from csparql_spark.spark import job
from csparql_spark.spark.checkpoint import is_unreadable, lacking, leave_another, set_aside
from csparql_spark.spark.delete_on_exit import Closed, DeleteOnExit
from csparql_spark.spark.session import EngineError, open_session
from csparql_spark.spark.stages import Stages
from csparql_spark.store import Status
from csparql_spark.store.progress import answered
from csparql_spark.store.witness import Witness

LOOK_SECONDS = 1.0  # between two looks at what Spark tells of its batches
LOOKS_UNTIL_FORGOTTEN = 60  # what the JVM means to delete at its end


@click.command()
@click.option("--data", type=click.Path(path_type=Path), required=True)
@click.option("--master", default="local[2]")
@click.option("--lifeline", "line", type=int, default=None, help="descriptor of a pipe; end when it is closed")
@click.option("--to-the-end", is_flag=True, help="end when everything that is in the log now is answered")
def main(data: Path, master: str, line: int | None, to_the_end: bool) -> None:
    """Run the engine over a data directory."""
    if line is not None:
        lifeline.hold(line)
    os.umask(PRIVATE)
    directory = DataDirectory(data)
    database = Database(directory.database).create()
    status = Status(database)
    since = int(time.time() * 1000)

    def say(state: str, **more: object) -> None:
        status.say("engine", {"state": state, "pid": os.getpid(), "since": since, **more})

    say("starting")
    try:
        if lack := lacking(directory):
            print(f"csparql-spark engine: {_set_aside(directory)} ({lack})", file=sys.stderr, flush=True)
        if sentence := leave_another(directory, database):
            print(f"csparql-spark engine: {sentence}", file=sys.stderr, flush=True)
        Witness(directory, database).write()
        spark = open_session(directory, master=master)
        stages = Stages(status)
        query = job.start(spark, directory, to_the_end=to_the_end, stages=stages)
        say("running", began=answered(database.connection))
        _wait(query, stages, DeleteOnExit(spark._jvm), Pulse(directory.bell("life-engine"), DRIVER))
        if to_the_end:
            say("ended")
            os._exit(0)
        reason = "the job has ended by itself"
    except EngineError as error:
        reason = str(error)
    except Exception as error:  # of Spark's many: what matters is that the process ends, and says why in a line
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if is_unreadable(directory, error):
            reason = f"{_set_aside(directory)} ({reason})"
    try:
        say("failed", reason=reason)
        print(f"csparql-spark engine: {reason}", file=sys.stderr, flush=True)
    finally:  # on a full disk neither may be said
        os._exit(1)  # whatever threads are still there must not keep a broken engine alive


def _set_aside(directory: DataDirectory) -> str:
    return (
        f"the checkpoint could not be read and is set aside as {set_aside(directory)}: the engine starts again "
        "from the log, which has all that windows of time can reach"
    )


def _wait(query: StreamingQuery, stages: Stages, exits: DeleteOnExit | None, pulse: Pulse) -> None:
    """Until the job ends: hear of its batches, have the JVM forget what is gone, and give a sign of life whenever
    it has answered."""
    looks = 0
    while not query.awaitTermination(LOOK_SECONDS):  # type: ignore[arg-type]  # Spark takes parts of seconds, too
        pulse.beat()
        stages.look(query)
        looks += 1
        if exits is not None and looks % LOOKS_UNTIL_FORGOTTEN == 0:
            try:
                exits.forget()
            except Closed as error:
                exits = None
                print(
                    f"csparql-spark engine: the JVM keeps the paths of sockets that are gone: {error}",
                    file=sys.stderr,
                    flush=True,
                )


if __name__ == "__main__":
    main()
