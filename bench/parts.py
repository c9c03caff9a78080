"""The parts of the benchmarks: what each measures, at its full and at its small size, and how long that takes.

Each part is a process of its own, which prints lines of JSON, so that none measures what another has left behind: a
program (`python -m bench.peers …`), or one call, for which `python -m bench.parts NAME` is the program.

    PARTS["latency-1000"].seconds                       # on a quiet machine with two cores, about
    PARTS["latency-1000"].command("latency-1000", quick=True)

The order is that of a whole run: what is short comes first and what takes an hour last, so that a run that is
interrupted has as much as it can have.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType

import click

Call = Callable[[ModuleType], Mapping[str, object]]  # of a module of this package
Arguments = tuple[str, ...]  # of its command line


@dataclass(frozen=True)
class Part:
    module: str
    seconds: float  # that it takes
    full: Call | Arguments
    quick_seconds: float = 0.0
    quick: Call | Arguments | None = None  # nothing: it has no part in a quick run
    called: str = ""  # what its lines are called by, if not by its name

    def command(self, name: str, quick: bool) -> list[str]:
        chosen = self.quick if quick else self.full
        if isinstance(chosen, tuple):
            return [sys.executable, "-m", f"bench.{self.module}", *chosen]
        return [sys.executable, "-m", "bench.parts", name, *(["--quick"] if quick else [])]


TRIPLES, RATE = 20_000_000, 100_000
PEERS_QUICK = (
    "analytic",
    "closure",
    "--cell",
    "1000-10%",
    "--cell",
    "10000-0.1%",
    "--quick",
    "--slides",
    "3",
    "--limit",
    "10",
)

PARTS: dict[str, Part] = {
    "commits": Part("commits", 10, lambda m: m.measure(3.0), 2, lambda m: m.measure(0.5)),
    "parsing": Part("parsing", 3, lambda m: m.measure(60_000), 2, lambda m: m.measure(15_000)),
    "formats": Part("formats", 12, lambda m: m.measure(200_000), 3, lambda m: m.measure(20_000)),
    "kernel": Part("kernel", 13, lambda m: m.measure()),
    "limits": Part("limits", 60, ()),
    "start-up": Part("resting", 20, lambda m: m.start_up(), 18, lambda m: m.start_up()),
    "latency-1000": Part("latency", 90, lambda m: m.measure(1_000, 60), 30, lambda m: m.measure(1_000, 5)),
    "latency-10000": Part("latency", 90, lambda m: m.measure(10_000, 60)),
    "throughput-selective": Part(
        "throughput", 75, lambda m: m.measure(m.HIGH, TRIPLES, RATE), 20, lambda m: m.measure(m.HIGH, 3_000_000, RATE)
    ),
    "throughput-everything": Part("throughput", 40, lambda m: m.measure(m.EVERY, 6_000_000, RATE)),
    "answers-join": Part("incremental", 40, lambda m: m.compared("join"), 3, lambda m: m.compared("join", (1_000,))),
    "answers-self-join": Part(
        "incremental", 40, lambda m: m.compared("self"), 3, lambda m: m.compared("self", (1_000,))
    ),
    "answers-single": Part(
        "incremental", 40, lambda m: m.compared("single"), 3, lambda m: m.compared("single", (1_000,))
    ),
    "changes": Part("changing", 45, lambda m: m.measure(), 3, lambda m: m.measure((1_000,))),
    "keyframes-100-10": Part("keyframes", 8, lambda m: m.measure(100, 10)),
    "keyframes-1000-1": Part("keyframes", 40, lambda m: m.measure(1000, 1)),
    "keyframes-1000-10": Part("keyframes", 40, lambda m: m.measure(1000, 10)),
    "keyframes-1000-50": Part("keyframes", 40, lambda m: m.measure(1000, 50)),
    "lateness": Part("lateness", 150, lambda m: m.measure()),
    "named-windows": Part("named", 35, lambda m: m.measure()),
    "slides": Part("slides", 240, lambda m: m.measure()),
    "turns": Part("turns", 150, lambda m: m.measure()),
    "retractions": Part("retractions", 30, lambda m: m.measure()),
    "laser-diamond": Part(
        "incremental", 10, lambda m: m.laser("single"), 2, lambda m: m.laser("single", (20,), (200,))
    ),
    "laser-self-join": Part("incremental", 15, lambda m: m.laser("self"), 2, lambda m: m.laser("self", (20,), (200,))),
    "laser-rules": Part("incremental", 20, lambda m: m.laser_rules(), 2, lambda m: m.laser_rules((2, 16), (20,))),
    "closure-scratch-10000": Part("closure", 2, lambda m: m.from_scratch(10_000), 2, lambda m: m.from_scratch(10_000)),
    "closure-scratch-70131": Part("closure", 3, lambda m: m.from_scratch(70_131)),
    "closure-slides-10000": Part("closure", 20, lambda m: m.changes(10_000), 4, lambda m: m.changes(10_000, 4)),
    "closure-slides-100000": Part("closure", 90, lambda m: m.changes(100_000)),
    "closure-windows": Part("closure", 5, lambda m: m.windows(), 4, lambda m: m.windows("rho-df", 4)),
    "closure-windows-rdfs": Part("closure", 15, lambda m: m.windows("rdfs"), 6, lambda m: m.windows("rdfs", 4)),
    "closure-jumps": Part("closure", 8, lambda m: m.jumps(), 2, lambda m: m.jumps(2_000, 1)),
    "closure-rates": Part("closure", 10, lambda m: m.rates()),
    "many-queries-10": Part("many", 4, lambda m: m.measure(10), 3, lambda m: m.measure(10, 10)),
    "many-queries-100": Part("many", 8, lambda m: m.measure(100), 4, lambda m: m.measure(100, 10)),
    "many-queries-1000": Part("many", 60, lambda m: m.measure(1000)),
    "fanout-500": Part("fanout", 45, lambda m: m.measure(500, 1_000)),
    "fanout-500-large": Part("fanout", 45, lambda m: m.measure(500, 10_000)),
    "fanout-50": Part("fanout", 36, lambda m: m.measure(50, 1_000), 9, lambda m: m.measure(50, 1_000, 3)),
    "requests-health": Part("requests", 13, lambda m: m.measure("health", 10.0)),
    "requests-push": Part("requests", 13, lambda m: m.measure("push", 10.0), 4, lambda m: m.measure("push", 1.0)),
    "requests-large": Part("requests", 13, lambda m: m.measure("large", 10.0)),
    "requests-question": Part("requests", 13, lambda m: m.measure("question", 10.0)),
    "requests-questions": Part("requests", 13, lambda m: m.measure("questions", 10.0)),
    "crowd-10": Part("crowd", 95, lambda m: m.measure(10), 38, lambda m: m.measure(10, 5)),
    "crowd-100": Part("crowd", 100, lambda m: m.measure(100)),
    "crowd-300": Part("crowd", 120, lambda m: m.measure(300)),
    "crowd-1000": Part("crowd", 240, lambda m: m.measure(1000)),
    "crowd-2000": Part("crowd", 400, lambda m: m.measure(2000)),
    "registrations-100": Part(
        "registrations", 180, lambda m: m.measure(10_000, 100), 16, lambda m: m.measure(100, 100)
    ),
    "registrations-10000": Part("registrations", 200, lambda m: m.measure(10_000, 10_000)),
    "idle": Part("resting", 105, lambda m: m.idle(60)),
    "soak-terms": Part("soak", 30, lambda m: m.measure(5_000_000), 5, lambda m: m.measure(500_000, 50_000)),
    "load": Part(
        "load",
        1600,
        ("--minutes", "20", "--queries", "100", "--rate", "10000", "--subscribers", "50"),
        80,
        ("--minutes", "0.5", "--queries", "10", "--rate", "1000", "--subscribers", "5"),
    ),
    "ramp-rates": Part("load", 430, ("ramp", "--rates", "5000,10000,20000,40000,80000"), called="ramp"),
    "ramp-crowds": Part("load", 900, ("ramp", "--crowds", "100,300,1000,3000", "--rate", "1000"), called="ramp"),
    "peers": Part("peers", 2700, ("--limit", "60"), 30, PEERS_QUICK),
    "overnight": Part("overnight", 3800, ("--minutes", "60")),
}


@click.command()
@click.argument("name", type=click.Choice([name for name, part in PARTS.items() if callable(part.full)]))
@click.option("--quick", is_flag=True, help="At its small size.")
def main(name: str, quick: bool) -> None:
    """Measure one part in this process, and print its line."""
    part = PARTS[name]
    call = part.quick if quick else part.full
    if call is None:
        raise click.ClickException(f"{name} has no small size")
    numbers = call(importlib.import_module(f"bench.{part.module}"))
    print(
        json.dumps(
            {
                "bench": name,
                **{key: round(value, 3) if isinstance(value, float) else value for key, value in numbers.items()},
            }
        ),
        flush=True,
    )


if __name__ == "__main__":
    main()
