"""The web process: opens the backend, serves, and ends in order.

    python -m csparql_spark.server.process --data data                            # listens itself
    python -m csparql_spark.server.process --data data --fd 3 --lifeline 4        # as a child

A parent may open the listening socket and hand it down (`--fd`): then connections wait, instead of being refused,
while this process is replaced. It may hand down the reading end of a pipe (`--lifeline`) of which it holds the other
end: when the parent is gone, however it ended, the pipe is at its end, and this process and its process group are
killed.

It ends in order on SIGTERM and SIGINT, in about two seconds at most: subscribers are sent home, requests that run are
finished, or told with 503 that the server ends, and what was accepted is written. Exit status: 0, or 2 with one line on
stderr when it cannot start.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import errno
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from csparql_spark.answers.bindings import Result
from csparql_spark.asking.guarded import children
from csparql_spark.disk import Database, DataDirectory, StoreError
from csparql_spark.disk.directory import private
from csparql_spark.lifeline import hold
from csparql_spark.log.sqlite.incarnations import Incarnations
from csparql_spark.pulse import FRONT, Pulse
from csparql_spark.rdf.formats import RdfFormat, parse_push
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.http.addresses import Proxies
from csparql_spark.server.http.connections import Server, inherited, listen
from csparql_spark.server.http.limits import BODY_BYTES, ConnectionLimits
from csparql_spark.server.http.problems import sentence
from csparql_spark.server.remarks import Remarks
from csparql_spark.server.settings import Settings
from csparql_spark.server.sinks.outgoing_calls import BadUrl
from csparql_spark.server.subscribers.instants import event
from csparql_spark.settings import declared
from csparql_spark.store import StoredAnswer
from csparql_spark.store.tokens import refuse_open_doors

END_SECONDS = 15.0  # for an orderly end; after that it ends all the same
DESCRIPTORS = 65536
QUESTION_SECONDS = 0.5  # for what children are at, of that
OWN_DESCRIPTORS = 256  # of the store, the bells and the libraries; those of connections and threads go besides


class CannotStart(Exception):
    """The text says why, and what to do."""


def run(settings: Settings, *, fd: int | None = None, lifeline: int | None = None) -> None:
    """Serve until a signal or the end of the lifeline. Raises `CannotStart`. To be called in the main thread."""
    if lifeline is not None:
        hold(lifeline)
    _allow_descriptors()
    # Requests are served by many threads, and Arrow's own allocator would keep some 9 MB for each of them.
    pa.set_memory_pool(pa.system_memory_pool())
    with contextlib.ExitStack() as opened:
        opened.enter_context(private())
        listening = opened.enter_context(_listening(settings, fd))
        settings = dataclasses.replace(settings, port=listening.getsockname()[1])
        try:
            if lifeline is None:  # else the directory is locked by the parent, for us too
                directory = DataDirectory(settings.data).create()
                opened.enter_context(directory.lock())
                directory.narrow()
                database = Database(directory.database).create()
                Incarnations(database).begin(at=int(time.time() * 1000))
                database.close()
            backend = opened.enter_context(Backend(settings))
            for address in (settings.host, listening.getsockname()[0]):
                refuse_open_doors(address, backend.tokens)
        except StoreError as error:
            raise CannotStart(str(error)) from None
        except BadUrl as error:
            raise CannotStart(f"the setting webhooks cannot be followed: {error}") from None
        ending = Ending()
        server = Server(
            listening,
            create_app(backend),
            threads=settings.threads,
            limits=limits_of(settings),
            held=lambda: backend.holdings.taken,
            turn=Pulse(backend.directory.bell("life-web"), FRONT).beat,
        )
        server.prepare()
        serving = threading.Thread(target=ending.after, args=(server.serve,), name="serving")
        serving.start()
        warming_up = threading.Thread(target=_warm_up, name="warming-up", daemon=True)
        warming_up.start()
        remarks = Remarks(backend.stores, backend.checked_texts)
        remarks.start()
        if lifeline is None:
            print(f"csparql-spark: the web process serves {settings.base}", file=sys.stderr, flush=True)
        ending.wait()
        ending.force_after(END_SECONDS)
        backend.pool.close()
        backend.threads.fanout.stop()
        with _after(QUESTION_SECONDS, children.stop):  # then who waits for a child is told so, and its thread is free
            server.stop()
        serving.join()
        warming_up.join()  # an interpreter that ends while a thread loads a library aborts
        backend.pool.close()
        children.stop()
        remarks.stop()


class Ending:
    """When it is time to end in order: at a signal, or when serving has failed."""

    def __init__(self) -> None:
        self._reading_end, self._writing_end = os.pipe()
        os.set_blocking(self._writing_end, False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, frame: self.begin())

    def begin(self) -> None:
        with contextlib.suppress(BlockingIOError):  # the pipe is full of this message already
            os.write(self._writing_end, b"!")

    def after(self, work: Callable[[], None]) -> None:
        """Do the work; when it is done, or fails, it is time to end."""
        try:
            work()
        finally:
            self.begin()

    def wait(self) -> None:
        os.read(self._reading_end, 1)

    @staticmethod
    def force_after(seconds: float) -> None:
        timer = threading.Timer(seconds, os._exit, (1,))
        timer.daemon = True
        timer.start()


@contextlib.contextmanager
def _after(seconds: float, work: Callable[[], None]) -> Iterator[None]:
    """Do some work so many seconds later, unless all is over by then."""
    timer = threading.Timer(seconds, work)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _warm_up() -> None:
    """Use once what loads more of itself when it is first used: else the first push and the first answer would wait."""
    try:
        children.start()
    except children.Unavailable as error:  # it is started when it is needed
        print(f"csparql-spark: {sentence(str(error))}", file=sys.stderr, flush=True)
    chunk = parse_push(b"<urn:a> <urn:b> <urn:c> .", RdfFormat.TURTLE, base=None, blank_prefix="b.")
    answer = Result.from_rows(("s",), [{"s": chunk.triples()[0][0]}])
    event("", "", [StoredAnswer(0, 0, 0, 1, answer.to_bytes())])


def _listening(settings: Settings, fd: int | None) -> socket.socket:
    try:
        return listen(settings.host, settings.port) if fd is None else inherited(fd)
    except OSError as error:
        if fd is not None:
            raise CannotStart(f"the descriptor {fd} is no listening socket ({error.strerror})") from None
        if error.errno == errno.EADDRINUSE:
            raise CannotStart(
                f"port {settings.port} of {settings.host} is taken: choose another one with --port, or "
                "stop the program that listens there"
            ) from None
        reason = os.strerror(error.errno) if error.errno is not None and error.errno > 0 else error.strerror
        raise CannotStart(
            f"cannot listen on port {settings.port} of {settings.host} ({reason}): choose others with --host and --port"
        ) from None


def limits_of(settings: Settings) -> ConnectionLimits:
    """Of connections. Each takes a descriptor, and the store takes some for each thread."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    left = (DESCRIPTORS if most == resource.RLIM_INFINITY else most) - OWN_DESCRIPTORS - 4 * settings.threads
    connections = max(1, min(settings.connections, left))
    return ConnectionLimits(
        connections=connections,
        each=settings.connections_per_address or max(1, connections // 4),
        head_seconds=settings.head_seconds,
        idle_seconds=settings.idle_seconds,
        slowest_rate=settings.slowest_rate,
        body_bytes=max(BODY_BYTES, 2 * settings.body_limit),
        proxies=Proxies(settings.trusted_proxies),
    )


def _allow_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main(arguments: Sequence[str] | None = None) -> int:
    """Every setting that is not secret is an option; others come in the file that a parent hands down."""
    parser = argparse.ArgumentParser("csparql_spark.server.process", description="The web process of csparql-spark.")
    parser.add_argument("--fd", type=int, help="descriptor of a listening socket")
    parser.add_argument("--lifeline", type=int, help="descriptor of a pipe; end when it is at its end")
    parser.add_argument("--settings", type=Path, help="file of settings that were handed down; options go before them")
    for one in declared().values():
        if not one.secret:
            parser.add_argument(one.flag, type=one.kind.read, help=one.meaning, required=one.key == "data")
    options = vars(parser.parse_args(arguments))
    fd, lifeline, handed = options.pop("fd"), options.pop("lifeline"), options.pop("settings")
    given = {name: value for name, value in options.items() if value is not None}
    try:
        settings = Settings.handed_down(handed) if handed else Settings()
        run(dataclasses.replace(settings, **given), fd=fd, lifeline=lifeline)
    except CannotStart as error:
        print(f"csparql-spark: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
