"""Roles: what the processes of a server are, and what memory and processor time each kind of them takes.

    meter = Meter(server)
    meter.memory()          # {"web": 91.2, "jvm": 603.0, "worker": 310.4, …}, MB
    meter.cpu()             # {"web": 12.1, …}, seconds since it was started, of processes that have ended too

Memory is the proportional set size where the kernel tells it: what processes share is counted once in all, so that the
roles add up. NotMaintainable it is the resident set size, and `Meter.measure` says so.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from bench.server import Server

# What stands in the command lines, the telling ones first.
SIGNS = {
    "jvm": b"org.apache.spark.deploy.SparkSubmit",
    "web": b"csparql_spark.server.process",
    "engine": b"csparql_spark.spark.engine",
    "source": b"python_streaming_source",
    "daemon": b"pyspark.daemon",
    "supervisor": b"csparql_spark\0serve",
}


def role(command: bytes, parent: bytes) -> str:
    """Of a process, by its command line and its parent's: what the daemon has forked is a worker."""
    for name, sign in SIGNS.items():
        if sign in command:
            return "worker" if name == "daemon" and sign in parent else name
    return "other"


class Meter:
    def __init__(self, server: Server, others: Mapping[str, int] | None = None) -> None:
        """`others`: processes besides the server's, by what they are called."""
        self._server = server
        self._others = dict(others or {})
        self._ticks: dict[tuple[int, str], tuple[str, int]] = {}  # by process and its birth: role, ticks
        self.measure = "pss" if _rollup(os.getpid()) is not None else "rss"

    def memory(self) -> dict[str, float]:
        told: dict[str, float] = defaultdict(float)
        for pid, name in self._roles().items():
            told[name] += (_rollup(pid) if self.measure == "pss" else _resident(pid)) or 0.0
        return dict(told)

    def count(self) -> int:
        return len(self._server.processes())

    def cpu(self) -> dict[str, float]:
        for pid, name in self._roles().items():
            if (found := _times(pid)) is not None:
                born, ticks = found
                self._ticks[pid, born] = name, ticks
        told: dict[str, float] = defaultdict(float)
        for name, ticks in self._ticks.values():
            told[name] += ticks / os.sysconf("SC_CLK_TCK")
        return dict(told)

    def _roles(self) -> dict[int, str]:
        named = {pid: name for name, pid in self._others.items()}
        return named | roles_of({pid: (_read(pid, "cmdline"), _parent(pid)) for pid in self._server.processes()})


def roles_of(processes: Mapping[int, tuple[bytes, int]]) -> dict[int, str]:
    """Of processes with their command lines and parents; those that have ended have no command line, and no role."""
    return {
        pid: role(command, processes.get(parent, (b"", 0))[0])
        for pid, (command, parent) in processes.items()
        if command
    }


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""  # it has ended meanwhile, or is not ours to look at


def _parent(pid: int) -> int:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


def _times(pid: int) -> tuple[str, int] | None:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return (fields[19].decode(), int(fields[11]) + int(fields[12])) if fields else None


def _rollup(pid: int) -> float | None:
    """The proportional set size, MB."""
    for line in _read(pid, "smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) / 1000
    return None


def _resident(pid: int) -> float | None:
    fields = _read(pid, "statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6 if fields else None
