"""Which strategy maintains the closures of a query, and why; and who shares them. It is decided from its text and the
rules as they are written, once, so that whoever explains a query says what its group does.

    default graph   its unnamed windows together     ──┐
    each window     that has a name, by itself       ──┴─▶ how it moves ─▶ strategy, and a reason

Who sees the same facts later, or looks further back at them, shares a closure. Who sees others at the same instant does
not: windows over other streams, with other offsets, or looked at as of other steps; nor does who has begun to count at
another registration.

    closures_of(query, rules)               # [Closure(window=None, strategy="expiration", because="its windows …", …)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from csparql_spark.engine.dataset import Graph, graphs_of
from csparql_spark.engine.evaluator_choice import why_snapshot
from csparql_spark.entailment.maintain.strategies import AUTO, COUNT, INSTANTS, STEPS, Movement, choose
from csparql_spark.language import ContinuousQuery
from csparql_spark.language.durations import in_words
from csparql_spark.language.rules.rule import Rule
from csparql_spark.windows.rule import AlignedWindow, aligned, has_tags, is_timed, looks_of, replaced_of, share_of


class Closure(NamedTuple):
    """A graph of a query that is closed: that of its unnamed windows, or of the `window` of a name."""

    window: str | None
    strategy: str
    because: str
    shared_by: str


def closures_of(
    query: ContinuousQuery, rules: Sequence[Rule], wanted: str = AUTO, background: int = 0
) -> list[Closure]:
    """The closures that are made for a query, beside a background of so many triples. Without rules, only what is
    maintained is moved from instant to instant in the same way; other queries have none."""
    if not query.entailment and why_snapshot(query) is not None:
        return []
    made = []
    for graph in graphs_of(query):
        if graph.places:
            choice = choose(rules, movement_of(query, graph.places), wanted, background)
            shared_by = sharers_of(query, graph)
            made.append(Closure(query.windows[graph.places[0]].name, choice.strategy.name, choice.because, shared_by))
    return made


def movement_of(query: ContinuousQuery, places: Sequence[int]) -> Movement:
    """How the graph moves that the windows of a query make up that stand there in its text."""
    windows = [query.windows[place] for place in places]
    if not all(map(is_timed, windows)):
        if has_tags(query.windows):
            return Movement(COUNT)
        return Movement(None, share_of(windows, query.every), replaced_of(windows, query.every))
    return Movement(
        INSTANTS if all(window.every == 1 for window in aligned(looks_of(query, windows)).windows) else STEPS
    )


def sharers_of(query: ContinuousQuery, graph: Graph) -> str:
    """Who shares the closure of a graph that windows make up, in words."""
    looks = looks_of(query, [query.windows[place] for place in graph.places])
    if not all(map(is_timed, query.windows)):
        return "no other query: it counts what came since its registration"
    windows = aligned(looks).windows
    parts = [_lying(window) for window in windows]
    if graph.is_window and why_snapshot(query) is None:
        return f"all queries of its group with a named window over {parts[0]}, of any RANGE"
    several = "windows, of any RANGE," if len(windows) > 1 else "one window, of any RANGE,"
    return f"all queries of its group whose default graph has {several} over {' and '.join(parts)}"


def _lying(window: AlignedWindow) -> str:
    """How a window lies in its graph."""
    said = []
    if window.offset:
        said.append(f"{in_words(window.offset)} shorter")
    if window.every > 1:
        said.append(f"as of every {in_words(window.every)}")
    if window.phase:
        said.append(f"{in_words(window.phase)} more than a multiple of that")
    return f"<{window.stream}> ({', '.join(said)})" if said else f"<{window.stream}>"
