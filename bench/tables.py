"""Tables of our own numbers: what is wanted stands beside what was measured, and the command beside both.

A row is one number of one benchmark; a wanted value is met or **not met** by the median. Where nothing was measured
there is a dash; the command that would measure it stands in the same row.

    INSIDE[0]                      # Row("…", "throughput-selective", "triples_per_s", "triples/s", least=300_000)
    plain(results, USER)           # a table in markdown, a row for each number
    wide(results, CROWD)           # one with a row for each benchmark
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bench.cells import NONE, met, ranged, short, table
from bench.kernel import CASES
from bench.results import Results


class Row(NamedTuple):
    what: str
    bench: str
    number: str
    unit: str = ""
    most: float | None = None  # wanted: not more than this
    least: float | None = None  # or not less

    @property
    def wanted(self) -> str:
        bound, sign = (self.most, "≤") if self.most is not None else (self.least, "≥")
        return "" if bound is None else f"{sign} {short(bound)}" + (f" {self.unit}" if self.unit else "")

    def judged(self, value: float | None) -> str:
        if self.most is None and self.least is None:
            return ""
        return NONE if value is None else met(value <= self.most if self.most is not None else value >= self.least)


class Wide(NamedTuple):
    """A table with a row for each of some benchmarks that tell the same numbers: a column for each of these."""

    head: str
    benches: dict[str, str]  # what the row says, by benchmark
    columns: tuple[Row, ...]  # of no benchmark


LATENCY = Wide(
    "close of the window → answer at an SSE subscriber",
    {"latency-1000": "1,000 triples/s", "latency-10000": "10,000 triples/s"},
    (
        Row("p50", "", "p50_ms", "ms", most=250),
        Row("p90", "", "p90_ms", "ms"),
        Row("p99", "", "p99_ms", "ms", most=600),
    ),
)

USER = [
    Row("command → HTTP answers", "start-up", "http_s", "s"),
    Row("command → the engine runs", "start-up", "engine_s", "s"),
    Row("command → first answer of the demo", "start-up", "first_answer_s", "s", most=15),
    Row("idle, one query of STEP 10 s: of a core", "idle", "core_percent", "%", most=5),
    Row("resident in all processes, shared pages counted in each", "idle", "memory_mb", "MB"),
]

INSIDE = [
    Row(
        "pipeline, one in a hundred readings is an answer",
        "throughput-selective",
        "triples_per_s",
        "triples/s",
        least=300_000,
    ),
    Row("the same, every reading is an answer", "throughput-everything", "triples_per_s", "triples/s"),
    Row("durable appends to the log, 1 pusher", "commits", "appends_per_s_1", "/s"),
    Row("32 pushers", "commits", "appends_per_s_32", "/s"),
    Row("the disk's bare fsyncs", "commits", "fsync_per_s", "/s"),
    Row("N-Triples into a chunk", "parsing", "chunks_per_s", "triples/s"),
    Row("N-Triples into Python strings, in a loop", "parsing", "loop_per_s", "triples/s"),
    *(
        Row(f"a push of 200,000 triples into a chunk, {what}", "formats", f"{name}_per_s", "triples/s")
        for name, what in (
            ("ntriples", "N-Triples"),
            ("ndjson_objects", "NDJSON, terms as objects"),
            ("ndjson_strings", "NDJSON, terms as strings"),
            ("arrow_strings", "Arrow, plain strings"),
            ("arrow_dictionaries", "Arrow, dictionaries"),
        )
    ),
    Row("text of a query into a query", "parsing", "query_ms", "ms"),
]

MANY = Wide(
    "the groups alone",
    {f"many-queries-{count}": f"{count:,} queries" for count in (10, 100, 1000)},
    (
        Row("an instant", "", "ms_per_instant", "ms"),
        Row("the slowest", "", "slowest_ms", "ms", most=1000),
        Row("rows in all", "", "rows"),
    ),
)

CROWD = Wide(
    "the whole server, tick → last answer in the store",
    {f"crowd-{count}": f"{count:,} queries" for count in (10, 100, 300, 1000, 2000)},
    (
        Row("p50", "", "p50_ms", "ms"),
        Row("p99", "", "p99_ms", "ms"),
        Row("instants a STEP late", "", "late"),
        Row("not answered by all", "", "missed", most=0),
        Row("to register one", "", "register_ms", "ms"),
        Row("cores", "", "cores"),
    ),
)

REGISTRATIONS = Wide(
    "10,000 registrations",
    {"registrations-100": "of 100 texts", "registrations-10000": "of 10,000 texts"},
    (
        Row("over HTTP", "", "registrations_per_s", "/s"),
        Row("bytes in the log for each", "", "bytes"),
        Row("start → HTTP answers", "", "http_s", "s"),
        Row("start → the engine runs", "", "engine_s", "s"),
    ),
)
ROUTED = [
    Row("the engine runs → all are routed, 100 texts", "registrations-100", "routed_s", "s", most=10),
    Row("the same, 10,000 texts", "registrations-10000", "routed_s", "s", most=25),
]
REGISTRATION_PARTS = Wide(
    "in one process, from nothing",
    {"registrations-100": "100 texts", "registrations-10000": "10,000 texts"},
    (
        Row("routing", "", "route_s", "s"),
        Row("the ticker's instants", "", "ticker_s", "s"),
        Row("listing the registry", "", "listing_s", "s"),
        Row("what each asks for", "", "reading_s", "s"),
    ),
)

SUBSCRIBERS = Wide(
    "commit → the last of all has the answer",
    {
        "fanout-50": "50 subscribers, 1 KB",
        "fanout-500": "500 subscribers, 1 KB",
        "fanout-500-large": "500 subscribers, 10 KB",
    },
    (Row("p50", "", "p50_ms", "ms"), Row("p99", "", "p99_ms", "ms"), Row("memory for each", "", "kb_each", "KB")),
)

LASER = [
    Row("◇, window of 80 s, 800 triples/s: for a triple", "laser-diamond", "us_80s_800", "µs", most=0.43),
    Row("self-join, window of 80 s, 800 triples/s: for a triple", "laser-self-join", "us_80s_800", "µs", most=4.0),
    Row("16 rules, window of 80 s, 200 triples/s in all: for a triple", "laser-rules", "us_16_80s", "µs"),
]

SLIDES = "closure-slides-100000"
CLOSURE = [
    Row(
        "0.1 % of the edges: expiration, how many times as quick as to recompute",
        SLIDES,
        "times_recompute_0.1",
        "×",
        least=40,
    ),
    Row("as to delete and rederive", SLIDES, "times_delete_rederive_0.1", "×", least=10),
    Row("2.5 % of the edges: as to recompute", SLIDES, "times_recompute_2.5", "×", least=5),
    Row("as to delete and rederive", SLIDES, "times_delete_rederive_2.5", "×", least=5),
    Row("closure of 10,000 edges from nothing", "closure-scratch-10000", "ms", "ms"),
    Row("closure of 70,131 edges from nothing", "closure-scratch-70131", "ms", "ms"),
]

WINDOWS = [
    Row("window of 1,000, slide of 100 triples", "closure-windows", "slide_ms_1000", "ms", most=2),
    Row("window of 10,000, slide of 1,000", "closure-windows", "slide_ms_10000", "ms"),
    Row("window of 100,000, slide of 10,000", "closure-windows", "slide_ms_100000", "ms"),
    Row("the same, of one core", "closure-windows", "triples_per_s_100000", "triples/s", least=500_000),
    *(
        Row(
            f"the eleven rules of the IMaRS paper, window of {size:,}", "closure-windows-rdfs", f"slide_ms_{size}", "ms"
        )
        for size in (1_000, 10_000, 100_000)
    ),
    *(
        Row(f"window of 10,000 that jumps by {share} %: {name}", "closure-jumps", f"{name}_{share}", "ms")
        for share in (0.2, 1, 2, 10)
        for name in ("expiration", "recompute")
    ),
    *(
        Row(f"a triple at {rate:,} triples/s, window of 10 s", "closure-rates", f"us_per_triple_{rate}", "µs")
        for rate in (800, 4_000, 20_000, 100_000)
    ),
]

TERMS = [
    Row("resident after 5 million new terms", "soak-terms", "mb", "MB"),
    Row("the least, after the first fifth", "soak-terms", "least_mb", "MB"),
    Row("the most", "soak-terms", "most_mb", "MB"),
    Row("terms in dictionaries at the end", "soak-terms", "in_dictionaries"),
]

KERNEL = [
    Row("a call with ten columns", "kernel", "call_us", "µs", most=2),
    Row("to load it, at a process' start", "kernel", "load_ms", "ms", most=300),
    Row("on the disk", "kernel", "library_kb", "KB", most=60_000),
]

KINDS = {
    "answers-join": "three patterns, FILTER, GROUP BY",
    "answers-self-join": "self-join",
    "answers-single": "one pattern",
}
SIZES, PERCENTS = (1_000, 10_000, 100_000), (1, 10)


def plain(results: Results, rows: Sequence[Row]) -> str:
    return table(["what", "measured", "wanted", "", "command"], [_plain(results, row) for row in rows])


def _plain(results: Results, row: Row) -> list[str]:
    found = results.number(row.bench, row.number)
    reason = results.reason(row.bench) if found is None else None
    measured = ranged(found, row.unit) + (f" ({reason})" if reason else "")
    return [
        row.what,
        measured,
        row.wanted,
        row.judged(found.median if found else None),
        f"`python -m bench {row.bench}`",
    ]


def wide(results: Results, told: Wide) -> str:
    head = [
        told.head,
        *(f"{column.what}, wanted {column.wanted}" if column.wanted else column.what for column in told.columns),
        "command",
    ]
    rows = []
    for bench, what in told.benches.items():
        reason = results.reason(bench)
        cells = []
        for column in told.columns:
            found = results.number(bench, column.number)
            judged = column.judged(found.median) if found else ""
            cells.append(ranged(found, column.unit) + (f": {judged}" if judged else ""))
        rows.append([what + (f" ({reason})" if reason else ""), *cells, f"`python -m bench {bench}`"])
    return table(head, rows)


def answers(results: Results) -> str:
    """By query and window: ours, the snapshot evaluator's, and how many times ours that is."""
    rows = []
    for bench, what in KINDS.items():
        for size in SIZES:
            row, times = [what, f"{size:,}"], None
            for percent in PERCENTS:
                ours, asked, ratio = (
                    results.number(bench, f"{name}_{size}_{percent}%")
                    for name in ("incremental_ms", "snapshot_ms", "times")
                )
                row.append(
                    f"{ranged(ours)} against {ranged(asked)}: {ranged(ratio)} ×" if ours and asked and ratio else NONE
                )
                times = ratio if percent == 1 else times
            least = 20 if size == 100_000 else None
            wanted = Row("", bench, "", "×", least=least)
            rows.append(
                [*row, wanted.wanted, wanted.judged(times.median if times else None), f"`python -m bench {bench}`"]
            )
    return table(["query", "window", "slide of 1 %, ms", "slide of 10 %, ms", "wanted at 1 %", "", "command"], rows)


