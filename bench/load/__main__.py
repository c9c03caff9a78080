"""Run a server under load, or under ever more of it, and check afterwards that every answer is right.

    python -m bench.load --minutes 20 --queries 100 --rate 10000 --subscribers 50
    python -m bench.load ramp --rates 5000,10000,20000,40000,80000
    python -m bench.load ramp --crowds 100,300,1000 --rate 1000

Lines of JSON: `load-series` each ten seconds, `load-minute` each minute, and `load` at the end; of the ramp
`ramp-series`, `ramp-step`, `ramp-broken` and `ramp`. Exit status 1 if an answer was missing, wrong, or told twice.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import click

import csparql_spark
from bench.load.checking import check
from bench.load.lines import Lines
from bench.load.listening import Seat
from bench.load.ramp import Step, ramp
from bench.load.stage import Stage, seated
from bench.signals import heeded

EVERY = 10.0
WARM_SECONDS, LONGEST_SECONDS = 30.0, 120.0
WARM_MS = 2000.0  # answers that come sooner than that are those of a server that keeps up


def numbers(context: click.Context, option: click.Parameter, text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",") if number]
    except ValueError:
        raise click.BadParameter(f"{text} is no list of numbers: write it as 100,300,1000") from None


@click.group(invoke_without_command=True)
@click.option("--minutes", type=click.FloatRange(0.5), default=20, show_default=True)
@click.option("--queries", type=click.IntRange(1), default=100, show_default=True)
@click.option("--rate", type=click.IntRange(0), default=10_000, show_default=True, help="triples a second")
@click.option("--subscribers", type=click.IntRange(1), default=50, show_default=True)
@click.option("--changes", is_flag=True, help="subscribers ask for changes, and fold them")
@click.option("--directory", type=click.Path(path_type=Path), help="where everything stays; otherwise it goes")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="where the lines go, too")
@click.pass_context
def main(
    context: click.Context,
    minutes: float,
    queries: int,
    rate: int,
    subscribers: int,
    changes: bool,
    directory: Path | None,
    out: Path | None,
) -> None:
    """A load that stays the same."""
    if context.invoked_subcommand is not None:
        return
    with Lines(out) as lines:
        stage = Stage(queries, subscribers, directory, changes=changes)
        try:
            with stage:
                lines.say(
                    "load-begins",
                    directory=str(stage.directory),
                    server=stage.server.process.pid,
                    package=csparql_spark.__file__,
                )
                told = loaded(stage, lines, minutes, rate)
                told["rest_s"] = stage.rest()
            held = finished(
                stage,
                lines,
                "load",
                {
                    "minutes": minutes,
                    "queries": queries,
                    "rate": rate,
                    "subscribers": subscribers,
                    "to_changes": changes,
                    **told,
                },
                failing=False,
            )
        finally:
            stage.close()
    sys.exit(not held)


@main.command("ramp")
@click.option(
    "--rates",
    default="5000,10000,20000,40000,80000",
    callback=numbers,
    show_default=True,
    help="triples a second, step by step",
)
@click.option("--crowds", default="", callback=numbers, help="numbers of queries, step by step, at --rate")
@click.option("--rate", type=click.IntRange(1), default=1000, show_default=True, help="with --crowds")
@click.option("--queries", type=click.IntRange(1), default=100, show_default=True, help="with --rates")
@click.option("--seconds", type=click.FloatRange(5), default=60, show_default=True, help="of a step")
@click.option("--subscribers", type=click.IntRange(1), default=50, show_default=True)
@click.option("--changes", is_flag=True, help="subscribers ask for changes, and fold them")
@click.option("--directory", type=click.Path(path_type=Path), help="where everything stays; otherwise it goes")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="where the lines go, too")
def climb(
    rates: list[int],
    crowds: list[int],
    rate: int,
    queries: int,
    seconds: float,
    subscribers: int,
    changes: bool,
    directory: Path | None,
    out: Path | None,
) -> None:
    """More and more until it breaks."""
    steps = [Step(crowd, rate) for crowd in crowds] or [Step(queries, rate) for rate in rates]
    with Lines(out) as lines:
        stage = Stage(steps[0].queries, subscribers, directory, changes=changes)
        try:
            with stage:
                lines.say(
                    "ramp-begins",
                    directory=str(stage.directory),
                    server=stage.server.process.pid,
                    package=csparql_spark.__file__,
                )
                warm(stage, lines, steps[0].rate)
                told = ramp(stage, steps, lines, seconds)
                told["rest_s"] = stage.rest()
            held = finished(
                stage, lines, "ramp", {"by": "crowds" if crowds else "rates", "seconds": seconds, **told}, failing=True
            )
        finally:
            stage.close()
    sys.exit(not held)


def warm(stage: Stage, lines: Lines, rate: float) -> None:
    """Until answers come as they should, or it is clear that they will not."""
    stage.pushing.rate = rate
    begun = time.monotonic()
    while True:
        time.sleep(EVERY)
        line, took = stage.line(EVERY), time.monotonic() - begun
        lines.say("warming-up", second=took, **line)
        if took > LONGEST_SECONDS or took > WARM_SECONDS and line.get("p50_ms", WARM_MS) < WARM_MS:
            return


def loaded(stage: Stage, lines: Lines, minutes: float, rate: float) -> dict[str, object]:
    """The load, and what the summary says of it."""
    warm(stage, lines, rate)
    cpu, begun, all_minutes = stage.meter.cpu(), time.monotonic(), []
    latencies: list[float] = []
    memory: list[float] = []
    for tick in range(1, round(60 * minutes / EVERY) + 1):
        time.sleep(max(0.0, begun + EVERY * tick - time.monotonic()))
        line = stage.line(EVERY)
        memory.append(line["all_mb"])
        latencies += stage.watch.latencies(EVERY)
        lines.say("load-series", second=time.monotonic() - begun, **line)
        if tick * EVERY % 60 == 0:
            all_minutes.append(stage.watch.told(60))
            lines.say(
                "load-minute",
                minute=round(tick * EVERY / 60),
                **all_minutes[-1],
                **{name: value for name, value in line.items() if name.endswith("_mb")},
            )
    spent = {role: seconds - cpu.get(role, 0.0) for role, seconds in stage.meter.cpu().items()}
    latencies.sort()
    return {
        "triples": stage.watch.triples,
        "answers": stage.watch.answers,
        **{f"p{percent}_ms": latencies[int(len(latencies) * percent / 100)] for percent in (50, 90, 99) if latencies},
        "max_ms": latencies[-1] if latencies else None,
        "worst_minute_p99_ms": max((told.get("p99_ms", 0.0) for told in all_minutes), default=None),
        "first_mb": statistics.mean(memory[:6]),
        "last_mb": statistics.mean(memory[-6:]),
        "most_mb": max(memory),
        "cores": {role: seconds / (60 * minutes) for role, seconds in spent.items()},
        "refused": {str(status): count for status, count in stage.watch.statuses.items() if status != 200},
    }


def finished(stage: Stage, lines: Lines, bench: str, told: dict[str, object], *, failing: bool) -> bool:
    """The server has ended: check what it left behind, and say the last line. `failing`: queries may have failed."""
    seats = [Seat(asked.name, asked.step) for asked in seated(stage.crowd, stage.subscribers)]
    checked = check(stage.data, stage.pushes, stage.told, seats, stage.until, changes=stage.changes)
    holds = not checked["broken_count"] and (failing or not checked["failed"])
    lines.say(bench, **told, **checked, holds=holds)
    return holds


if __name__ == "__main__":
    heeded()
    main()
