"""A served demo, seen by somebody else on the same machine: what listens, what can be read, and what stays when it is
killed."""

from __future__ import annotations

import itertools
import os
import re
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.spark.scratch import Scratch
from csparql_spark.store import AnswerStore

PATIENCE_SECONDS = 240
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
LISTENING = "0A"

pytestmark = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="looks at processes in Linux's /proc")


class Served:
    """`csparql-spark demo`, as a user starts it; ready when a batch is committed."""

    def __init__(self, data: Path, temporary: Path) -> None:
        self.directory = DataDirectory(data)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "csparql_spark", "demo", "--data", str(data), "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(temporary)},
        )
        self.port = int(self.process.stdout.readline().partition("http://127.0.0.1:")[2].split()[0])
        before = self.committed()
        answers = AnswerStore(Database(self.directory.database), self.directory.bell("answers"))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.committed() <= before:
            assert time.monotonic() < deadline, (self.directory.engine / "engine.log").read_text()
            answers.wait(0.2)

    def committed(self) -> int:
        names = [path.name for path in (self.directory.checkpoint / "commits").glob("*") if path.name.isdigit()]
        return max(map(int, names), default=-1)

    def processes(self) -> list[int]:
        """It, and all that it has started."""
        children: dict[int, list[int]] = {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                parent = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has ended meanwhile
            children.setdefault(parent, []).append(int(entry))
        found = [self.process.pid]
        for process in found:
            found += children.get(process, [])
        return found

    def engine(self) -> list[int]:
        """The engine, its JVM and its workers."""
        return [
            process
            for process in self.processes()
            if re.search(b"csparql_spark.spark|SparkSubmit|pyspark", command(process))
        ]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def listening(processes: list[int]) -> list[tuple[int, str, int]]:
    """Each TCP socket that listens: its process, address and port."""
    sockets = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == LISTENING:
                address, _, port = local.partition(":")
                sockets[f"socket:[{inode}]"] = address, int(port, 16)
    return [(process, *sockets[target]) for process in processes for target in opened(process) if target in sockets]


def opened(process: int) -> list[str]:
    """What the descriptors of a process stand for."""
    found = []
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        try:
            found.append(os.readlink(descriptor))
        except OSError:
            continue  # closed meanwhile
    return found


def said(port: int, what: bytes) -> bytes:
    """What is answered to bytes; nothing where the connection is broken off."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(what)
        try:
            return connection.recv(1 << 16)
        except ConnectionResetError:
            return b""


def remote_call(body: bytes) -> bytes:
    """A frame of Spark's network protocol: a request that wants an answer."""
    request = struct.pack(">BQI", 3, 7, len(body)) + body
    return struct.pack(">Q", 8 + len(request)) + request


@pytest.fixture(scope="module")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("t")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, temporary: Path) -> Iterator[Served]:
    served = Served(tmp_path_factory.mktemp("served") / "data", temporary)
    yield served
    served.kill()


def test_nothing_listens_where_another_machine_could_come(served: Served) -> None:
    found = listening(served.processes())
    assert {address for _, address, _ in found} <= LOOPBACK
    assert served.port in {port for _, _, port in found}


def test_nothing_of_the_engine_talks_to_who_has_no_secret(served: Served) -> None:
    """py4j in both directions, Spark's remote calls and its blocks; there is nothing else."""
    ports = {process: [] for process in served.engine()}
    for process, _, port in listening(list(ports)):
        ports[process].append(port)
    python = [ports[process] for process in ports if b"csparql_spark.spark.engine" in command(process)]
    jvm = [ports[process] for process in ports if b"SparkSubmit" in command(process)]
    ((callback,),), (calls,) = python, jvm
    assert len(calls) == 3 and sum(map(len, ports.values())) == 4
    assert said(callback, b"c\np0\ncall\ne\n") == b""
    spark = [port for port in calls if b"Expected SaslMessage" in said(port, remote_call(bytes(20)) + b"\n")]
    (gateway,) = set(calls) - set(spark)
    assert said(gateway, b"c\nz:java.lang.System\ncurrentTimeMillis\ne\n").startswith(b"!xsAuthentication error")


def test_sockets_of_workers_are_in_a_directory_of_their_own(served: Served) -> None:
    lines = [line.split(maxsplit=7) for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    named = {f"socket:[{line[6]}]": Path(line[7]) for line in lines if len(line) == 8}
    bound = {named[target] for process in served.engine() for target in opened(process) if target in named}
    sockets = Scratch(served.directory).sockets
    assert len(bound) > 3 and {path.parent for path in bound} == {sockets}
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700


def test_everything_in_the_data_directory_is_its_owners_alone(served: Served) -> None:
    path = served.directory.path
    wide = []
    for found in (path, *(Path(at, name) for at, *names in os.walk(path) for name in itertools.chain(*names))):
        try:
            mode = found.lstat().st_mode
        except FileNotFoundError:
            continue  # a batch has ended meanwhile
        if not stat.S_ISLNK(mode) and mode & 0o077:
            wide.append((found, stat.filemode(mode)))
    assert wide == []
    made = {found.name for found in path.iterdir()} | {found.name for found in served.directory.engine.iterdir()}
    assert {
        "store.db",
        "store.db-wal",
        "answers.bell",
        "server.lock",
        "settings.json",
        "engine.log",
        "checkpoint-1",
        "scratch",
        "sockets",
        "line",
        "python",
    } <= made


def test_no_secret_is_on_a_command_line(served: Served) -> None:
    words = [word for process in served.processes() for word in command(process).split(b"\0")]
    assert [word for word in words if re.search(b"(?i)secret|token|password", word)] == []


def test_all_processes_end_with_the_supervisor_also_where_they_hang(served: Served, temporary: Path) -> None:
    """Stopped, none of them can do anything for its end: the kernel must. What they leave does not grow."""
    processes = served.processes()
    others = [process for process in processes if process != served.process.pid and b"\0" in command(process)]
    assert len(others) >= 8
    watched = {os.pidfd_open(process): process for process in others}
    for process in others:
        os.kill(process, signal.SIGSTOP)
    served.kill()
    ends = select.poll()
    for descriptor in watched:
        ends.register(descriptor, select.POLLIN)
    alive = set(watched)
    deadline = time.monotonic() + 10
    while alive and time.monotonic() < deadline:
        for descriptor, _ in ends.poll(1000 * max(0.0, deadline - time.monotonic())):
            ends.unregister(descriptor)
            os.close(descriptor)
            alive.remove(descriptor)
    assert [command(watched[descriptor]) for descriptor in alive] == []

    left = Scratch(served.directory)
    earlier = {path.name for place in (left.local, left.sockets) for path in place.iterdir()}
    assert earlier
    again = Served(served.directory.path, temporary)
    try:
        now = {path.name for place in (left.local, left.sockets) for path in place.iterdir()}
        assert now and not now & earlier
        assert list(temporary.iterdir()) == []
        again.process.send_signal(signal.SIGTERM)
        assert again.process.wait(60) == 0
        assert [
            path.name
            for path in served.directory.engine.iterdir()
            if path.name in ("scratch", "sockets", "line", "python")
        ] == []
        assert list(temporary.iterdir()) == []
    finally:
        again.kill()
