"""The page is made of results: the same for the same, a dash for what is not there, and the prose stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench import book
from bench.book import PAGE, REGIONS, written
from bench.machine import TREE
from bench.plot import PLOTS, draw
from bench.results import Line, Results

STAMPS = {"run": "r1", "at": "2026-03-01T10:05:00Z", "load_before": 0.2, "load_after": 1.5}
MACHINE = {
    "bench": "machine",
    "run": "r1",
    "cores": 2,
    "model": "A Processor",
    "memory_gb": 24.0,
    "kernel": "6.1",
    "system": "Debian",
    "python": "3.11.7",
    "java": None,
    "pyspark": "4.3.0",
    "commit": "abc1234",
}


def ours(bench: str, **numbers: object) -> Line:
    return {"bench": bench, **STAMPS, "command": f"python -m bench {bench}", **numbers}


def verdict(flat: bool) -> Line:
    return {"early": 100.0, "last": 104.0, "climb": 3.0, "most": 110.0, "flat": flat, "percent": 4.0}


CLOSURE_CELL = {
    "bench": "peers-closure-10000-0.1%",
    **STAMPS,
    "command": "python -m bench.peers closure --cell 10000-0.1%",
}
SOME: list[Line] = [
    MACHINE,
    *(ours("latency-1000", p50_ms=p50, p90_ms=200.0, p99_ms=601.0) for p50 in (180.0, 166.0, 158.0)),
    ours("start-up", reason="RuntimeError: the demo gave no answer"),
    ours("laser-self-join", us_80s_800=2.5, answered_us_80s_800=9.25),
    ours("laser-rules", us_16_80s=14.0, answered_us_16_80s=21.5),
    ours("throughput-selective", triples_per_s=767_403.4),
    ours("answers-join", **{"incremental_ms_100000_1%": 7.7, "snapshot_ms_100000_1%": 454.0, "times_100000_1%": 59.0}),
    ours(
        "changes",
        **{
            f"{name}_1000_1%": value
            for name, value in (
                ("changes_ms", 0.8),
                ("whole_ms", 0.7),
                ("compared_ms", 2.6),
                ("times", 3.25),
                ("changes_kb", 1.5),
                ("compared_kb", 28.4),
            )
        },
    ),
    ours("crowd-10", p50_ms=200.0, p99_ms=300.0, late=0, missed=0, register_ms=35.0, cores=0.5),
    ours("crowd-100", p50_ms=250.0, p99_ms=400.0, late=1, missed=2, register_ms=35.0, cores=0.7),
    ours(
        "closure-slides-100000",
        edges=100_000,
        break_even_percent=17.0,
        **{
            f"{name}_{rate}": value
            for rate in (0.1, 2.5)
            for name, value in (
                ("recompute", 83.0),
                ("delete_rederive", 6.8),
                ("expiration", 1.8),
                ("times_recompute", 47.0),
                ("times_delete_rederive", 3.8),
            )
        },
    ),
    ours("closure-slides-10000", edges=10_000, break_even_percent=None),
    *(
        {**CLOSURE_CELL, "peer": peer, "version": version, "ms": ms, "ratio": ratio}
        for peer, version, ms, ratio in (
            ("csparql-spark", "this tree", 1.22, 1.0),
            ("csparql-spark, matches", "this tree", 1.2, 0.98),
            ("duckdb", "2.0.0", 10.5, 8.6),
            ("jena-rete", "5.6.0", 12.0, 9.8),
        )
    ),
    {**CLOSURE_CELL, "peer": "db-ivm", "version": "0.2.0", "reason": "it has no operator for recursion"},
    *(ours("load-series", second=second, p50_ms=200.0, p90_ms=240.0, p99_ms=300.0) for second in (10.0, 20.0)),
    ours(
        "load",
        queries=100,
        rate=10_000,
        subscribers=50,
        minutes=20,
        p50_ms=210.0,
        p99_ms=480.0,
        first_mb=1000.0,
        last_mb=1200.0,
        broken_count=0,
        broken=[],
        holds=True,
    ),
    ours(
        "ramp-rates",
        kept_rate=20_000,
        broke_rate=40_000,
        broke="answers come ever later",
        recovered_after_s=31.0,
        broken_count=0,
        seen={"console": "engine running, far behind", "timeline": "late", "pushes": {"200": 9, "503": 2}},
    ),
    *(ours("overnight-series", minute=minute, all_mb=1500.0, jvm_mb=700.0) for minute in (1, 2)),
    ours(
        "overnight",
        verdicts={"jvm_mb": verdict(True), "database_mb": verdict(False)},
        checked=777,
        cores=0.8,
        broken=["database_mb grew"],
        holds=False,
    ),
]


def region(name: str, lines: list[Line]) -> str:
    return REGIONS[name](Results(lines))


def test_the_page_in_the_tree_is_what_the_results_in_the_tree_give() -> None:
    results = Results.of(sorted((TREE / "bench" / "results").glob("*.jsonl")))
    page = PAGE.read_text(encoding="utf-8")
    assert written(page, results) == page, "write it anew: python -m bench.book bench/results/*.jsonl"
    there = {name for name, plot in PLOTS.items() if plot.there(results)}
    assert {name for name in PLOTS if (PAGE.parent / f"{name}.svg").exists()} == there


def test_the_same_results_make_the_same_page_and_the_prose_stays() -> None:
    page = PAGE.read_text(encoding="utf-8")
    once = written(page, Results(SOME))
    assert once != page and written(once, Results(SOME)) == once
    assert written(once, Results([])) == written(page, Results([]))
    assert book.REGION.sub("", once) == book.REGION.sub("", page)


def test_a_region_that_is_on_one_side_only_is_named() -> None:
    page = "".join(f"<!-- bench:{name} -->\n<!-- /bench -->\n" for name in REGIONS if name != "load")
    for wrong, told in (
        (page, "load"),
        (2 * f"{page}<!-- bench:load -->\n<!-- /bench -->\n", "ahead"),
        (f"{page}<!-- bench:mine -->\n<!-- /bench -->", "load, mine"),
    ):
        with pytest.raises(book.click.ClickException, match=f"different regions: {told}"):
            written(wrong, Results([]))


def test_what_was_not_measured_is_a_dash_beside_its_command() -> None:
    for name in REGIONS:
        text = region(name, [])
        cells = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
        assert "—" in text or name == "machine"
        assert not cells or "python -m bench" in text
    assert region("machine", []) == "Nothing was measured yet: `make bench`."


def test_wanted_values_are_judged_by_the_median() -> None:
    rows = region("user", SOME).splitlines()
    assert rows[0] == (
        "| close of the window → answer at an SSE subscriber | p50, wanted ≤ 250 ms | p90 | p99, wanted "
        "≤ 600 ms | command |"
    )
    assert rows[2] == (
        "| 1,000 triples/s | 166 ms (158–180): met | 200 ms (200–200) | 601 ms (601–601): **not met** | "
        "`python -m bench latency-1000` |"
    )
    assert rows[3] == "| 10,000 triples/s | — | — | — | `python -m bench latency-10000` |"
    assert (
        "| command → first answer of the demo | — (RuntimeError: the demo gave no answer) | ≤ 15 s | — | "
        "`python -m bench start-up` |"
    ) in rows
    assert rows[-1] == "*Measured 2026-03-01 10:05 UTC, load average 0.2 to 1.5, commit abc1234.*"
    assert "| 767,403 triples/s | ≥ 300,000 triples/s | met | `python -m bench throughput-selective` |" in region(
        "inside", SOME
    )


def test_the_machine_and_its_runs_stand_at_the_top() -> None:
    assert region("machine", SOME).splitlines() == [
        "1. processor A Processor, 2 cores, 24.0 GB of memory, Debian, kernel 6.1, Python 3.11.7, PySpark 4.3.0",
        "",
        "| run | machine | load average | commit | parts |",
        "| --- | --- | --- | --- | --- |",
        "| 2026-03-01 10:05 UTC | 1 | 0.2 to 1.5 | abc1234 | `latency-1000`, `start-up`, `laser-self-join`, "
        "`laser-rules`, `throughput-selective`, `answers-join`, `changes`, `crowd-10`, `crowd-100`, `closure-slides-100000`, `closure-slides-10000`, `load-series`, "
        "`load`, `ramp-rates`, `overnight-series`, `overnight`, 1 cells of `bench.peers` |",
    ]


def test_the_other_tables() -> None:
    text = {name: region(name, SOME) for name in REGIONS}
    assert (
        "| three patterns, FILTER, GROUP BY | 100,000 | 7.7 against 454: 59 × | — | ≥ 20 × | met | "
        "`python -m bench answers-join` |"
    ) in text["answers"]
    assert (
        "| 100 queries | 250 ms | 400 ms | 1 | 2: **not met** | 35 ms | 0.7 | `python -m bench crowd-100` |"
        in (text["crowd"])
    )
    assert (
        "| 1,000, 1 % | 0.8 ms | 0.7 ms | 2.6 ms | 3.25 × | 1.5 KB | 28.4 KB | `python -m bench changes` |"
        in text["changes"]
    )
    assert "| 80 s | — | — | — | — | — | 2.5, 9.25 |" in text["laser"]
    assert "| 80 s | — | — | — | 14, 21.5 |" in text["laser"]
    assert "| 0.1 % | 1.8 ms | 83 ms | 6.8 ms | 47 × | 3.8 × |" in text["closure"]
    assert (
        "| 100,000 edges | 17 % | above 20 % | **not met** | `python -m bench closure-slides-100000` |"
        in (text["closure"])
    )
    assert (
        "| 10,000 edges | not up to 20 % | above 20 % | met | `python -m bench closure-slides-10000` |"
        in (text["closure"])
    )
    assert (
        "| closure 10,000, 0.1% | 1.22 | 1.2 | — | duckdb: 10.5 | 8.78 × | — | — | 2 × | met | "
        "`python -m bench.peers closure --cell 10000-0.1%` |"
    ) in text["ahead"]
    assert "Not in the table: db-ivm: it has no operator for recursion." in text["peers"]
    assert "| last minute | 1,200 MB | ≤ 1.1 × the first | **not met** | `python -m bench load` |" in text["load"]
    assert "| lost, wrong, or told twice | 0 | ≤ 0 | met | `python -m bench load` |" in text["load"]
    assert "Nothing was wrong." in text["load"] and "**Wrong: database_mb grew.**" in text["overnight"]
    assert (
        "| triples/s, 100 queries | 20,000 | 40,000: answers come ever later | console: engine running, far "
        "behind; timeline: late; pushes: 9 × 200, 2 × 503 | 31 s | met | `python -m bench ramp-rates` |"
    ) in (text["ramp"])
    assert "| jvm | 100 MB | 104 MB | +4.0 % | 110 MB | flat | met | `python -m bench overnight` |" in text["overnight"]
    for name, plot in PLOTS.items():
        assert any(f"![{plot.title}]({name}.svg)" in piece for piece in text.values())


def test_plots_are_drawn_the_same_each_time_and_taken_away_when_there_is_nothing(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="no matplotlib: pip install --editable '.[bench]'")
    results, page = tmp_path / "results.jsonl", tmp_path / "docs" / "performance.md"
    results.write_text("".join(json.dumps(line) + "\n" for line in SOME), encoding="utf-8")
    told = CliRunner().invoke(book.main, [str(results), "--page", str(page)])
    assert told.exit_code == 0, told.output
    seen = {path.name: path.read_text(encoding="utf-8") for path in page.parent.iterdir()}
    assert seen.keys() == {"performance.md", *(f"{name}.svg" for name in PLOTS)}
    draw("crowd", Results(SOME), tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text(encoding="utf-8") == seen["crowd.svg"]
    words = {"load": "p99", "overnight": "JVM", "crowd": "queries", "peers": "duckdb", "closure": "expiration"}
    assert all(f">{words[name]}<" in seen[f"{name}.svg"] for name in PLOTS)
    assert seen["performance.md"] == written(PAGE.read_text(encoding="utf-8"), Results(SOME))
    results.write_text("")
    assert CliRunner().invoke(book.main, [str(results), "--page", str(page)]).exit_code == 0
    assert [path.name for path in page.parent.iterdir()] == ["performance.md"]


def test_quick_numbers_have_a_page_of_their_own(tmp_path: Path) -> None:
    results = tmp_path / "quick.jsonl"
    results.write_text(json.dumps({"bench": "commits", "fsync_per_s": 9.0, "quick": True}) + "\n")
    before = PAGE.read_bytes()
    told = CliRunner().invoke(book.main, [str(results)])
    assert told.exit_code == 1 and "give them a page of their own with --page" in told.output
    assert PAGE.read_bytes() == before
    assert "**A quick run" in region("machine", [{"bench": "commits", "fsync_per_s": 9.0, "quick": True}])


def test_a_broken_line_is_told(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    results.write_text('{"bench": "a"}\n{"ben')
    told = CliRunner().invoke(book.main, [str(results), "--page", str(tmp_path / "page.md")])
    assert told.exit_code == 1 and "line 2 is no result of a benchmark" in told.output