def kernel(results: Results) -> str:
    """By function: µs in C and in numpy, and how many times the one the other takes. What came after it was measured is
    left out until it is again."""
    rows = []
    for name, case in CASES.items():
        ours, numpys, times = (results.number("kernel", f"{name}_{what}") for what in ("us", "numpy_us", "times"))
        if ours is None:
            continue
        rows.append(
            [case.what, ranged(ours, "µs"), ranged(numpys, "µs"), ranged(times, "×"), "`python -m bench kernel`"]
        )
    return table(["what", "in C", "in numpy", "that by the first", "command"], rows)


def changes(results: Results) -> str:
    """By window and slide: ms for an instant of the three ways, and what is kept of what was answered."""
    rows = []
    for size in SIZES:
        for percent in PERCENTS:
            place = f"{size}_{percent}%"
            ms, whole, compared, times, kb, all_kb = (
                results.number("changes", f"{name}_{place}")
                for name in ("changes_ms", "whole_ms", "compared_ms", "times", "changes_kb", "compared_kb")
            )
            rows.append(
                [
                    f"{size:,}, {percent} %",
                    ranged(ms, "ms"),
                    ranged(whole, "ms"),
                    ranged(compared, "ms"),
                    ranged(times, "×"),
                    ranged(kb, "KB"),
                    ranged(all_kb, "KB"),
                    "`python -m bench changes`",
                ]
            )
    return table(
        [
            "window, slide",
            "what is new",
            "the whole answer",
            "what is new, from two whole answers",
            "that by the first",
            "kept after an instant",
            "of whole answers",
            "command",
        ],
        rows,
    )


