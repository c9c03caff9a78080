"""The last run of a benchmark counts, with all of its lines; a broken line is named."""

from __future__ import annotations

import json

import pytest

from bench.results import BadLine, Number, Results, read


def test_the_last_run_counts_with_all_of_its_lines() -> None:
    results = Results(
        [
            {"bench": "machine", "run": "one", "cores": 2},
            {"bench": "a", "run": "one", "ms": 100},
            {"bench": "b", "run": "one", "ms": 7},
            {"bench": "machine", "run": "two", "cores": 4},
            *({"bench": "a", "run": "two", "ms": ms} for ms in (3, 1, 2)),
        ]
    )
    assert results.number("a", "ms") == Number(2, 1, 3, 3)
    assert results.number("b", "ms") == Number(7, 7, 7, 1)
    assert results.number("a", "us") is None is results.number("c", "ms")
    assert results.machines == {
        "one": {"bench": "machine", "run": "one", "cores": 2},
        "two": {"bench": "machine", "run": "two", "cores": 4},
    }
    assert [line["ms"] for line in results.every()] == [3, 1, 2, 7]


def test_the_order_of_files_does_not_matter() -> None:
    runs = [{"bench": "a", "run": run, "ms": ms} for run, ms in (("", 9), ("20260102T", 2), ("20260101T", 1))]
    assert Results(runs).number("a", "ms") == Results(reversed(runs)).number("a", "ms") == Number(2, 2, 2, 1)


def test_each_peer_has_its_own_last_run() -> None:
    results = Results(
        [
            {"bench": "a", "peer": "x", "run": "one", "ms": 1},
            {"bench": "a", "peer": "y", "run": "one", "ms": 2},
            {"bench": "a", "peer": "x", "run": "two", "reason": "not done after 60 s"},
        ]
    )
    assert results.number("a", "ms", "x") is None and results.reason("a", "x") == "not done after 60 s"
    assert results.number("a", "ms", "y") == Number(2, 2, 2, 1) and results.reason("a", "y") is None


def test_truth_is_no_number() -> None:
    assert Results([{"bench": "a", "met": True}]).number("a", "met") is None


def test_lines_without_a_run_are_of_one() -> None:
    assert Results([{"bench": "a", "ms": 1}, {"bench": "a", "ms": 3}]).number("a", "ms") == Number(2, 1, 3, 2)


@pytest.mark.parametrize("line", ['{"bench": "a", ', '{"ms": 1}'])
def test_a_broken_line_is_named(line: str) -> None:
    with pytest.raises(BadLine, match="results.jsonl: line 3 is no result of a benchmark"):
        list(read(["Installing …", json.dumps({"bench": "a"}), line], "results.jsonl"))
