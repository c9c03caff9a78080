"""Limits: what a slide of the peers' workloads takes at the least on this machine, whoever programs it.

    python -m bench.limits                          all cells
    python -m bench.limits closure many --cell 10000-100

The first line is what the machine's memory can do in one thread (see `bandwidth`), and what a call takes that has next
to nothing to do: of the kernel with ten columns, of numpy with two. The others are cells. What a slide
has to touch follows from how much comes and how much follows from it, which is counted by running some slides:

    read      each triple that comes: four numbers
    written   each fact that is new in the graph, and each match that is new: a key and a tag, once
    told      the whole answer: each cell of it is read once, and its bytes are written once
    places    looked up in no order: for each fact that is new, whether it was there; for each match that is new, each
              of the triples that it is made of, but for the one that has come

`least_ms` is the time of the reads and writes at the speed of a copy, and of the places at that of a gather, or of a
read of all that is kept, whichever is less; each at the speed of the caches where all that is kept fits into them.
`matches_ms` is the same without the answer. To keep more than one order, to sort, and to call anything is left out: it
is a bound for one thread that nobody goes below, and not what can be had.
"""

from __future__ import annotations

import json
import timeit
from collections.abc import Iterator
from typing import NamedTuple

import click
import numpy as np

from bench.bandwidth import SIZES, Bandwidth
from bench.kernel import call
from bench.peers.ours import LIMIT, Kept
from bench.peers.workloads import CELLS, Cell
from csparql_spark.kernel import native
from csparql_spark.relations.graph import Facts

SLIDES = 4  # that are counted
NUMBER, ROW = 8, 16  # bytes of a number, of a key and a tag
JOINED = {"self": 1, "analytic": 2, "many": 2}  # other triples in a match


class Touched(NamedTuple):
    """What a slide touches at the least: bytes and places, without and with the answer."""

    came: float  # triples
    facts: float  # that are new in the graph
    matches: float  # that are new
    places: float  # that are looked up
    moved: float  # bytes that are read or written
    told: float  # and those of the answer
    kept: float  # bytes of all facts and matches


class Counted(Kept):
    """Ours, counting what is new."""

    def watch(self) -> None:
        self._mark = self._facts.moving.mark()

    def counts(self, given: Facts) -> tuple[int, int, int, int]:
        """After a slide: facts and matches that are new, bytes of the answers, and facts and matches that are kept."""
        gone = self._now - self._job.width
        left = self._matches(gone)
        self.slide(given)
        changes = self._facts.moving.since(self._mark)
        there = self._matches(gone)
        told = sum(len(query.answer(limit=LIMIT).to_bytes()) for query in self._queries)
        facts = 0 if changes is None else changes.added.size
        return facts, there - left, told, there + self._facts.moving.graph.holding(gone)

    def _matches(self, after: int) -> int:
        """How many there are that hold later than an instant."""
        tables = [
            table for query in self._queries for table in query.matches if table.rows
        ]  # not those that the graph is
        return sum(table.count(after) for table in tables)


def touched(cell: Cell, slides: int = SLIDES) -> Touched:
    job = cell.job(slides)
    peer = Counted()
    peer.prepare(job)
    counts = []
    for number, (added, removed) in enumerate(job.moves()):
        given = peer.ready(added, removed)
        if number < job.warm:
            peer.slide(given)
            continue
        if number == job.warm:
            peer.watch()
        counts.append(peer.counts(given))
    peer.close()
    facts, matches, told, kept = np.array(counts, dtype=float).mean(axis=0).tolist()
    places = facts + matches * JOINED.get(cell.workload, 0)
    moved = 4 * NUMBER * job.count + ROW * (facts + matches)
    return Touched(job.count, facts, matches, places, moved, told, ROW * kept)


def seconds(one: Touched, machine: Bandwidth) -> tuple[float, float]:
    """The least time of a slide, without and with the answer."""
    _, read, copy, gather = machine.level(one.kept)
    matches = one.moved / copy + min(one.places / gather, one.kept / read)
    return matches, matches + 2 * one.told / machine.level(2 * one.told).copy


def lines(cells: list[Cell], machine: Bandwidth) -> Iterator[dict[str, object]]:
    numbers = {**machine.numbers(), "numpy_call_us": 1e6 * _numpy_call()}
    if native.library is not None:
        numbers["kernel_call_us"] = 1e6 * call()
    yield {"bench": "limits", **{name: round(value, 3) for name, value in numbers.items()}}
    for cell in cells:
        one = touched(cell)
        matches, whole = seconds(one, machine)
        yield {
            "bench": cell.bench.replace("peers-", "limits-", 1),
            **{name: round(value, 1) for name, value in one._asdict().items()},
            "matches_ms": round(1e3 * matches, 5),
            "least_ms": round(1e3 * whole, 5),
            **({"matches_us": round(1e6 * matches / one.came, 5)} if cell.unit == "us" else {}),
            **({"least_us": round(1e6 * whole / one.came, 5)} if cell.unit == "us" else {}),
        }


def _numpy_call() -> float:
    one = np.arange(8)
    return min(timeit.repeat(lambda: one + one, number=10_000, repeat=5)) / 10_000


@click.command()
@click.argument("workloads", nargs=-1, type=click.Choice(list(CELLS)))
@click.option("--cell", "chosen", multiple=True, metavar="SIZE-CHANGE", help="Only this one, as 10000-1%; may repeat.")
@click.option("--quick", is_flag=True, help="Fewer cells.")
def main(workloads: tuple[str, ...], chosen: tuple[str, ...], quick: bool) -> None:
    """Say what the cells of WORKLOADS (all, if none is named) take at the least."""
    cells = [
        cell
        for workload in workloads or CELLS
        for cell in CELLS[workload]
        if (f"{cell.size}-{cell.change}" in chosen if chosen else cell.quick or not quick)
    ]
    for line in lines(cells, Bandwidth.measured([min(size, 32 << 20) for size in SIZES] if quick else SIZES)):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
