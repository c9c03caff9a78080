"""Run a server for an hour in which all turns over that can, measure it, and judge whether it has stayed as it was.

    python -m bench.overnight --minutes 60 --out soak.jsonl

A line each minute (`overnight-series`): MB of each role of process, sizes on the disk, processor time, what has turned
over; at the end one with the verdict (`overnight`). Exit status 1 if memory or sizes grew, or if anything was wrong.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import click

import csparql_spark.server
from bench.load.lines import Lines
from bench.load.roles import Meter
from bench.load.sizes import sizes
from bench.overnight.facts import QUARTER, Facts, schema
from bench.overnight.judging import MEMORY_PART, SIZE_PART, SMALL_MB, judged
from bench.overnight.standing import CLASSED, COUNTED, SCHEMA, STREAM, TEXTS, Standing
from bench.overnight.turning import Turning
from bench.server import Server
from bench.signals import heeded
from csparql_spark.client import Client

OPTIONS = ("--keep-log", "30s", "--keep-answers", "60", "--forget-seconds", "5")
SAMPLES = 6  # a minute
LATEST = 30_000  # ms that the last answer of a standing query may be old at the end
SIZES = ("database_mb", "checkpoint_mb", "state_mb", "scratch_mb")


@click.command()
@click.option("--minutes", type=click.FloatRange(1), default=60, show_default=True)
@click.option("--rate", type=click.IntRange(200), default=2000, show_default=True, help="new facts a second")
@click.option("--data", type=click.Path(path_type=Path), help="a directory that stays; otherwise one of its own")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="where the lines go, too")
def main(minutes: float, rate: int, data: Path | None, out: Path | None) -> None:
    """The hour."""
    with (
        Lines(out) as lines,
        tempfile.NamedTemporaryFile("w+", suffix=".log") as log,
        Server(*OPTIONS, data=None if data is None else str(data), log=log) as server,
    ):
        lines.say(
            "overnight-begins",
            pid=os.getpid(),
            server=server.process.pid,
            data=server.data,
            package=csparql_spark.__file__,
            web=csparql_spark.server.__file__,
            at=time.time(),
        )
        server.until("running")
        held = Hour(server, lines, minutes, rate).held(Path(log.name))
    sys.exit(not held)


class Hour:
    def __init__(self, server: Server, lines: Lines, minutes: float, rate: int) -> None:
        self._server, self._lines, self._minutes, self._rate = server, lines, round(minutes), rate
        self._meter, self._cpu = Meter(server), {}
        self._points: list[dict[str, float]] = []
        self._broken: list[str] = []
        self._failed: set[str] = set()
        self._facts = Facts(rate, begun=int(1000 * time.time()) // QUARTER + 1)
        url = f"http://127.0.0.1:{server.port}"
        self._client = Client(url, patience=30)
        self._standing = [
            Standing(url, "Counted", self._facts.count, COUNTED),
            Standing(url, "Classed", self._facts.classed, CLASSED),
        ]

    def held(self, log: Path) -> bool:
        """Let it go by. `log`: what the server prints."""
        self._client.create_stream(STREAM, clock="event")
        self._client.graph_put(SCHEMA, schema(), "nt")
        for name, text in TEXTS.items():
            self._client.register(name, text)
        for thread in self._standing:
            thread.start()
        with Turning(self._server.port, self._facts) as turning:
            begun, self._cpu = time.monotonic(), self._meter.cpu()
            for minute in range(1, self._minutes + 1):
                self._minute(minute, begun + 60 * (minute - 1), turning)
            ended = 1000 * time.time()
        self._broken += [line for line in log.read_text().splitlines() if "has ended" in line]
        self._broken += [
            f"the standing query {one.name} ends at {one.last}"
            for one in self._standing
            if one.last is None or one.last < ended - LATEST
        ]
        return self._judge(turning)

    def _minute(self, minute: int, begun: float, turning: Turning) -> None:
        memory: dict[str, list[float]] = defaultdict(list)
        for sample in range(1, SAMPLES + 1):
            time.sleep(max(0.0, begun + 60 / SAMPLES * sample - time.monotonic()))
            for role, mb in self._meter.memory().items():
                memory[role].append(mb)
        mean = {f"{role}_mb": sum(values) / SAMPLES for role, values in sorted(memory.items())}
        before, self._cpu = self._cpu, self._meter.cpu()
        spent = {role: seconds - before.get(role, 0.0) for role, seconds in self._cpu.items()}
        point = mean | {"all_mb": sum(mean.values())} | sizes(Path(self._server.data))
        self._points.append(point)
        try:
            asked = self._server.send("GET", "/queries")["queries"]
            self._failed |= {query["name"] for query in asked if query["status"] == "failed"}
        except (OSError, RuntimeError) as error:
            self._broken.append(f"in minute {minute}, GET /queries: {error}")
        self._lines.say(
            "overnight-series",
            minute=minute,
            **point,
            measure=self._meter.measure,
            processes=self._meter.count(),
            cores=sum(spent.values()) / 60,
            cpu_s=spent,
            turned=dict(turning.counts),
            failed=len(self._failed),
            checked=sum(one.checked for one in self._standing),
            broken=self._said(turning)[-3:],
        )

    def _judge(self, turning: Turning) -> bool:
        verdicts = {
            name: judged([point.get(name, 0.0) for point in self._points], part=_part(name), small=_small(name))
            for name in sorted(set().union(*self._points))
        }
        broken = self._said(turning) + [f"the query {name} has failed" for name in sorted(self._failed)]
        broken += [
            f"{name} grew: {v.early:.1f} in the second sixth, {v.last:.1f} in the last, and the line climbs "
            f"{v.climb:.1f}"
            for name, v in verdicts.items()
            if not v.flat
        ]
        self._lines.say(
            "overnight",
            minutes=self._minutes,
            rate=self._rate,
            measure=self._meter.measure,
            turned=dict(turning.counts),
            checked=sum(one.checked for one in self._standing),
            verdicts={name: verdict.told() for name, verdict in verdicts.items()},
            cores=sum(self._cpu.values()) / 60 / self._minutes,
            broken=broken,
            holds=not broken,
        )
        return not broken

    def _said(self, turning: Turning) -> list[str]:
        return [*self._broken, *(sentence for one in (turning, *self._standing) for sentence in one.broken)]


def _part(name: str) -> float:
    return SIZE_PART if name in SIZES or name.endswith("files") else MEMORY_PART


def _small(name: str) -> float:
    return 100 if name.endswith("files") else SMALL_MB


if __name__ == "__main__":
    heeded()
    main()
