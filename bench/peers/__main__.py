"""Run workloads on ours and on peers, side by side; one line of JSON for each peer and cell.

    python -m bench.peers                              all of it: hours
    python -m bench.peers --quick                      fewer cells, fewer slides
    python -m bench.peers self closure --peer duckdb --peer pathway --output results.jsonl
    python -m bench.peers.table results.jsonl          the tables, in markdown
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import click

from bench.peers.installing import Place
from bench.peers.running import OURS, PEERS, Report, side_by_side
from bench.peers.workloads import CELLS, Cell


@click.command()
@click.argument("workloads", nargs=-1, type=click.Choice(list(CELLS)))
@click.option("--peer", "peers", multiple=True, type=click.Choice(list(PEERS)),
              help="Only this one beside ours; may repeat.")
@click.option("--quick", is_flag=True, help="Fewer cells and slides.")
@click.option("--cell", "cells", multiple=True, metavar="SIZE-CHANGE",
              help="Only this one, as 100000-2.5%; may repeat.")
@click.option("--slides", type=int, help="How many slides count (5 if quick, else 15).")
@click.option("--times", default=1, show_default=True, help="Runs of each; the best counts.")
@click.option("--limit", type=float, help="Seconds for a run of a peer (60 if quick, else 600).")
@click.option("--peers", "folder", type=click.Path(file_okay=False, path_type=Path), show_default=True,
              default=Path("~/.cache/csparql-spark-bench"), help="Where peers are installed.")
@click.option("--output", type=click.File("a"), default="-", help="Where the lines go, after what is there.")
def main(workloads: tuple[str, ...], peers: tuple[str, ...], quick: bool, cells: tuple[str, ...], slides: int | None,
         times: int, limit: float | None, folder: Path, output: TextIO) -> None:
    """Compare with peers on WORKLOADS (all, if none is named)."""
    place = Place(folder.expanduser())
    chosen = [peer for peer in PEERS if not peers or peer == OURS or peer in peers]
    for workload in workloads or CELLS:
        for cell in CELLS[workload]:
            if cells and f"{cell.size}-{cell.change}" not in cells or quick and not cell.quick and not cells:
                continue
            job = cell.job(slides or (5 if quick else 15))
            reports = side_by_side(job, chosen, place, limit or (60 if quick else 600), times)
            for line in lines(cell, reports, job.count):
                output.write(json.dumps(line) + "\n")
            output.flush()
            click.echo(f"{cell.bench}: {sum(report.seconds is not None for report in reports.values())} of "
                       f"{len(reports)} answered and agree", err=True)


def lines(cell: Cell, reports: dict[str, Report], count: int) -> Iterator[dict[str, object]]:
    """A ratio above 1 says how many times as long as ours a peer takes."""
    ours, ours_cpu = reports[OURS].seconds, reports[OURS].cpu_seconds
    load = round(os.getloadavg()[0], 1)
    for report in reports.values():
        line: dict[str, object] = {"bench": cell.bench, "peer": report.peer, "version": report.version}
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
        yield {**line, "rows": report.rows, "load": load}


if __name__ == "__main__":
    sys.exit(main())
