"""The book: docs/performance.md, whose tables and plots are made of results, and whose prose is written by hand.

What is made stands between two marks, and nothing else is touched:

    <!-- bench:crowd -->
    … tables, made anew each time …
    <!-- /bench -->

    python -m bench.book bench/results/*.jsonl                                  the page, and the plots beside it
    python -m bench.book quick.jsonl --page build/performance.md                another page, with the same prose

The same results make the same page. What was not measured is a dash beside the command that measures it; a plot of
nothing is taken away. Numbers of small sizes (`--quick`) are for a page of their own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click

from bench import tables
from bench.cells import NONE, table
from bench.lasting import RAMPS, load, overnight, ramp
from bench.machine import TREE
from bench.peers import table as peers
from bench.plot import PLOTS, draw
from bench.results import BadLine, Line, Results

PAGE = TREE / "docs" / "performance.md"
REGION = re.compile(r"(<!-- bench:(?P<name>[\w-]+) -->\n).*?(<!-- /bench -->)", re.DOTALL)
SHAPE = {
    "model": "processor {}",
    "cores": "{} cores",
    "memory_gb": "{} GB of memory",
    "system": "{}",
    "kernel": "kernel {}",
    "python": "Python {}",
    "java": "Java {}",
    "node": "Node {}",
    "pyspark": "PySpark {}",
    "numpy": "numpy {}",
    "pyarrow": "pyarrow {}",
    "pyoxigraph": "pyoxigraph {}",
}


Region = Callable[[Results], str]


def _ours(*told: Sequence[tables.Row] | tables.Wide, plot: str | None = None, more: Region | None = None) -> Region:
    """Tables of our own numbers."""
    benches = {
        bench for one in told for bench in (one.benches if isinstance(one, tables.Wide) else [row.bench for row in one])
    }

    def region(results: Results) -> str:
        pieces = [
            tables.wide(results, one) if isinstance(one, tables.Wide) else tables.plain(results, one) for one in told
        ]
        return "\n\n".join(
            [
                *pieces,
                *([more(results)] if more else []),
                made(results, benches),
                *([picture(results, plot)] if plot else []),
            ]
        )

    return region


def _answers(results: Results) -> str:
    return "\n\n".join([tables.answers(results), made(results, set(tables.KINDS))])


def _kernel(results: Results) -> str:
    return "\n\n".join([tables.kernel(results), tables.plain(results, tables.KERNEL), made(results, {"kernel"})])


def _closure(results: Results) -> str:
    return "\n\n".join(
        [
            tables.slides(results),
            tables.plain(results, tables.CLOSURE),
            tables.break_even(results),
            made(results, {row.bench for row in tables.CLOSURE} | {"closure-slides-10000"}),
            picture(results, "closure"),
        ]
    )


def _peers(results: Results) -> str:
    benches = {bench for bench, peer in results.keys() if peer}
    return "\n\n".join([*peers.tables(results), made(results, benches), picture(results, "peers")])


def _lasting(told: Region, name: str) -> Region:
    return lambda results: "\n\n".join([told(results), made(results, {name, f"{name}-series"}), picture(results, name)])


REGIONS: dict[str, Region] = {
    "machine": lambda results: machines(results),
    "user": _ours(tables.LATENCY, tables.USER),
    "load": _lasting(load, "load"),
    "ramp": lambda results: "\n\n".join([ramp(results), made(results, RAMPS)]),
    "overnight": _lasting(overnight, "overnight"),
    "crowd": _ours(tables.CROWD, tables.MANY, plot="crowd"),
    "registrations": _ours(tables.ROUTED, tables.REGISTRATIONS, tables.REGISTRATION_PARTS),
    "inside": _ours(tables.INSIDE),
    "answers": _answers,
    "changes": lambda results: "\n\n".join([tables.changes(results), made(results, {"changes"})]),
    "laser": _ours(tables.LASER, more=tables.laser),
    "subscribers": _ours(tables.SUBSCRIBERS),
    "ahead": lambda results: "\n\n".join([peers.ahead(results), peers.seen(results)]),
    "peers": _peers,
    "closure": _closure,
    "windows": _ours(tables.WINDOWS),
    "terms": _ours(tables.TERMS),
    "kernel": _kernel,
}


def written(page: str, results: Results) -> str:
    """The page with its regions made anew."""
    there = [found["name"] for found in REGION.finditer(page)]
    if wrong := sorted(set(there) ^ set(REGIONS)) or sorted(name for name in REGIONS if there.count(name) > 1):
        raise click.ClickException(
            f"the page and the program have different regions: {', '.join(wrong)}; the page has "
            "to have <!-- bench:NAME --> … <!-- /bench --> once for each of " + ", ".join(REGIONS)
        )
    return REGION.sub(lambda found: f"{found[1]}{REGIONS[found['name']](results).rstrip()}\n{found[3]}", page)


def picture(results: Results, name: str) -> str:
    plot = PLOTS[name]
    if plot.there(results):
        return f"![{plot.title}]({name}.svg)"
    return f"The plot, {plot.title}: {NONE} (`python -m bench {plot.command}`)"


def made(results: Results, benches: Iterable[str]) -> str:
    """When, under which load and of which commit the numbers above are."""
    lines = [line for line in results.every() if line["bench"] in set(benches)]
    if not lines:
        return "Nothing of this was measured yet."
    runs = {str(line.get("run", "")) for line in lines}
    commits = {str(commit) for run in runs if (commit := results.machines.get(run, {}).get("commit"))}
    return (
        f"*Measured {_span(lines)}, load average {_loads(lines)}"
        + (f", commit {', '.join(sorted(commits))}" if commits else "")
        + ".*"
    )


def machines(results: Results) -> str:
    """The machines, and the runs on them that count."""
    runs: dict[str, list[Line]] = {}
    for line in results.every():
        runs.setdefault(str(line.get("run", "")), []).append(line)
    if not runs:
        return "Nothing was measured yet: `make bench`."
    shapes: dict[str, str] = {}
    for run in runs:
        machine = results.machines.get(run, {})
        shapes[run] = ", ".join(text.format(machine[name]) for name, text in SHAPE.items() if machine.get(name))
    texts = list(dict.fromkeys(shapes.values()))
    rows = [
        [
            _span(lines),
            str(texts.index(shapes[run]) + 1),
            _loads(lines),
            str(results.machines.get(run, {}).get("commit") or NONE),
            _parts(lines),
        ]
        for run, lines in runs.items()
    ]
    told = [f"{number}. {text or 'not told'}" for number, text in enumerate(texts, 1)]
    quick = "**A quick run: small sizes, of which some tables know nothing. Believe no number of it.**\n\n"
    return (
        (quick if _quick(results) else "")
        + "\n".join(told)
        + "\n\n"
        + table(["run", "machine", "load average", "commit", "parts"], rows)
    )


def _parts(lines: list[Line]) -> str:
    commands = dict.fromkeys(str(line.get("command") or line["bench"]) for line in lines)
    names = [command.removeprefix("python -m ").removesuffix(" --quick") for command in commands]
    peers_of = [name for name in names if name.startswith("bench.peers")]
    return ", ".join(
        [
            *(f"`{name.removeprefix('bench ')}`" for name in names if name not in peers_of),
            *([f"{len(peers_of)} cells of `bench.peers`"] if peers_of else []),
        ]
    )


def _span(lines: list[Line]) -> str:
    instants = sorted(str(line["at"]) for line in lines if "at" in line)
    if not instants:
        return "at an unknown time"
    first, last = (instant.replace("T", " ")[:16] for instant in (instants[0], instants[-1]))
    return f"{first} UTC" if first == last else f"{first} to {last[11:] if first[:10] == last[:10] else last} UTC"


def _loads(lines: list[Line]) -> str:
    loads = [float(line[name]) for line in lines for name in ("load_before", "load_after") if name in line]
    return f"{min(loads):g} to {max(loads):g}" if loads else NONE


def _quick(results: Results) -> bool:
    return any(line.get("quick") for line in results.every())


def published(results: Results, page: Path, prose: Path = PAGE) -> None:
    """The page and its plots."""
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(written((page if page == prose else prose).read_text(encoding="utf-8"), results), encoding="utf-8")
    for name, plot in PLOTS.items():
        path = page.parent / f"{name}.svg"
        if plot.there(results):
            draw(name, results, path)
        else:
            path.unlink(missing_ok=True)


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--page",
    type=click.Path(dir_okay=False, path_type=Path),
    default=PAGE,
    help="Where the page is written, with the prose of docs/performance.md.",
)
def main(results: tuple[Path, ...], page: Path) -> None:
    """Write the page and its plots from RESULTS: one or more files of lines."""
    try:
        found = Results.of(results)
    except BadLine as error:
        raise click.ClickException(str(error)) from error
    if _quick(found) and page.resolve() == PAGE:
        raise click.ClickException(
            "these are numbers of a quick run, which docs/performance.md does not tell: "
            "give them a page of their own with --page"
        )
    try:
        published(found, page)
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise click.ClickException("matplotlib was not found: pip install --editable '.[bench]'") from error
    click.echo(f"written: {page}")


if __name__ == "__main__":
    sys.exit(main())
