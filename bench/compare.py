"""What got slower between two runs of the benchmarks, by more than the noise that they measured themselves.

A file of results has a line for each run of each benchmark; a benchmark that ran several times says with that how much
it wavers, and that is its noise: half of the distance between its worst and its best run, as a part of their median.
The medians of two files are compared, and what lies within the noise of both together is no news. One that ran once is
taken to waver by `UNKNOWN`. Of several runs of a benchmark in one file the last counts, as in the book; points of a
series, peers that are not ours, and small sizes beside full ones are not compared.

    python -m bench latency parsing --times 3 > old.jsonl
    python -m bench latency parsing --times 3 > new.jsonl
    python -m bench.compare old.jsonl new.jsonl        # exit status 1 if something got slower

A number's name says what it is: less is better of what has a unit of time or of memory in it, or `percent`; more is
better of what has `per_s` or `times`; the others are not compared.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import click

from bench.peers.running import OURS
from bench.results import BadLine, Results
from bench.results import read as parsed

UNKNOWN = 0.25  # the noise of what ran once
LEAST = 0.03  # and what no benchmark here is better than
LESS_IS_BETTER = {"us", "ms", "s", "mb", "kb", "percent", "expiration"}  # the last: in ms, by the change
NO_RUNS = ("-series", "-minute", "-step", "-broken", "-begins", "warming-up")  # points, not runs

Numbers = Mapping[tuple[str, str], list[float]]


class Change(NamedTuple):
    bench: str
    number: str
    before: float
    after: float
    slower: float  # 1.5: half as much again; below 1: quicker
    noise: float  # of both together, as a part

    @property
    def kind(self) -> str:
        if self.slower > 1 + self.noise:
            return "slower"
        return "quicker" if self.slower < 1 / (1 + self.noise) else "same"

    def __str__(self) -> str:
        return (
            f"{self.bench} {self.number}: {self.before:,.4g} → {self.after:,.4g}, {self.slower:.2f} × the price "
            f"(noise {self.noise:.0%})"
        )


def read(lines: Iterable[str]) -> Numbers:
    try:
        results = Results(parsed(lines))
    except BadLine as error:
        raise click.ClickException(str(error)) from error
    numbers: dict[tuple[str, str], list[float]] = defaultdict(list)
    for line in results.every():
        bench, peer = str(line["bench"]), str(line.get("peer", OURS))
        if bench.endswith(NO_RUNS) or not peer.startswith(OURS):
            continue
        called = bench + (f" {peer}" if "peer" in line else "") + (" (quick)" if line.get("quick") else "")
        for name, value in line.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool) and better(name):
                numbers[called, name].append(float(value))
    return numbers


def better(name: str) -> int:
    """1 where more is better, -1 where less is, 0 where neither can be said."""
    words = name.split("_")
    if "per_s" in name or "times" in words:
        return 1
    return -1 if LESS_IS_BETTER.intersection(words) else 0


def noise(values: list[float]) -> float:
    if len(values) < 2:
        return UNKNOWN
    middle = statistics.median(values)
    return max(LEAST, (max(values) - min(values)) / 2 / middle) if middle else UNKNOWN


def compared(old: Numbers, new: Numbers) -> Iterator[Change]:
    for key in old.keys() & new.keys():
        before, after = statistics.median(old[key]), statistics.median(new[key])
        if before > 0 and after > 0:
            slower = before / after if better(key[1]) > 0 else after / before
            yield Change(*key, before, after, slower, noise(old[key]) + noise(new[key]))


@click.command()
@click.argument("old", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("new", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(old: Path, new: Path) -> None:
    """Tell what got slower, or quicker, from OLD to NEW by more than the noise."""
    results = [read(path.read_text(encoding="utf-8").splitlines()) for path in (old, new)]
    changes = sorted(compared(*results), key=lambda change: -change.slower)
    for kind in ("slower", "quicker"):
        of_kind = [change for change in changes if change.kind == kind]
        click.echo(f"{kind}: {len(of_kind) or 'nothing'}")
        for change in of_kind:
            click.echo(f"  {change}")
    click.echo(f"within the noise: {sum(change.kind == 'same' for change in changes)}")
    for name, only in (("OLD", results[0].keys() - results[1].keys()), ("NEW", results[1].keys() - results[0].keys())):
        if only:
            click.echo(f"only in {name}: {', '.join(sorted({bench for bench, _ in only}))}")
    sys.exit(any(change.kind == "slower" for change in changes))


if __name__ == "__main__":
    main()