def laser(results: Results) -> str:
    """µs for a triple, by window and rate, and by window and number of rules: kept, and written out besides."""
    rates = [
        (f"{name}, {rate}/s", bench, f"{{}}_{{}}s_{rate}")
        for name, bench in (("◇", "laser-diamond"), ("self-join", "laser-self-join"))
        for rate in (200, 400, 800)
    ]
    rules = [(f"{count} rules", "laser-rules", f"{{}}_{count}_{{}}s") for count in (2, 4, 8, 16)]
    return "\n\n".join(
        [
            "By window and rate, all matches kept, and with all answers written at each instant (`python -m bench laser`):",
            _by_window(results, rates),
            "By window and number of rules, 200 triples/s in all (`python -m bench laser-rules`):",
            _by_window(results, rules),
        ]
    )


def _by_window(results: Results, columns: Sequence[tuple[str, str, str]]) -> str:
    """A column has a head, a benchmark, and what its numbers are called, by what is measured and by window."""
    rows = []
    for window in (1, 10, 20, 40, 80):
        found = [
            [results.number(bench, called.format(what, window)) for what in ("us", "answered_us")]
            for _, bench, called in columns
        ]
        rows.append(
            [
                f"{window} s",
                *(f"{ranged(kept)}, {ranged(written)}" if kept and written else NONE for kept, written in found),
            ]
        )
    return table(["window", *(head for head, _, _ in columns)], rows)


