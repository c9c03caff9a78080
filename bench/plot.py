"""The plot of the closure benchmark: what a slide costs, by how much of the edges changes.

    python -m bench closure-slides > results.jsonl
    python -m bench.plot results.jsonl docs/closure.svg
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

COLOURS = {"recompute": "#8a8f98", "delete_rederive": "#c8791f", "expiration": "#1f6fc8"}
NAMES = {"recompute": "recompute", "delete_rederive": "delete and rederive", "expiration": "expiration"}
TICKS = (0.1, 0.5, 1, 2.5, 5, 10, 20)
BENCH = "closure-slides-"


def curves(lines: list[str]) -> dict[int, dict[str, dict[float, float]]]:
    """From lines of JSON: by number of edges and by strategy, ms by percentage. The last run of each counts."""
    found = {}
    for line in lines:
        numbers = json.loads(line)
        if numbers["bench"].startswith(BENCH):
            found[numbers["edges"]] = {name: {float(key.removeprefix(f"{name}_")): ms for key, ms in numbers.items()
                                              if key.startswith(f"{name}_")} for name in COLOURS}
    return found


def draw(found: Mapping[int, Mapping[str, Mapping[float, float]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "closure", "font.family": "sans-serif",
                                "font.size": 11})
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(found), figsize=(4.6 * len(found), 3.6), sharey=True, squeeze=False,
                                     layout="constrained")
    for axes, edges in zip(panels[0], sorted(found)):
        for name, points in found[edges].items():
            axes.plot(points.keys(), points.values(), color=COLOURS[name], marker="o", markersize=4, linewidth=2,
                      label=NAMES[name])
        axes.set(xscale="log", yscale="log", title=f"{edges:,} edges", xlabel="edges that change at a slide, %")
        axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(color="#e3e6ea", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_ylabel("ms of processor time for a slide")
    panels[0][-1].legend(frameon=False, loc="lower right")
    figure.patch.set_facecolor("white")              # a page may be dark
    figure.savefig(path, format="svg", metadata={"Date": None})


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("say where the results are and where the plot goes: "
                 "python -m bench.plot results.jsonl docs/closure.svg")
    results, path = map(Path, sys.argv[1:])
    found = curves(results.read_text().splitlines())
    if not found:
        sys.exit(f"{results} has no line of a benchmark {BENCH}…: "
                 f"make some with python -m bench closure-slides > {results}")
    try:
        draw(found, path)
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        sys.exit("matplotlib was not found: install it with pip install --editable '.[bench]'")


if __name__ == "__main__":
    main()
