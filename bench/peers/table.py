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

KEPT, TOLD = "csparql-spark, matches", "csparql-spark, changes"
WHOLE, CHANGES = "whole", "changes"
TELLERS = ("pathway", "db-ivm")  # they tell what changes, the others make the whole
COLUMNS = (
    "single",
)  # whose answer is columns of the window: who has these has done nothing, and is out of competition
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
    """In each cell, ours and the best of the others: of those that make the whole at each slide, by ours without the
    writing of answers; of those that tell what changes, by ours that tells it, where that was measured."""
    rows = []
    for cell in (cell for cells in CELLS.values() for cell in cells):
        own = [results.number(cell.bench, cell.unit, peer) for peer in (OURS, KEPT, TOLD)]
        by_kept, by_told = (results.number(cell.bench, "ratio", peer) for peer in (KEPT, TOLD))
        best = {}
        for kind, by_ours in ((WHOLE, by_kept), (CHANGES, by_told or by_kept)):
            ratios = {
                peer: found.median / by_ours.median
                for peer in PEERS
                if by_ours
                and peer not in (OURS, KEPT, TOLD)
                and (CHANGES if peer in TELLERS else WHOLE) == kind
                and (found := results.number(cell.bench, "ratio", peer))
            }
            if ratios:
                peer = min(ratios, key=ratios.__getitem__)
                time = wavering(results.number(cell.bench, cell.unit, peer))
                best[kind] = (f"{peer}: {time}", ratios[peer])
        wanted = wanted_of(cell)
        compared = [
            best[kind][1]
            for kind in (WHOLE, CHANGES)
            if kind in best and not (kind == WHOLE and cell.workload in COLUMNS)
        ]
        rows.append(
            [
                f"{cell.workload} {_head(cell)}",
                *(wavering(number) if number else NONE for number in own),
                *(
                    told
                    for kind in (WHOLE, CHANGES)
                    for told in ((best[kind][0], f"{short(best[kind][1])} ×") if kind in best else (NONE, NONE))
                ),
                f"{wanted:g} ×",
                met(min(compared) >= wanted) if compared else NONE,
                _command(cell),
            ]
        )
    return table(
        [
            "cell",
            "ours, bytes",
            "matches",
            "changes",
            "the best whole",
            "",
            "the best that tells changes",
            "",
            "wanted",
            "",
            "command",
        ],
        rows,
    )


def wanted_of(cell: Cell) -> float:
    """How many times the time of our matches the best of the others is to take."""
    by_cell = {("closure", "100000", "20%"): 1.3, ("analytic", "1000", "1%"): 1.2, ("analytic", "1000", "10%"): 1.2}
    by_size = {("rdfs", "100000"): 4.0}
    by_workload = {"self": 1.5, "single": 1.0, "many": 1.5}
    found = by_cell.get((cell.workload, cell.size, cell.change)) or by_size.get((cell.workload, cell.size))
    return found or by_workload.get(cell.workload, 2.0)


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
