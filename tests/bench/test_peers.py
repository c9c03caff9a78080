"""Peers say the same of the same input: ours, the naive twin and what else is in Python here, on tiny data."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from bench.peers import table
from bench.peers.__main__ import hopeless, lines
from bench.peers.child import measured
from bench.peers.installing import NotInstalled, Place
from bench.peers.job import Cannot, Job, digest, digests, write_answers
from bench.peers.naive import Naive
from bench.peers.ours import Kept, Ours
from bench.peers.oxigraph import Oxigraph
from bench.peers.running import OURS, PEERS, Report, agree, side_by_side
from bench.peers.workloads import ANALYTIC, CELLS, chain, readings, room_query, tree, typed
from bench.results import Results

JOBS = {
    "self": lambda: chain("self", 4, 10, 3),
    "single": lambda: chain("single", 4, 10, 3),
    "analytic": lambda: readings("analytic", 5, 20, 3, [ANALYTIC]),
    "closure": lambda: tree(40, 10, 4),
    "rdfs": lambda: typed(40, 25, 3, depth=2),
    "many": lambda: readings("many", 4, 20, 3, [room_query(number) for number in range(60)]),
}


def told(peer: type, job: Job) -> list[tuple[int, str]]:
    return [(len(rows), digest(rows)) for _, _, rows in measured(peer(), job)]


@pytest.mark.parametrize("kind", JOBS)
@pytest.mark.parametrize("peer", [Ours, Kept, Oxigraph])
def test_peers_say_what_the_naive_twin_says(kind: str, peer: type) -> None:
    job = JOBS[kind]()
    if peer is Oxigraph and kind == "rdfs":
        with pytest.raises(Cannot, match="entail"):
            told(peer, job)
        return
    right = told(Naive, job)
    assert all(length for length, _ in right) and len({said for _, said in right}) == job.slides
    assert told(peer, job) == right


@pytest.mark.parametrize("kind", JOBS)
def test_a_job_survives_its_files(kind: str, tmp_path: Path) -> None:
    job = JOBS[kind]()
    job.write(tmp_path)
    read = Job.read(tmp_path)
    for name, value in vars(job).items():
        same = np.array_equal if isinstance(value, np.ndarray) else value.__class__.__eq__
        assert same(getattr(read, name), value), name


@pytest.mark.parametrize("kind", JOBS)
def test_no_triple_comes_while_it_is_in_the_window(kind: str) -> None:
    job = JOBS[kind]()
    window = {tuple(row) for row in job.full.tolist()}
    assert len(window) == job.width * job.count
    for added, removed in job.moves():
        gone, come = ({tuple(row) for row in rows.tolist()} for rows in (removed, added))
        assert gone <= window
        window -= gone
        assert not come & (window | {tuple(row) for row in job.background.tolist()})
        window |= come
        assert len(window) == job.width * job.count


def test_what_is_compared_is_a_bag_of_rows(tmp_path: Path) -> None:
    rows = np.array([[1, 2], [0, 5], [1, 2]])
    assert digest(rows) == digest(rows[::-1])
    assert digest(rows) != digest(rows[:2])
    write_answers(tmp_path, [rows, rows[:0]])
    assert digests(tmp_path, 2) == [(3, digest(rows)), (0, digest(rows[:0]))]


def test_children_are_run_side_by_side(tmp_path: Path) -> None:
    names = [OURS, "csparql-spark, changes", "csparql-spark, matches"]
    turns = side_by_side(JOBS["self"](), names, Place(tmp_path), limit=100, times=2)
    assert len(turns) == 2 and all(list(reports) == names for reports in turns)
    reports = [report for turn in turns for report in turn.values()]
    assert [report.reason for report in reports] == [None] * 6
    assert all(report.seconds > 0 and report.rows > 0 for report in reports)
    assert len({tuple(report.told) for report in reports}) == 1


def test_who_was_late_is_not_tried_with_more() -> None:
    small, more = (
        next(cell for cell in CELLS["closure"] if (cell.size, cell.change) == wanted)
        for wanted in (("10000", "20%"), ("100000", "20%"))
    )
    less = next(cell for cell in CELLS["closure"] if (cell.size, cell.change) == ("100000", "0.1%"))
    late = [("owlrl", small)]
    assert hopeless(more, late) == {"owlrl": "not tried: it was not done with 10000, 20%"}
    assert hopeless(less, late) == {} == hopeless(CELLS["rdfs"][-1], late)
    reports = side_by_side(JOBS["self"](), ["owlrl"], Place(Path("/")), 1, 2, hopeless(more, late))
    assert [turn["owlrl"].reason for turn in reports] == ["not tried: it was not done with 10000, 20%"] * 2


def test_who_says_something_else_is_not_believed() -> None:
    reports = {
        OURS: Report(OURS, "this tree", 1.0, told=[(2, "a"), (3, "b")]),
        "duckdb": Report("duckdb", "2", 0.5, told=[(2, "a"), (4, "c")]),
        "polars": Report("polars", "2", 0.5, told=[(2, "a"), (3, "b")]),
    }
    agree(reports)
    assert reports["duckdb"].seconds is None
    assert reports["duckdb"].reason == "its answers are others: at slide 1 it has 4 rows, not the 3 of the others"
    assert reports["polars"].seconds == 0.5 and reports["polars"].reason is None


def test_what_cannot_be_installed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotInstalled, match="npm was not found"):
        Place(tmp_path).node("rsp-js")
    reports = side_by_side(JOBS["self"](), ["jena-rete"], Place(tmp_path), limit=1)[0]
    assert reports["jena-rete"].reason == "not installed: mvn was not found (on Debian: apt-get install maven)"


def test_tables_have_a_row_for_each_peer_and_a_footnote_for_what_is_missing(tmp_path: Path) -> None:
    cell = CELLS["closure"][0]
    reports = {
        OURS: Report(OURS, "this tree", 0.002, 0.002, rows=7),
        "duckdb": Report("duckdb", "2.0.0", 0.02, 0.03, rows=7),
        "polars": Report("polars", "2.1.0", reason="not done after 1 s"),
        "db-ivm": Report("db-ivm", "0.2.0", reason="it has no operator for recursion"),
    }
    other = {**reports, "polars": Report("polars", "2.1.0", 0.25, 0.5, rows=7)}
    results = tmp_path / "results.jsonl"
    both = [*lines(cell, reports, 10), *lines(CELLS["closure"][1], other, 10)]
    results.write_text("".join(json.dumps(line) + "\n" for line in both))
    printed = CliRunner().invoke(table.main, [str(results)]).output.splitlines()
    assert printed[0].endswith("for each triple that comes**: — (`python -m bench.peers self`)")
    start = printed.index(
        "**Transitive closure of a tree: edges, how many of them change; ms for a slide** "
        "(`python -m bench.peers closure`)"
    )
    dashes = " | —" * (len(CELLS["closure"]) - 2)
    assert printed[start + 2].startswith("|  | 10,000, 0.1% | 10,000, 1% | 10,000, 2.5% |")
    assert printed[start + 4 : start + 7] == [
        f"| **csparql-spark** | 2 | 2{dashes} |",
        f"| duckdb 2.0.0 | 20 (10 ×) | 20 (10 ×){dashes} |",
        f"| polars 2.1.0 | <sup>1</sup> | 250 (125 ×){dashes} |",
    ]
    assert printed[start + 8] == (
        "<sup>1</sup> not done after 1 s. Not in the table: db-ivm: it has no operator for recursion."
    )
    by_processor = CliRunner().invoke(table.main, ["--processor", str(results)]).output
    assert f"| duckdb 2.0.0 | 30 (15 ×) | 30 (15 ×){dashes} |" in by_processor


def test_the_best_of_the_others_is_told_beside_what_is_wanted() -> None:
    cell = CELLS["closure"][0]
    turns = [
        {
            OURS: Report(OURS, "this tree", 0.002),
            "csparql-spark, matches": Report("", "", 0.001),
            "duckdb": Report("duckdb", "2.0.0", seconds),
            "polars": Report("polars", "2.1.0", 0.1),
            "pathway": Report("pathway", "0.33.0", 0.0015),
        }
        for seconds in (0.003, 0.003, 0.005)
    ]
    for turn in turns:
        turn["csparql-spark, matches"].peer = "csparql-spark, matches"
    results = Results(line for turn in turns for line in lines(cell, turn, 10))
    rows = table.ahead(results).splitlines()
    assert (
        "| closure 10,000, 0.1% | 2 ± 0% | 1 ± 0% | — | duckdb: 3 ± 33% | 3 × | pathway: 1.5 ± 0% | 1.5 × | 2 × | "
        "**not met** | `python -m bench.peers closure --cell 10000-0.1%` |"
    ) in rows
    command = "`python -m bench.peers closure --cell 10000-20%`"
    assert f"| closure 10,000, 20% | — | — | — | — | — | — | — | 2 × | — | {command} |" in rows
    better = Results(lines(cell, {**turns[0], "pathway": Report("pathway", "0.33.0", 0.002)}, 10))
    assert table.ahead(better).count("| met |") == 1
    # Who tells changes is compared with ours that tells them, where that was measured.
    told = Report("csparql-spark, changes", "", 0.0005)
    printed = table.ahead(Results(lines(cell, {**turns[0], told.peer: told}, 10)))
    assert "| closure 10,000, 0.1% | 2 | 1 | 0.5 | duckdb: 3 | 3 × | pathway: 1.5 | 3 × | 2 × | met |" in printed


def test_what_is_wanted_in_a_cell() -> None:
    wanted = {
        (cell.workload, cell.size, cell.change): table.wanted_of(cell) for cells in CELLS.values() for cell in cells
    }
    assert wanted["closure", "100000", "20%"] == 1.3 and wanted["closure", "10000", "20%"] == 2
    assert wanted["rdfs", "100000", "10%"] == 4 and wanted["rdfs", "1000", "10%"] == 2
    assert wanted["analytic", "1000", "1%"] == 1.2 and wanted["analytic", "10000", "1%"] == 2
    assert wanted["single", "80s", "800"] == 1 and wanted["self", "80s", "800"] == wanted["many", "10000", "100"] == 1.5


def test_every_peer_has_a_version() -> None:
    assert all(version for version, _ in PEERS.values())
    assert PEERS[OURS][1](Place(Path("/"))) == [sys.executable, "-m", "bench.peers.child", "bench.peers.ours", "Ours"]
