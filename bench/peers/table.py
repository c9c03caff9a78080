"""Tables of what peers took, in markdown: a table for each workload, a row for each peer, a column for each cell.

    python -m bench.peers self closure --output results.jsonl
    python -m bench.peers.table results.jsonl
    python -m bench.peers.table results.jsonl --processor      # its time, of all threads, where a busy machine wavers

A cell has the time, and in brackets how many times ours that is. An empty one has a footnote that says why. Of several
lines for one cell and peer the last counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from bench.peers.running import OURS, PEERS
from bench.peers.workloads import CELLS, Cell

Line = dict[str, object]
TITLES = {
    "self": "A pattern joined with itself, window × triples/s, µs for each triple that comes",
    "single": "One pattern (◇), window × triples/s, µs for each triple that comes",
    "analytic": "Three patterns, FILTER, GROUP BY: window in triples, slide; ms for a slide",
    "closure": "Transitive closure of a tree: edges, how many of them change; ms for a slide",
    "rdfs": "RDFS, about 14 facts from each triple: window in triples, slide; ms for a slide",
    "many": "Many queries over a window of 10,000 triples, slide 10 %: number of queries; ms for a slide"}


def read(lines: Iterable[str]) -> dict[tuple[str, str], Line]:
    said = [json.loads(line) for line in lines if line.startswith("{")]
    return {(line["bench"], line["peer"]): line for line in said if "peer" in line}


def tables(found: dict[tuple[str, str], Line], prefix: str = "") -> Iterator[str]:
    for workload, cells in CELLS.items():
        there = [cell for cell in cells if any(bench == cell.bench for bench, _ in found)]
        if there:
            yield f"**{TITLES[workload]}**\n\n" + _table(there, found, prefix)


def _table(cells: list[Cell], found: dict[tuple[str, str], Line], prefix: str) -> str:
    notes: list[str] = []
    peers = [peer for peer in PEERS if any((cell.bench, peer) in found for cell in cells)]
    head = ["", *(_head(cell) for cell in cells)]
    rows = [head, ["---", *("---:" for _ in cells)]]
    without = []
    for peer in peers:
        lines = [found.get((cell.bench, peer)) for cell in cells]
        reasons = {line["reason"] for line in lines if line is not None and "reason" in line}
        if len(reasons) == 1 and all(line is None or "reason" in line for line in lines):
            without.append(f"{peer}: {reasons.pop()}")
            continue
        version = next((str(line["version"]) for line in lines if line is not None), "")
        name = peer if version == "this tree" else f"{peer} {version}"
        rows.append([f"**{name}**" if peer == OURS else name,
                     *(_cell(line, prefix, cell.unit, notes) for line, cell in zip(lines, cells))])
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    footnotes = [f"<sup>{number}</sup> {note}" for number, note in enumerate(notes, 1)]
    loads = [float(line["load"]) for cell in cells for peer in peers
             if (line := found.get((cell.bench, peer))) is not None and "load" in line]
    if without:
        footnotes.append("Not in the table: " + "; ".join(without))
    if loads:
        footnotes.append(f"Load average {min(loads):g} to {max(loads):g}")
    return text + "\n\n" + ". ".join(footnotes) + "."


def _head(cell: Cell) -> str:
    size = f"{int(cell.size):,}" if cell.size.isdigit() else cell.size
    return f"{cell.change}" if cell.workload == "many" else f"{size}, {cell.change}" if "%" in cell.change else (
        f"{size} × {cell.change}")


def _cell(line: Line | None, prefix: str, unit: str, notes: list[str]) -> str:
    if line is None:
        return ""
    if "reason" in line:
        reason = str(line["reason"])
        if reason not in notes:
            notes.append(reason)
        return f"<sup>{notes.index(reason) + 1}</sup>"
    value, ratio = float(line[prefix + unit]), line.get(f"{prefix}ratio")
    return _short(value) + (f" ({_short(float(ratio))} ×)" if ratio and line["peer"] != OURS else "")


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--processor", is_flag=True, help="The time of the processor, of all threads, not that of the clock.")
def main(results: tuple[Path, ...], processor: bool) -> None:
    """Print the tables of RESULTS."""
    found = read(line for path in results for line in path.read_text(encoding="utf-8").splitlines())
    if not found:
        raise click.ClickException("there are no results of peers here: make some with python -m bench.peers --output")
    click.echo("\n\n".join(tables(found, "cpu_" if processor else "")))


if __name__ == "__main__":
    main()
