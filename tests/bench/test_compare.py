"""What counts as slower: by more than both files waver, in the direction that a number's name says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.compare import UNKNOWN, better, compared, main, noise, read


def lines(bench: str, **numbers: list[float]) -> list[str]:
    runs = zip(*numbers.values(), strict=True)
    return [json.dumps({"bench": bench, **dict(zip(numbers, run, strict=True))}) for run in runs]


def kinds(old: list[str], new: list[str]) -> dict[str, str]:
    return {change.number: change.kind for change in compared(read(old), read(new))}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("p50_ms", -1),
        ("ms", -1),
        ("core_percent", -1),
        ("memory_mb", -1),
        ("http_s", -1),
        ("triples_per_s", 1),
        ("appends_per_s_32", 1),
        ("times", 1),
        ("times_recompute_0.1", 1),
        ("us_80s_800", -1),
        ("slide_ms_100000", -1),
        ("expiration_0.1", -1),
        ("recompute_0.1", 0),
        ("memory_gb", 0),
        ("lasted", 0),
        ("load_before", 0),
        ("rows", 0),
        ("instants", 0),
    ],
)
def test_a_name_says_what_is_better(name: str, wanted: int) -> None:
    assert better(name) == wanted


def test_what_a_benchmark_wavers_is_no_news() -> None:
    old = lines("latency", p50_ms=[100, 110, 120], triples_per_s=[1000, 1000, 1000])
    assert kinds(old, lines("latency", p50_ms=[118, 120, 122], triples_per_s=[990, 1000, 1010])) == {
        "p50_ms": "same",
        "triples_per_s": "same",
    }
    assert kinds(old, lines("latency", p50_ms=[130, 131, 132], triples_per_s=[900, 901, 902])) == {
        "p50_ms": "slower",
        "triples_per_s": "slower",
    }
    assert kinds(old, lines("latency", p50_ms=[80, 81, 82], triples_per_s=[1100, 1110, 1120])) == {
        "p50_ms": "quicker",
        "triples_per_s": "quicker",
    }


def test_one_run_says_little() -> None:
    assert noise([3.0]) == UNKNOWN
    assert kinds(lines("a", ms=[10]), lines("a", ms=[14])) == {"ms": "same"}
    assert kinds(lines("a", ms=[10]), lines("a", ms=[16])) == {"ms": "slower"}


def test_points_of_a_series_and_others_peers_are_not_compared_nor_small_sizes_with_full_ones() -> None:
    ours = {"bench": "peers-self-20s-200", "peer": "csparql-spark, matches", "ms": 2}
    found = read(
        json.dumps(line)
        for line in (
            {"bench": "load-series", "p50_ms": 9},
            {"bench": "load-minute", "p50_ms": 9},
            {"bench": "warming-up", "p50_ms": 9},
            {"bench": "machine", "memory_gb": 24},
            {**ours, "peer": "duckdb"},
            ours,
            {"bench": "load", "p50_ms": 8},
            {"bench": "idle", "core_percent": 3, "quick": True},
        )
    )
    assert found == {
        ("peers-self-20s-200 csparql-spark, matches", "ms"): [2],
        ("load", "p50_ms"): [8],
        ("idle (quick)", "core_percent"): [3],
    }


def test_the_last_run_of_a_file_counts() -> None:
    runs = [{"bench": "a", "run": run, "ms": ms} for run, ms in (("one", 1), ("one", 2), ("two", 3), ("two", 4))]
    assert read(map(json.dumps, runs)) == {("a", "ms"): [3, 4]}


def test_it_names_what_got_slower_and_what_is_missing(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("\n".join(["Installing …", *lines("a", ms=[10, 10]), *lines("gone", ms=[1, 1])]))
    new.write_text("\n".join([*lines("a", ms=[20, 20]), *lines("come", ms=[1, 1])]))
    told = CliRunner().invoke(main, [str(old), str(new)])
    assert told.exit_code == 1
    assert told.output.splitlines() == [
        "slower: 1",
        "  a ms: 10 → 20, 2.00 × the price (noise 6%)",
        "quicker: nothing",
        "within the noise: 0",
        "only in OLD: gone",
        "only in NEW: come",
    ]
    assert CliRunner().invoke(main, [str(old), str(old)]).exit_code == 0


def test_a_line_that_is_no_result_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text('{"bench": "a", "ms": 1}\n{"ms": 1}\n')
    told = CliRunner().invoke(main, [str(broken), str(broken)])
    assert told.exit_code == 1 and "line 2 is no result of a benchmark" in told.output
