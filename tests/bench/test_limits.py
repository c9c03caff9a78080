"""What a slide touches at the least is what is new in it, counted in another way."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from bench import limits
from bench.bandwidth import Bandwidth, MemoryLevel
from bench.limits import Touched, seconds, touched
from bench.peers.workloads import Cell, chain

MACHINE = Bandwidth((MemoryLevel(1_000, 10.0, 10.0, 2.0), MemoryLevel(10_000, 5.0, 4.0, 0.5)), 1.0)


def pairs(edges: set[tuple[int, int]]) -> set[tuple[int, int, int]]:
    return {(a, b, c) for a, b in edges for d, c in edges if b == d}


def test_what_is_new_is_counted() -> None:
    width, count, slides = 5, 30, 6
    cell = Cell("self", "5s", "30", "us", False, lambda slides: chain("self", width, count, slides))
    job = cell.job(slides)
    found = []
    for number in range(job.warm + slides + 1):
        window = job.stream[number * count : (number + width) * count]
        found.append(pairs({(int(s), int(o)) for s, _, o in window}))
    new = [len(after - before) for before, after in zip(found, found[1:])][job.warm :]
    one = touched(cell, slides)
    assert (one.came, one.facts) == (count, count)
    assert one.matches == pytest.approx(sum(new) / slides) and one.matches > 0
    kept = [width * count + len(after) for after in found[1:]][job.warm :]
    assert one.kept == pytest.approx(16 * sum(kept) / slides)
    assert one.moved == pytest.approx(32 * count + 16 * (one.facts + one.matches))


def test_the_least_time_is_that_of_where_the_data_lies() -> None:
    near = Touched(came=1, facts=1, matches=0, places=4, moved=20, told=5, kept=1_000)
    assert seconds(near, MACHINE) == (20 / 10 + 4 / 2, 20 / 10 + 4 / 2 + 10 / 10)
    far = near._replace(kept=2_000, places=1_000)
    assert seconds(far, MACHINE)[0] == 20 / 4 + 2_000 / 5  # to read all is quicker than to look up so many
    assert MACHINE.level(10**9) is MACHINE.levels[-1]


def test_lines_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SLIDES", 1)
    monkeypatch.setattr(Bandwidth, "measured", classmethod(lambda cls, sizes: MACHINE))
    said = CliRunner().invoke(limits.main, ["analytic", "--cell", "1000-1%"], catch_exceptions=False).output
    machine, cell = map(json.loads, said.splitlines())
    assert machine["bench"] == "limits" and machine["numpy_call_us"] > 0
    assert cell["bench"] == "limits-analytic-1000-1%" and 0 < cell["matches_ms"] <= cell["least_ms"]