def slides(results: Results) -> str:
    """By the percentage of the edges that change: ms for a slide, by strategy."""
    rows = []
    for rate in ("0.1", "0.5", "1", "2.5", "5", "10", "13", "20"):
        found = [
            results.number(SLIDES, f"{name}_{rate}")
            for name in ("expiration", "recompute", "delete_rederive", "times_recompute", "times_delete_rederive")
        ]
        rows.append(
            [
                f"{rate} %",
                *(f"{ranged(number)} ms" if number else NONE for number in found[:3]),
                *(f"{ranged(number)} ×" if number else NONE for number in found[3:]),
            ]
        )
    head = [
        "edges that change",
        "expiration",
        "recompute",
        "delete and rederive",
        "recompute by expiration",
        "delete and rederive by expiration",
    ]
    return f"For a slide (`python -m bench {SLIDES}`):\n\n" + table(head, rows)


def break_even(results: Results) -> str:
    """From which change on it is as quick to recompute."""
    said = []
    for edges in (10_000, 100_000):
        bench = f"closure-slides-{edges}"
        lines = [line for line in results.lines(bench) if "break_even_percent" in line]
        found = [
            f"{value:.3g} %" if (value := line["break_even_percent"]) is not None else "not up to 20 %"
            for line in lines
        ]
        low = [line["break_even_percent"] for line in lines if line["break_even_percent"] is not None]
        said.append(
            [
                f"{edges:,} edges",
                ", ".join(found) or NONE,
                "above 20 %",
                met(not low) if lines else NONE,
                f"`python -m bench {bench}`",
            ]
        )
    return table(["recompute is as quick from", "in each run", "wanted", "", "command"], said)
