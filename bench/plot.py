"""Plots of results, as SVG: light, with text that stays text, the same bytes for the same numbers.

    PLOTS["closure"].there(results)                          # whether anything was measured that it shows
    draw("closure", results, Path("docs/closure.svg"))       # needs matplotlib; `python -m bench.book` draws them all

A plot takes what the last run of a benchmark says. What ran several times is drawn by its medians.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.peers.running import OURS, PEERS
from bench.peers.table import KEPT
from bench.peers.workloads import CELLS
from bench.results import Line, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY, RED, GREEN, PURPLE, LIGHT = (
    "#1f6fc8",
    "#c8791f",
    "#8a8f98",
    "#b8323a",
    "#2f8f5b",
    "#7a4fb0",
    "#c9ced6",
)
STRATEGIES = {
    "recompute": ("recompute", GREY),
    "delete_rederive": ("delete and rederive", ORANGE),
    "expiration": ("expiration", BLUE),
}
PERCENTS = (0.1, 0.5, 1, 2.5, 5, 10, 13, 20)
EDGES = (10_000, 100_000)
CROWD = (10, 100, 300, 1000, 2000)
ROLES = {
    "all_mb": ("all processes", "#30343a"),
    "jvm_mb": ("JVM", ORANGE),
    "worker_mb": ("Python workers", BLUE),
    "web_mb": ("web", GREEN),
    "engine_mb": ("engine", PURPLE),
    "daemon_mb": ("daemon", RED),
    "source_mb": ("source", GREY),
}
LATENCIES = {"p50_ms": ("p50", BLUE), "p90_ms": ("p90", ORANGE), "p99_ms": ("p99", RED)}


class Plot(NamedTuple):
    title: str  # what a reader sees who does not see it
    command: str
    draw: Callable[[Results, Figure], None]
    there: Callable[[Results], bool]
    size: tuple[float, float] = (7.5, 3.4)  # inches


def _closure(results: Results, figure: Figure) -> None:
    there = [edges for edges in EDGES if results.lines(f"closure-slides-{edges}")]
    panels = figure.subplots(1, len(there), sharey=True, squeeze=False)[0]
    for axes, edges in zip(panels, there):
        for name, (label, colour) in STRATEGIES.items():
            points = {
                rate: number.median
                for rate in PERCENTS
                if (number := results.number(f"closure-slides-{edges}", f"{name}_{rate}"))
            }
            axes.plot(list(points), list(points.values()), color=colour, marker="o", markersize=3.5, label=label)
        axes.set(xscale="log", yscale="log", title=f"{edges:,} edges", xlabel="edges that change at a slide, %")
        _ticks(axes.xaxis, (0.1, 0.5, 1, 2.5, 5, 10, 20))
        axes.yaxis.set_major_formatter("{x:g}")
    panels[0].set_ylabel("ms of processor time for a slide")
    panels[-1].legend(frameon=False, loc="lower right")


def _load(results: Results, figure: Figure) -> None:
    axes, lines = figure.subplots(), results.lines("load-series")
    minutes = _minutes(lines)
    for name, (label, colour) in LATENCIES.items():
        axes.plot(minutes, [line.get(name) for line in lines], color=colour, label=label)
    axes.set(xlabel="minutes", ylabel="instant → subscriber, ms", ylim=(0, None))
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))


def _overnight(results: Results, figure: Figure) -> None:
    axes, lines = figure.subplots(), results.lines("overnight-series")
    minutes = _minutes(lines)
    for name, (label, colour) in ROLES.items():
        if any(line.get(name) for line in lines):
            axes.plot(minutes, [line.get(name) for line in lines], color=colour, label=label)
    axes.set(xlabel="minutes", ylabel="memory, MB", ylim=(0, None))
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))


def _minutes(lines: list[Line]) -> list[float]:
    """When a line of a series was told; without that, in their order."""
    return [
        float(line["minute"]) if "minute" in line else float(line["second"]) / 60 if "second" in line else number
        for number, line in enumerate(lines)
    ]


def _peers(results: Results, figure: Figure) -> None:
    axes, labels = figure.subplots(), []
    for workload, cells in CELLS.items():
        for cell in cells:
            ratios = {
                peer: found.median
                for peer in PEERS
                if peer != OURS and (found := results.number(cell.bench, "ratio", peer))
            }
            others = {peer: ratio for peer, ratio in ratios.items() if peer != KEPT}
            if not others:
                continue
            row, best = len(labels), min(others, key=others.__getitem__)
            labels.append(f"{workload} {cell.size}, {cell.change}")
            axes.plot(list(others.values()), [row] * len(others), "o", color=LIGHT, markersize=5)
            axes.plot(others[best], row, "o", color=BLUE if others[best] >= 1 else RED, markersize=6)
            axes.annotate(
                best,
                (others[best], row),
                xytext=(-6, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=8,
            )
            if KEPT in ratios:
                axes.plot(ratios[KEPT], row, "|", color=GREEN, markersize=9, markeredgewidth=2)
    axes.axvline(1, color="#30343a", linewidth=1)
    axes.set(
        xscale="log",
        xlabel="time of a peer by ours: right of 1 we are ahead; | our matches, without the bytes",
        ylim=(len(labels) - 0.5, -0.5),
    )
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.margins(x=0.12)


def _crowd(results: Results, figure: Figure) -> None:
    axes = figure.subplots()
    series = {
        "tick → last answer, p50": ("crowd-", "p50_ms", BLUE),
        "p99": ("crowd-", "p99_ms", RED),
        "the groups' work alone": ("many-queries-", "ms_per_instant", GREY),
    }
    for label, (prefix, name, colour) in series.items():
        points = {count: number.median for count in CROWD if (number := results.number(f"{prefix}{count}", name))}
        if points:
            axes.plot(list(points), list(points.values()), color=colour, marker="o", markersize=4, label=label)
    axes.axhline(1000, color=LIGHT, linewidth=1)
    axes.annotate("STEP", (1, 1000), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8)
    axes.set(xscale="log", yscale="log", xlabel="queries", ylabel="ms for an instant")
    _ticks(axes.xaxis, CROWD)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.legend(frameon=False)


def _ticks(axis: object, places: tuple[float, ...]) -> None:
    axis.set_ticks(places, [f"{place:g}" for place in places])
    axis.set_ticks([], minor=True)


def _some(*benches: str) -> Callable[[Results], bool]:
    return lambda results: any("reason" not in line for bench in benches for line in results.lines(bench))


PLOTS: dict[str, Plot] = {
    "load": Plot("latency over the minutes of the load", "load", _load, _some("load-series")),
    "overnight": Plot("memory over the minutes of the soak", "overnight", _overnight, _some("overnight-series")),
    "crowd": Plot(
        "latency by the number of queries, both on log scales",
        "crowd",
        _crowd,
        _some(*(f"crowd-{count}" for count in CROWD)),
        (6, 3.2),
    ),
    "peers": Plot(
        "time of each peer by ours, on a log scale",
        "peers",
        _peers,
        lambda results: any(
            results.number(bench, "ratio", peer) for bench, peer in results.keys() if peer not in (None, OURS, KEPT)
        ),
        (7.5, 6.2),
    ),
    "closure": Plot(
        "ms for a slide, by how many edges change, both on log scales",
        "closure-slides",
        _closure,
        _some(*(f"closure-slides-{edges}" for edges in EDGES)),
        (8.4, 3.4),
    ),
}


def draw(name: str, results: Results, path: Path) -> None:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    plot = PLOTS[name]
    with matplotlib.rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": name,
            "font.family": "sans-serif",
            "font.size": 10,
            "lines.linewidth": 1.8,
            "axes.axisbelow": True,
        }
    ):
        figure = Figure(figsize=plot.size, layout="constrained", facecolor="white")  # a page may be dark
        plot.draw(results, figure)
        for axes in _axes(figure):
            axes.grid(color="#e3e6ea", linewidth=0.8)
            axes.spines[["top", "right"]].set_visible(False)
        FigureCanvasSVG(figure).print_svg(path, metadata={"Date": None})


def _axes(figure: Figure) -> Iterator[Axes]:
    return iter(figure.axes)
