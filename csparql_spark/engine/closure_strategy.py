"""Which strategy maintains the closures of a query, and why. It is decided from its text and the rules as they are
written, once, so that whoever explains a query says what its group does.

    default graph   its unnamed windows together     ──┐
    each window     that has a name, by itself       ──┴─▶ how it moves ─▶ strategy, and a reason

    closures_of(query, rules)               # [Closure(window=None, strategy="expiration", because="its windows …")]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from csparql_spark.engine.dataset import graphs_of
from csparql_spark.engine.evaluator_choice import why_snapshot
from csparql_spark.entailment.maintain.strategies import AUTO, Movement, choose
from csparql_spark.language import ContinuousQuery, Window
from csparql_spark.language.rules.rule import Rule
from csparql_spark.windows.rule import moves_together, share_of


class Closure(NamedTuple):
    """A graph of a query that is closed: that of its unnamed windows, or of the `window` of a name."""

    window: str | None
    strategy: str
    because: str


def closures_of(query: ContinuousQuery, rules: Sequence[Rule], wanted: str = AUTO) -> list[Closure]:
    """The closures that are made for a query. Without rules, only what is maintained is moved from instant to instant
    in the same way; other queries have none."""
    if not query.entailment and why_snapshot(query) is not None:
        return []
    made = []
    for windows in closed_windows(query):
        choice = choose(rules, movement_of(query, windows), wanted)
        made.append(Closure(windows[0].name, choice.strategy.name, choice.because))
    return made


def closed_windows(query: ContinuousQuery) -> list[list[Window]]:
    """The windows that make up each graph, of those that have any."""
    return [[query.windows[place] for place in graph.places] for graph in graphs_of(query) if graph.places]


def movement_of(query: ContinuousQuery, windows: Sequence[Window]) -> Movement:
    """How the graph that these windows of a query make up moves."""
    if moves_together(query):
        return Movement(together=True)
    return Movement(together=False, share=share_of(windows, query.every))
