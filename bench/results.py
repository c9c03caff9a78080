"""Results: lines of JSON, appended to a file by run after run, and what of them counts.

A *run* is one command; it writes a line for the machine, and a line for each time a benchmark ran (`--times`). A file
keeps the lines of many runs, also of one that was interrupted. Of each benchmark, and of each peer in it, **the last
run counts**: all of its lines together, their median and their range. Runs are named after the instant at which they
began; lines without a run are the oldest. A line without numbers has a reason.

    results = Results.of(["results.jsonl"])
    results.number("latency-1000", "p50_ms")         # Number(median=166.0, least=158.2, most=181.0, times=3), or None
    results.machines["20261118T233456Z-4711"]        # the line of the machine, by run
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

Line = dict[str, object]
Key = tuple[str, str | None]  # a benchmark, and a peer in it
MACHINE = "machine"


class BadLine(ValueError):
    """A line of a file of results that is none."""


class Number(NamedTuple):
    median: float
    least: float
    most: float
    times: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Number:
        return cls(statistics.median(values), min(values), max(values), len(values))


class Results:
    def __init__(self, lines: Iterable[Line]) -> None:
        self.machines: dict[str, Line] = {}
        self._runs: dict[Key, str] = {}
        self._lines: dict[Key, list[Line]] = {}
        for line in lines:
            run, bench = str(line.get("run", "")), str(line["bench"])
            if bench == MACHINE:
                self.machines[run] = line
                continue
            key = bench, str(line["peer"]) if "peer" in line else None
            if run > self._runs.get(key, "") or key not in self._runs:
                self._runs[key], self._lines[key] = run, []
            if run == self._runs[key]:
                self._lines[key].append(line)

    @classmethod
    def of(cls, paths: Iterable[str | Path]) -> Results:
        return cls(line for path in paths for line in read(Path(path).read_text(encoding="utf-8").splitlines(), path))

    def every(self) -> Iterator[Line]:
        """All lines that count, but those of machines."""
        return (line for lines in self._lines.values() for line in lines)

    def keys(self) -> Iterable[Key]:
        return self._lines.keys()

    def lines(self, bench: str, peer: str | None = None) -> list[Line]:
        return self._lines.get((bench, peer), [])

    def number(self, bench: str, name: str, peer: str | None = None) -> Number | None:
        values = [
            float(line[name])
            for line in self.lines(bench, peer)
            if isinstance(line.get(name), (int, float)) and not isinstance(line[name], bool)
        ]
        return Number.of(values) if values else None

    def reason(self, bench: str, peer: str | None = None) -> str | None:
        """Why there is no number, if one was tried for."""
        return next((str(line["reason"]) for line in reversed(self.lines(bench, peer)) if "reason" in line), None)


def read(lines: Iterable[str], where: object = "the results") -> Iterator[Line]:
    """Lines that are no JSON are what make, or a benchmark, says besides."""
    for number, line in enumerate(lines, 1):
        if not line.startswith("{"):
            continue
        try:
            found = json.loads(line)
            found["bench"]
        except (ValueError, KeyError) as error:
            raise BadLine(
                f"{where}: line {number} is no result of a benchmark ({error!r}); delete it if a run was "
                "killed while it wrote it"
            ) from error
        yield found
