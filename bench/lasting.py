"""Tables of what lasts: the load, the ramp, and the hour in which all turns over that can.

All of them print points of a series while they run, and one line with the verdict at their end; the tables are made of
the verdict, the plots of the series (`bench.plot`). Of several runs in a row the last verdict counts.
"""

from __future__ import annotations

from typing import NamedTuple

from bench.cells import NONE, met, short, table
from bench.results import Line, Results

COUNTED = {"checked": "answers checked against what they have to be", "cores": "cores that the server takes"}
FLAT = 1.1  # what the last minute may hold, by the first
RAMPS = {"ramp-rates": ("triples/s, 100 queries", "rate"), "ramp-crowds": ("queries, 1,000 triples/s", "queries")}


class Told(NamedTuple):
    what: str
    key: str
    unit: str = ""
    most: float | None = None


LOAD = [
    Told("queries", "queries"),
    Told("triples a second", "rate"),
    Told("subscribers", "subscribers"),
    Told("minutes", "minutes"),
    Told("instant → answer at a subscriber: p50", "p50_ms", "ms", 250),
    Told("p90", "p90_ms", "ms"),
    Told("p99", "p99_ms", "ms", 600),
    Told("the slowest", "max_ms", "ms"),
    Told("p99 of the worst minute", "worst_minute_p99_ms", "ms"),
    Told("triples that were acknowledged", "triples"),
    Told("answers that subscribers were told", "answers"),
    Told("answers checked against a replay of the log", "checked_answers"),
    Told("events checked against the answers", "checked_events"),
    Told("lost, wrong, or told twice", "broken_count", "", 0),
    Told("memory of all processes, first minute", "first_mb", "MB"),
    Told("last minute", "last_mb", "MB"),
    Told("the most", "most_mb", "MB"),
]


def load(results: Results) -> str:
    """What the load was, and what was seen of it."""
    told, rows, command = _verdict(results, "load"), [], "`python -m bench load`"
    for row in LOAD:
        value, wanted = told.get(row.key), f"≤ {short(row.most)} {row.unit}".strip() if row.most is not None else ""
        judged = "" if row.most is None else NONE if value is None else met(float(value) <= row.most)
        if row.key == "last_mb":
            wanted = f"≤ {FLAT:g} × the first"
            judged = met(float(value) <= FLAT * float(told["first_mb"])) if value is not None else NONE
        rows.append(
            [row.what, NONE if value is None else f"{short(float(value))} {row.unit}".strip(), wanted, judged, command]
        )
    return "\n\n".join(
        filter(None, [table(["what", "measured", "wanted", "", "command"], rows), _ended(results, "load")])
    )


def ramp(results: Results) -> str:
    """How far it went, what broke it, and how it came back."""
    rows = []
    for bench, (what, of) in RAMPS.items():
        told = _verdict(results, bench) or next(
            (
                line
                for line in results.lines("ramp")  # by the program itself
                if line.get("by") == bench.removeprefix("ramp-")
            ),
            {},
        )
        kept, broke, after = told.get(f"kept_{of}"), told.get(f"broke_{of}"), told.get("recovered_after_s")
        rows.append(
            [
                what,
                NONE if kept is None else f"{kept:,.0f}",
                f"{broke:,.0f}: {told['broke']}" if broke is not None else "nothing broke it" if told else NONE,
                _seen(told),
                f"{short(float(after))} s" if after is not None else NONE,
                met(not told["broken_count"]) if "broken_count" in told else NONE,
                f"`python -m bench {bench}`",
            ]
        )
    return table(
        [
            "ramp",
            "kept up with",
            "broke at",
            "what a user sees",
            "well again after",
            "nothing lost, wrong or told twice",
            "command",
        ],
        rows,
    )


def _seen(told: Line) -> str:
    seen = told.get("seen")
    if not isinstance(seen, dict):
        return NONE
    pushes = ", ".join(f"{count:,} × {status}" for status, count in seen["pushes"].items())
    text = f"console: {seen['console']}; timeline: {seen['timeline']}; pushes: {pushes}"
    return text.replace("|", "\\|").replace("\n", " ")


def overnight(results: Results) -> str:
    """What was held in the second sixth of the time and in its last, and whether that is flat."""
    head = ["what", "second sixth", "last sixth", "change", "the most", "wanted", "", "command"]
    command = "`python -m bench overnight`"
    verdicts = _verdict(results, "overnight").get("verdicts")
    if not isinstance(verdicts, dict):
        return table(head, [["memory of each process, sizes on the disk", *[NONE] * 4, "flat", NONE, command]])
    rows = []
    for name, verdict in sorted(verdicts.items()):
        what, unit = (
            (name.removesuffix("_mb").replace("_", " "), "MB") if name.endswith("_mb") else (name.replace("_", " "), "")
        )
        early, last, most = (f"{short(float(verdict[key]))} {unit}".strip() for key in ("early", "last", "most"))
        rows.append(
            [what, early, last, f"{verdict['percent']:+.1f} %", most, "flat", met(bool(verdict["flat"])), command]
        )
    return table(head, rows) + "\n\n" + _ended(results, "overnight")


def _verdict(results: Results, bench: str) -> Line:
    """The last line that says how it ended."""
    return next((line for line in reversed(results.lines(bench)) if "reason" not in line), {})


def _ended(results: Results, bench: str) -> str:
    """How it ended, and what was wrong, if anything was."""
    told, reason = _verdict(results, bench), results.reason(bench)
    if not told:
        return f"It has not come to its end: {reason}." if reason else ""
    said = [
        f"{what}: {short(float(told[key]))}" for key, what in COUNTED.items() if isinstance(told.get(key), (int, float))
    ]
    broken = told.get("broken")
    wrong = "; ".join(map(str, broken)) if isinstance(broken, list) else ""
    ended = f"**Wrong: {wrong}.**" if wrong else "Nothing was wrong." if told.get("holds") else ""
    return " ".join(filter(None, [f"{'; '.join(said)[:1].upper()}{'; '.join(said)[1:]}." if said else "", ended]))
