"""Tables of what peers took, in markdown: a table for each workload, a row for each peer, a column for each cell.

    python -m bench.peers self closure --output results.jsonl
    python -m bench.peers.table results.jsonl
    python -m bench.peers.table results.jsonl --processor      # its time, of all threads, where a busy machine wavers

A cell has the time, the half of its range if there were several turns, and in brackets how many times ours that is,
measured in the same run. An empty one has a footnote that says why; a dash is what was not measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from bench.cells import NONE, met, short, table, wavering
from bench.peers.running import OURS, PEERS
from bench.peers.workloads import CELLS, Cell
from bench.results import BadLine, Results

KEPT = "csparql-spark, matches"
TITLES = {
    "self": "A pattern joined with itself, window × triples/s, µs for each triple that comes",
    "single": "One pattern (◇), window × triples/s, µs for each triple that comes",
    "analytic": "Three patterns, FILTER, GROUP BY: window in triples, slide; ms for a slide",
    "closure": "Transitive closure of a tree: edges, how many of them change; ms for a slide",
    "rdfs": "RDFS, about 14 facts from each triple: window in triples, slide; ms for a slide",
    "many": "Many queries over a window of 10,000 triples, slide 10 %: number of queries; ms for a slide",
}
# What others were seen to need on a machine of this shape, in the unit of the cell.
SEEN = {
    "peers-closure-100000-0.1%": (8.7, "datafrog"),
    "peers-closure-100000-2.5%": (8.7, "datafrog"),
    "peers-rdfs-100000-10%": (80.0, "DuckDB"),
    "peers-self-80s-800": (4.0, "Polars"),
    "peers-single-80s-800": (0.43, "db-ivm"),
}


def tables(results: Results, prefix: str = "") -> Iterator[str]:
    for workload, cells in CELLS.items():
        if any(results.lines(cell.bench, OURS) for cell in cells):
            yield f"**{TITLES[workload]}** (`python -m bench.peers {workload}`)\n\n" + _table(cells, results, prefix)
        else:
            yield f"**{TITLES[workload]}**: {NONE} (`python -m bench.peers {workload}`)"


def _table(cells: list[Cell], results: Results, prefix: str) -> str:
    notes: list[str] = []
    rows = [["", *(_head(cell) for cell in cells)], ["---", *("---:" for _ in cells)]]
    without: dict[str, list[str]] = {}
    for peer in PEERS:
        lines = [line for cell in cells for line in results.lines(cell.bench, peer)]
        if not lines:
            continue
        reasons = {str(line["reason"]) for line in lines if "reason" in line}
        if len(reasons) == 1 and all("reason" in line for line in lines):
            without.setdefault(reasons.pop(), []).append(peer)
            continue
        version = str(lines[-1]["version"])
        name = peer if version == "this tree" else f"{peer} {version}"
        rows.append(
            [f"**{name}**" if peer == OURS else name, *(_cell(results, cell, peer, prefix, notes) for cell in cells)]
        )
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    said = [f"<sup>{number}</sup> {note}" for number, note in enumerate(notes, 1)]
    if without:
        said.append("Not in the table: " + "; ".join(f"{', '.join(peers)}: {why}" for why, peers in without.items()))
    return text + ("\n\n" + ". ".join(said) + "." if said else "")


def _head(cell: Cell) -> str:
    size = f"{int(cell.size):,}" if cell.size.isdigit() else cell.size
    return (
        f"{cell.change}"
        if cell.workload == "many"
        else f"{size}, {cell.change}"
        if "%" in cell.change
        else (f"{size} × {cell.change}")
    )


def _cell(results: Results, cell: Cell, peer: str, prefix: str, notes: list[str]) -> str:
    number = results.number(cell.bench, prefix + cell.unit, peer)
    if number is None:
        reason = results.reason(cell.bench, peer)
        if reason is None:
            return NONE
        if reason not in notes:
            notes.append(reason)
        return f"<sup>{notes.index(reason) + 1}</sup>"
    ratio = results.number(cell.bench, f"{prefix}ratio", peer)
    return wavering(number) + (f" ({short(ratio.median)} ×)" if ratio and peer != OURS else "")


def ahead(results: Results) -> str:
    """In each cell, ours and the best of the others."""
    rows = []
    for cell in (cell for cells in CELLS.values() for cell in cells):
        ours = results.number(cell.bench, cell.unit, OURS)
        ratios = {
            peer: found.median
            for peer in PEERS
            if peer not in (OURS, KEPT) and (found := results.number(cell.bench, "ratio", peer))
        }
        wanted = 2 if cell.small_slide else 1
        if ours is None or not ratios:
            rows.append([f"{cell.workload} {_head(cell)}", NONE, NONE, NONE, NONE, f"{wanted} ×", NONE, _command(cell)])
            continue
        best = min(ratios, key=ratios.__getitem__)
        kept, least = results.number(cell.bench, "ratio", KEPT), ratios[best]
        rows.append(
            [
                f"{cell.workload} {_head(cell)}",
                wavering(ours),
                f"{best}: {wavering(results.number(cell.bench, cell.unit, best))}",
                f"{short(least)} ×",
                f"{short(least / kept.median)} ×" if kept and kept.median else NONE,
                f"{wanted} ×",
                met(least >= wanted),
                _command(cell),
            ]
        )
    return table(
        ["cell", "ours", "best of the others", "its time by ours", "by that of our matches", "wanted", "", "command"],
        rows,
    )


def seen(results: Results) -> str:
    """Ours beside what others were seen to need on such a machine."""
    rows = []
    for bench, (number, who) in SEEN.items():
        cell = next(cell for cells in CELLS.values() for cell in cells if cell.bench == bench)
        ours, kept = (results.number(bench, cell.unit, peer) for peer in (OURS, KEPT))
        unit = "µs" if cell.unit == "us" else "ms"
        rows.append(
            [
                f"{cell.workload} {_head(cell)}",
                f"{number:g} {unit} ({who})",
                *(f"{wavering(found)} {unit}" if found else NONE for found in (ours, kept)),
                met(ours.median < number) if ours else NONE,
                _command(cell),
            ]
        )
    return table(["cell", "seen", "ours", "ours, matches", "", "command"], rows)


def _command(cell: Cell) -> str:
    return f"`python -m bench.peers {cell.workload} --cell {cell.size}-{cell.change}`"


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--processor", is_flag=True, help="The time of the processor, of all threads, not that of the clock.")
def main(results: tuple[Path, ...], processor: bool) -> None:
    """Print the tables of RESULTS."""
    try:
        found = Results.of(results)
    except BadLine as error:
        raise click.ClickException(str(error)) from error
    if not any(peer for _, peer in found.keys()):
        raise click.ClickException("there are no results of peers here: make some with python -m bench.peers --output")
    click.echo("\n\n".join(tables(found, "cpu_" if processor else "")))


if __name__ == "__main__":
    main()
