"""Run workloads on ours and on peers, side by side; a line of JSON for each peer, cell and turn.

    python -m bench.peers --list                       what there is, and how long it takes
    python -m bench.peers --limit 60 --output results.jsonl
    python -m bench.peers self closure --peer duckdb --peer pathway --times 3 --output results.jsonl
    python -m bench.peers.table results.jsonl          the tables, in markdown

Small windows come before large ones. Who is not done in time with a cell is not tried with one of the same workload
that is as large and changes as much, or more: its cells say so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from bench.peers.installing import Place
from bench.peers.running import OURS, PEERS, Report, side_by_side
from bench.peers.workloads import CELLS, Cell
from bench.results import Line, Results
from bench.signals import heeded
from bench.stamps import Run

# What a cell takes with all peers on a quiet machine with two cores, about, when none has more than a minute.
SECONDS = {"self": 60, "single": 60, "analytic": 60, "closure": 120, "rdfs": 150, "many": 90}


@click.command()
@click.argument("workloads", nargs=-1, type=click.Choice(list(CELLS)))
@click.option(
    "--peer", "peers", multiple=True, type=click.Choice(list(PEERS)), help="Only this one beside ours; may repeat."
)
@click.option("--quick", is_flag=True, help="Fewer cells and slides.")
@click.option(
    "--cell", "cells", multiple=True, metavar="SIZE-CHANGE", help="Only this one, as 100000-2.5%; may repeat."
)
@click.option("--slides", type=int, help="How many slides count (5 if quick, else 15).")
@click.option("--times", default=1, show_default=True, help="Turns; each has its lines.")
@click.option("--limit", type=float, help="Seconds for a run of a peer (60 if quick, else 600).")
@click.option(
    "--peers",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    show_default=True,
    default=Path("~/.cache/csparql-spark-bench"),
    help="Where peers are installed.",
)
@click.option("--missing", is_flag=True, help="Only cells that have no lines in the output.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the lines go, after what is there; else they are printed.",
)
@click.option("--list", "only_list", is_flag=True, help="Tell which cells there are, and how long they take.")
def main(
    workloads: tuple[str, ...],
    peers: tuple[str, ...],
    quick: bool,
    cells: tuple[str, ...],
    slides: int | None,
    times: int,
    limit: float | None,
    folder: Path,
    missing: bool,
    output: Path | None,
    only_list: bool,
) -> None:
    """Compare with peers on WORKLOADS (all, if none is named)."""
    there = {bench for bench, _ in Results.of([output]).keys()} if missing and output and output.exists() else set()
    todo = [
        cell
        for workload in workloads or CELLS
        for cell in CELLS[workload]
        if cell.bench not in there and (f"{cell.size}-{cell.change}" in cells if cells else cell.quick or not quick)
    ]
    if only_list:
        click.echo("\n".join(listed(todo, times)))
        return
    place = Place(folder.expanduser())
    chosen = [peer for peer in PEERS if not peers or peer == OURS or peer in peers]
    run, late = Run(), []
    with run.writer(output) as write:
        write(run.machine(quick))
        for cell in todo:
            begun = run.begun(
                f"python -m bench.peers {cell.workload} --cell {cell.size}-{cell.change}"
                + (" --quick" if quick else ""),
                quick,
            )
            job = cell.job(slides or (5 if quick else 15))
            turns = side_by_side(job, chosen, place, limit or (60 if quick else 600), times, hopeless(cell, late))
            for reports in turns:
                late += [(peer, cell) for peer, report in reports.items() if report.late]
                for line in lines(cell, reports, job.count):
                    write(begun.stamped(line))
            click.echo(
                f"{cell.bench}: {sum(report.seconds is not None for report in turns[-1].values())} of "
                f"{len(turns[-1])} answered and agree",
                err=True,
            )


def listed(cells: list[Cell], times: int) -> Iterator[str]:
    total = 0
    for cell in cells:
        total += times * SECONDS[cell.workload]
        yield f"{cell.workload:10} --cell {cell.size}-{cell.change:6} {times * SECONDS[cell.workload]:6} s"
    yield f"all of these, with all peers and --limit 60: {total / 60:.0f} min"


def hopeless(cell: Cell, late: list[tuple[str, Cell]]) -> Mapping[str, str]:
    """Who was not done with less than this cell asks for, and which."""
    return {
        peer: f"not tried: it was not done with {less.size}, {less.change}"
        for peer, less in late
        if less.workload == cell.workload and all(a <= b for a, b in zip(less.effort, cell.effort))
    }


def lines(cell: Cell, reports: Mapping[str, Report], count: int) -> Iterator[Line]:
    """A ratio above 1 says how many times as long as ours a peer takes."""
    ours, ours_cpu = reports[OURS].seconds, reports[OURS].cpu_seconds
    for report in reports.values():
        line: Line = {"bench": cell.bench, "peer": report.peer, "version": report.version}
        if report.seconds is None:
            yield {**line, "reason": report.reason}
            continue
        line["ms"] = round(1000 * report.seconds, 4)
        if cell.unit == "us":
            line["us"] = round(1e6 * report.seconds / count, 4)
        if ours:
            line["ratio"] = round(report.seconds / ours, 3)
        if report.cpu_seconds is not None:
            line["cpu_ms"] = round(1000 * report.cpu_seconds, 4)
            if cell.unit == "us":
                line["cpu_us"] = round(1e6 * report.cpu_seconds / count, 4)
            if ours_cpu:
                line["cpu_ratio"] = round(report.cpu_seconds / ours_cpu, 3)
        yield {**line, "rows": report.rows}


if __name__ == "__main__":
    heeded()
    sys.exit(main())
