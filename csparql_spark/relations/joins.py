"""Joins: the ways to match some patterns in a graph, as columns, one for each variable that is still needed.

A plan begins with what is known already (the matches of one pattern in a delta, say, or nothing), and then takes
the other patterns one after the other: each step looks up all rows at once by what is bound. The next pattern is
always the one that is expected to give the fewest rows, so that small relations (a schema) come first.

    start = matched(pattern, delta)                     # Relation(columns by variable, tag)
    run(plan(shape, graph, ["?a", "?b"], 0), graph, start)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from csparql_spark.kernel.limits import UNBOUNDED, TooMuchAtOnce
from csparql_spark.relations.graph import Facts, Selection, TaggedGraph
from csparql_spark.relations.keys import BY_BOUND, PSO, Column, Permutation
from csparql_spark.relations.union import GraphUnion, UnionSelection

Node = int | str  # the id of a term, or a variable
Pattern = tuple[Node, Node, Node]
PLACES = "spo"


class Relation(NamedTuple):
    """Rows: a column of ids for each variable, and the tag of each row, joined of what it was made from."""

    columns: dict[str, np.ndarray]
    tag: np.ndarray


class Shape(NamedTuple):
    """What a plan is made for: the patterns to be matched, and the variables that are used after they are."""

    body: tuple[Pattern, ...]
    used: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One pattern, matched in the graph."""

    constants: dict[str, int]  # by place
    bound: dict[str, str]  # variables that have a column already, by place
    new: dict[str, str]  # by variable that gets a column: its place
    same: tuple[tuple[str, str], ...]  # places that have to be equal: a variable that occurs twice
    carried: tuple[str, ...]  # columns from before that are needed further on
    fresh: bool  # whether to look at the graph's fresh facts
    order: Permutation  # in which they are looked up


Plan = tuple[Step, ...]


def matched(pattern: Pattern, facts: Facts, known: bool = False) -> Relation:
    """The matches of one pattern in some facts. `known`: that all of them have its predicate, if it names one."""
    rows, columns = None, {}
    for place, (node, column) in enumerate(zip(pattern, facts)):
        if known and place == 1 and isinstance(node, int):
            continue
        if isinstance(node, str) and node not in columns:
            columns[node] = column
            continue
        hit = column == (columns[node] if isinstance(node, str) else node)
        rows = hit if rows is None else rows & hit
    if rows is None or rows.all():
        return Relation(columns, facts.tag)
    return Relation({name: column[rows] for name, column in columns.items()}, facts.tag[rows])


def plan(shape: Shape, graph: TaggedGraph, known: Iterable[str], done: int | None, all_fresh: bool = False) -> Plan:
    """The steps from bindings of the `known` variables to matches of the whole body. `done`: the place in the body of
    the pattern that they come from; those before it then leave out what is fresh, unless `all_fresh`."""
    body, order = shape.body, in_order(shape.body, graph, known, done)
    steps, needed = [], set(shape.used)
    for place, before in reversed(order):
        steps.append(_step(body[place], before, needed, all_fresh or done is None or place > done))
        needed |= {node for node in body[place] if isinstance(node, str)}
    return tuple(reversed(steps))


def in_order(
    body: tuple[Pattern, ...], graph: TaggedGraph, known: Iterable[str], done: int | None
) -> list[tuple[int, frozenset[str]]]:
    """The places of the other patterns in the order in which they are taken, each with what is known before it."""
    known, order = set(known), []
    waiting = [place for place in range(len(body)) if place != done]
    while waiting:
        next_ = min(waiting, key=lambda place: _expected(body[place], known, graph)) if len(waiting) > 1 else waiting[0]
        waiting.remove(next_)
        order.append((next_, frozenset(known)))
        known.update(node for node in body[next_] if isinstance(node, str))
    return order


def _expected(pattern: Pattern, known: set[str], graph: TaggedGraph) -> float:
    """A guess at how many rows there are to each that is there already."""
    s, p, o = (isinstance(node, int) or node in known for node in pattern)
    size = graph.count(pattern[1]) if isinstance(pattern[1], int) else graph.rows / (8 if p else 1)
    # Constants alone do not join: what is matched with them is paired with every row.
    linked = any(isinstance(node, str) and node in known for node in pattern)
    return (size + 1) ** (1 / (1 + s + o)) * (1 if linked else 4)


def _step(pattern: Pattern, before: frozenset[str], needed: set[str], fresh: bool) -> Step:
    constants: dict[str, int] = {}
    bound: dict[str, str] = {}
    first: dict[str, str] = {}
    same: list[tuple[str, str]] = []
    for place, node in zip(PLACES, pattern):
        if isinstance(node, int):
            constants[place] = node
        elif node in before:
            bound[place] = node
        elif node in first:
            same.append((first[node], place))
        else:
            first[node] = place
    return Step(
        constants,
        bound,
        {name: place for name, place in first.items() if name in needed},
        tuple(same),
        tuple(sorted(before & needed)),
        fresh,
        BY_BOUND["".join(sorted((*constants, *bound)))] if constants or bound else PSO,
    )


def run(
    steps: Sequence[Step],
    graph: TaggedGraph | GraphUnion,
    start: Relation,
    most: int = UNBOUNDED,
    pairs: int = UNBOUNDED,
) -> Relation:
    """Raises `TooMuchAtOnce`, before there is room made for them, where a step comes across more than `most` rows, or
    pairs each of several rows with each of several others, and there are more than `pairs`."""
    for step in steps:
        if not len(start.tag):
            break
        start = _extended(step, graph, start, most, pairs)
    return start


def _extended(step: Step, graph: TaggedGraph | GraphUnion, rows: Relation, most: int, pairs: int) -> Relation:
    columns, tag = rows
    bound: dict[str, Column] = {**step.constants}
    for place, name in step.bound.items():
        bound[place] = columns[name]
    found: Selection | UnionSelection = graph.look(step.order, bound, step.fresh, most)
    for one, other in step.same:
        found = found.where(found.column(one) == found.column(other))
    index = found.index
    if not step.bound and len(tag) != 1:  # each row with each match
        total = len(tag) * len(found)
        if total > most or total > pairs and len(found) > 1:
            raise TooMuchAtOnce
        index = np.repeat(np.arange(len(tag)), len(found))
        found = found.where(np.tile(np.arange(len(found)), len(tag)))
    found_columns = {name: columns[name][index] for name in step.carried}
    for name, place in step.new.items():
        found_columns[name] = found.column(place)
    return Relation(found_columns, graph.algebra.join(tag[index], found.tag))
