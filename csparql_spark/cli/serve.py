"""`serve`: the server, with its two processes and, if asked for, the demo that feeds it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from csparql_spark.answers.limits import PREFIX as LIMITS
from csparql_spark.cli.failure import Failure, as_failure
from csparql_spark.cli.flags import flags, resolved
from csparql_spark.cli.processes import Child, Supervisor
from csparql_spark.cli.watch import Watch
from csparql_spark.disk import Database, DatabaseFault, DataDirectory, StoreError
from csparql_spark.disk.directory import private
from csparql_spark.disk.vacuum import convert
from csparql_spark.log import Log
from csparql_spark.log.sqlite.incarnations import Incarnations
from csparql_spark.pulse import DRIVER, FRONT, JOB
from csparql_spark.settings import MAINTENANCE, WORKER_MEMORY, Settings
from csparql_spark.store import Status
from csparql_spark.store.indexes import made_anew
from csparql_spark.store.progress import answered
from csparql_spark.store.tokens import Tokens, made, refuse_open_doors

POOLS = "MALLOC_ARENA_MAX"


@click.command()
@flags(without=("speed",))
def serve(config: Path | None, **given: object) -> None:
    """Start the server.

    Two processes: the web process answers HTTP at once; the engine (Spark) is ready some seconds later, when it has
    answered what waited for it, and a line says so. Either is started again when it dies. Ctrl-C stops both; nothing
    that was acknowledged is lost, however they end.

    Each flag is a setting, and may stand in csparql-spark.toml or in the environment, too: `csparql-spark config`
    tells what holds, and why.
    """
    start(resolved(given, config).settings)


def start(settings: Settings, *, browser: bool = False) -> None:
    """Serve until a signal; with a browser, show the console in it. Raises `Failure`. What is begun is ended in the
    opposite order: so it stands in one place, one step after the other."""
    from csparql_spark.spark.scratch import Scratch
    from csparql_spark.spark.session import EngineError, check_java

    try:
        check_java()
    except EngineError as error:
        raise Failure(str(error)) from error
    with as_failure(), private():
        directory = DataDirectory(settings.data).create()
        with directory.lock() as lock, _listen(settings.host, settings.port) as listening:
            with _usable(directory):
                if directory.narrow():
                    click.echo(
                        f"csparql-spark: others could read what is in {directory.path}: now only its owner can",
                        err=True,
                    )
                tokens = Tokens(directory.path, settings.tokens)
                for address in (settings.host, listening.getsockname()[0]):
                    refuse_open_doors(address, tokens)
                database = Database(directory.database).create()
                for mend in (made_anew, convert):
                    mend(database, lambda line: click.echo(f"csparql-spark: {line}", err=True))
                begin(directory, database)
                database.close()
                settings = dataclasses.replace(settings, port=listening.getsockname()[1])
                demo_environment = {}
                if settings.demo and tokens.all():
                    demo_environment["CSPARQL_TOKEN"], token = made("the-demo", ["register", "push"])
                    settings = dataclasses.replace(settings, tokens=(*settings.tokens, token.as_setting))
                handed = ["--settings", str(settings.hand_down(directory.path))]
                own = ["--data", str(directory.path)]
            children = [
                Child(
                    "web",
                    [
                        sys.executable,
                        "-m",
                        "csparql_spark.server.process",
                        *own,
                        *handed,
                        "--fd",
                        str(listening.fileno()),
                    ],
                    (lock, listening.fileno()),
                    environment={**pools(), **limits(settings)},
                    watch=web_watch(settings, directory),
                ),
                Child(
                    "engine",
                    [sys.executable, "-m", "csparql_spark.spark.engine", *own, "--master", settings.master],
                    (lock,),
                    directory.engine / "engine.log",
                    environment={
                        **pools(),
                        **limits(settings),
                        MAINTENANCE: settings.maintenance,
                        WORKER_MEMORY: str(settings.worker_memory),
                    },
                    watch=engine_watch(settings, directory),
                    ready=engine_ready(database),
                ),
            ]
            if settings.demo:
                shown = ["--browser"] if browser else []
                children.append(
                    Child(
                        "demo",
                        [sys.executable, "-m", "csparql_spark.cli.feeding", *own, *handed, *shown],
                        environment=demo_environment,
                    )
                )
            click.echo(
                f"csparql-spark serves {settings.base} from {directory.path}; the engine is starting (Ctrl-C stops)"
            )
            sys.stdout.flush()
            Supervisor(children).run()
            Scratch(directory).clear()
            _fold(database)


def begin(directory: DataDirectory, database: Database) -> None:
    """Begin an incarnation of the log, before anything comes into it; what the engine has made of another past is
    left."""
    from csparql_spark.spark.checkpoint import leave_another

    try:
        sentence = leave_another(directory, database)
    except OSError as error:
        raise StoreError(
            f"{directory.checkpoint} is not of the database that is there, and cannot be set aside "
            f"({error.strerror}): delete it, then start again"
        ) from error
    if sentence is not None:
        click.echo(f"csparql-spark: {sentence}", err=True)
    Incarnations(database).begin(at=int(time.time() * 1000))
    # What the engine of another start has said of itself is over; its process number may be somebody else's by now.
    Status(database).say("engine", {"state": "starting"})


@contextlib.contextmanager
def _usable(directory: DataDirectory) -> Iterator[None]:
    """All that is done with it before the children start fails with a sentence."""
    try:
        with directory.usable():
            yield
    except DatabaseFault as error:
        raise Failure(
            f"{directory.database} cannot be used ({error}): make room if the disk is full, put back a copy "
            "of the file if it is damaged, or choose another directory with --data"
        ) from error


def _fold(database: Database) -> None:
    """When everybody has ended."""
    try:
        database.fold()
    except DatabaseFault as error:  # all is durable beside the file, too
        click.echo(f"csparql-spark: {database.path}-wal stays, and belongs to the database ({error})", err=True)
    finally:
        database.close()


def pools() -> dict[str, str]:
    """Two pools of memory for all threads of a process, where nobody has decided otherwise. With one for each of many
    threads, the C library keeps what was used once: the processes would grow for hours."""
    return {} if POOLS in os.environ else {POOLS: "2"}


def limits(settings: Settings) -> dict[str, str]:
    """What one query may have, as the environment tells it to `csparql_spark.answers.limits`."""
    most = {"ROWS": settings.row_limit, "MILLISECONDS": settings.time_limit, "BYTES": settings.state_limit}
    return {f"{LIMITS}{name}": str(number) for name, number in most.items()}


def engine_ready(database: Database) -> Callable[[int], bool]:
    """Whether the engine of that process runs, and is through with its first batch if something waits for it: the
    longest one, until which /health says `starting`. When it is, it is said on stdout."""

    def ready(process: int) -> bool:
        try:
            words = Status(database).of("engine") or {}
            position, tail = answered(database.connection), Log(database).tail()
        except DatabaseFault:  # whoever has to use it says what is the matter
            return False
        if words.get("state") != "running" or words.get("pid") != process:
            return False
        began = words.get("began")
        if isinstance(began, int) and position <= began and position < tail:
            return False
        database.close()
        click.echo("csparql-spark: the engine is ready")
        sys.stdout.flush()
        return True

    return ready


def web_watch(settings: Settings, directory: DataDirectory) -> Watch | None:
    """Over the web process."""
    if not settings.life_seconds:
        return None
    return Watch(directory.bell("life-web"), {FRONT: "the thread that reads requests"}, settings.life_seconds)


def engine_watch(settings: Settings, directory: DataDirectory) -> Watch | None:
    """Over the engine. On a cluster the workers are elsewhere, and nobody hears them or sees them work."""
    if not settings.life_seconds:
        return None
    signs = {DRIVER: "its Python process, or the JVM that it asks,"}
    if settings.master.startswith("local") and "cluster" not in settings.master:
        signs[JOB] = "what reads the log and answers"
    return Watch(directory.bell("life-engine"), signs, settings.life_seconds, labours=True)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(1024)
    except OSError as error:
        raise Failure(
            f"cannot listen on {host}:{port} ({error.strerror}): stop what uses the port, "
            "or choose another one with --port, as in `csparql-spark serve --port 8001`, or "
            "`make serve PORT=8001`"
        ) from error
    return listening
