"""Shared templates: patterns that differ in their constants only, and what is new for all of them found together.

A crowd asks the same of different things: `?s :in :room7 ; :value ?v`, `?s :in :room8 ; :value ?v`, … Each keeps its
own matches. What a move adds to them, and what it takes from them, is looked for once, with variables in the place of
the constants, and then parted:

    :room7 ─┐                              ┌─▶ new matches of the member with :room7
    :room8 ─┼─▶ ?s :in ?0 ; :value ?v ─────┤
     …     ─┘   (?0: a constant of some    └─▶ … with :room8
                 member)

    template, names, constants = generalized(patterns)         # None, if there is nothing in it to be shared
    family.join(member)                                        # until nobody holds the member any more
    family.shares(member, names, span, Signed(ADDED, facts))   # bindings; None: the member has to look for itself

Invariant: what a member gets is what it would have found. It has to look for itself where the members are few, and
where more rows than all of them would come across on their own have to be gone through: where constants are what makes
a pattern cheap.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from csparql_spark.answers.patterns import Pattern, is_variable
from csparql_spark.kernel.limits import TooMuchAtOnce
from csparql_spark.kernel.sort import distinct, order_of, ordered
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.changes import REMOVED, Signed
from csparql_spark.relations.graph import TaggedGraph
from csparql_spark.relations.joins import Node, Plan, Relation, Shape, matched, plan, run
from csparql_spark.relations.moving import Moving
from csparql_spark.relations.union import GraphUnion

MANY = 8  # members that are worth it
MOST_CONSTANTS = 2  # of a member: as many ids as fit into one number
ID_BITS = 31
PASSED_OVER = 50  # moves for which nothing is tried again after it was too much
LEAST_ROWS = 1_000  # so many are gone through, however little has come
NOWHERE = slice(0, 0)


class TemplateSpan(NamedTuple):
    """From where to where a graph has moved in its journal, and what holds no more there."""

    first: int
    last: int
    now: int


class TemplateMember(Protocol):
    """Who keeps the matches of a pattern of the family."""

    variables: tuple[str, ...]
    constants_apart: tuple[int, ...]  # the ids of its constants, in the order of the template


class Generalized(NamedTuple):
    template: tuple[Pattern, ...]  # with `?=0`, … for constants, and other names for variables
    names: dict[str, str]  # the variable in the template for each variable
    constants: tuple[str, ...]


class TemplateMatches(NamedTuple):
    """Matches of the template, and where those of a member are among them, by the number that its constants
    make."""

    places: dict[int, slice]
    rows: Relation


def generalized(patterns: tuple[Pattern, ...]) -> Generalized | None:
    names: dict[str, str] = {}
    constants: dict[str, str] = {}

    def general(node: str, place: int) -> str:
        if is_variable(node):
            return names.setdefault(node, f"?{len(names)}")
        return node if place == 1 else constants.setdefault(node, f"?={len(constants)}")

    template = tuple((general(s, 0), general(p, 1), general(o, 2)) for s, p, o in patterns)
    if not 0 < len(constants) <= MOST_CONSTANTS or not names:
        return None
    return Generalized(template, names, tuple(constants))


class TemplateFamily:
    def __init__(self, moving: Moving, dictionary: TermDictionary, template: tuple[Pattern, ...]) -> None:
        self._moving, self._dictionary, self._template = moving, dictionary, template
        nodes = dict.fromkeys(node for pattern in template for node in pattern if is_variable(node))
        self._constants = sorted(node for node in nodes if node.startswith("?="))
        self._used = tuple(nodes)
        self._members: weakref.WeakSet[TemplateMember] = weakref.WeakSet()
        self.restart()

    def restart(self) -> None:
        """Ids mean other terms now."""
        predicates = list(dict.fromkeys(pattern[1] for pattern in self._template if not is_variable(pattern[1])))
        ids = dict(zip(predicates, self._dictionary.encode(predicates).tolist(), strict=True))
        self._body = tuple((s, ids.get(p, p), o) for s, p, o in self._template)
        self._plans: dict[tuple[int, int, tuple[tuple[str, int], ...]], Plan] = {}
        self._found: dict[int, tuple[TemplateSpan, TemplateMatches | None]] = {}  # by sign
        self._passes = 0

    def join(self, member: TemplateMember) -> None:
        self._members.add(member)

    def shares(
        self, member: TemplateMember, names: dict[str, str], span: TemplateSpan, changed: Signed
    ) -> Relation | None:
        """What a member gets of what a move has added, or taken back: the matches with that, by its own variables; some
        may be there more than once, and of those that go some may never have been. `span` says from where to where the
        graph has moved, `names` how its variables are called in the template."""
        known = self._found.get(changed.sign)
        if known is None or known[0] != span:
            known = self._found[changed.sign] = span, self._look(changed)
        if known[1] is None:
            return None
        places, rows = known[1]
        place = places.get(_number(member.constants_apart), NOWHERE)
        return Relation({name: rows.columns[names[name]][place] for name in member.variables}, rows.tag[place])

    def _look(self, changed: Signed) -> TemplateMatches | None:
        if self._passes:
            self._passes -= 1
            return None
        members = list(self._members)
        if len(members) < MANY:
            return None
        wanted = [distinct(ordered(column)) for column in np.array([member.constants_apart for member in members]).T]
        alike = {name: int(ids[0]) for name, ids in zip(self._constants, wanted, strict=True) if len(ids) == 1}

        def ground(node: Node) -> Node:
            return alike.get(node, node) if isinstance(node, str) else node

        body = tuple((ground(s), ground(p), ground(o)) for s, p, o in self._body)
        shape = Shape(body, tuple(name for name in self._used if name not in alike))
        some = {
            name: _mask(ids, len(self._dictionary))
            for name, ids in zip(self._constants, wanted, strict=True)
            if name not in alike
        }
        most = max(LEAST_ROWS, changed.facts.size * len(members) // 4)
        found = []
        for place in range(len(body)):
            rows = self._joined(shape, place, changed, some, most, tuple(sorted(alike.items())))
            if rows is None:
                self._passes = PASSED_OVER
                return None
            found.append(rows)
        return self._parted(found, alike)

    def _joined(
        self,
        shape: Shape,
        place: int,
        changed: Signed,
        some: dict[str, np.ndarray],
        most: int,
        alike: tuple[tuple[str, int], ...],
    ) -> Relation | None:
        """The matches that begin with one of the patterns in what has changed; None if there is too much to go
        through."""
        pattern, facts = shape.body[place], changed.facts
        graph: TaggedGraph | GraphUnion = self._moving.graph
        if changed.sign == REMOVED:
            gone = TaggedGraph()
            gone.add([facts])
            graph = GraphUnion(self._moving.graph, gone)
        if isinstance(pattern[1], int):
            facts = facts.where(facts.p == pattern[1])
        rows = _wanted(matched(pattern, facts), pattern, some)
        if not len(rows.tag):
            return rows
        for step in self._steps(shape, place, alike):
            try:
                rows = run((step,), graph, rows, most)
            except TooMuchAtOnce:
                return None
            rows = _wanted(rows, step.new, some)
            if not len(rows.tag):
                break
        return rows

    def _steps(self, shape: Shape, place: int, alike: tuple[tuple[str, int], ...]) -> Plan:
        key = place, self._moving.graph.rows.bit_length() // 2, alike
        if key not in self._plans:
            if len(self._plans) > 100:
                self._plans.clear()
            known = [node for node in shape.body[place] if isinstance(node, str)]
            self._plans[key] = plan(shape, self._moving.graph, known, place, all_fresh=True)
        return self._plans[key]

    def _parted(self, found: list[Relation], alike: dict[str, int]) -> TemplateMatches:
        tag = np.concatenate([rows.tag for rows in found])
        columns = {
            name: np.full(len(tag), alike[name])
            if name in alike
            else np.concatenate([rows.columns[name] for rows in found if len(rows.tag)] or [tag])
            for name in self._used
        }
        numbers = columns[self._constants[0]].astype(np.int64)
        for name in self._constants[1:]:
            numbers = (numbers << ID_BITS) | columns[name]
        order = order_of(numbers)
        sorted_ = numbers[order]
        starts = np.flatnonzero(np.diff(sorted_, prepend=-1))  # numbers are never negative
        ends = [*starts[1:].tolist(), len(order)]
        places = dict(zip(sorted_[starts].tolist(), map(slice, starts.tolist(), ends), strict=True))
        return TemplateMatches(
            places,
            Relation(
                {name: column[order] for name, column in columns.items() if name not in self._constants}, tag[order]
            ),
        )


def _number(ids: Sequence[int]) -> int:
    """One number for some ids."""
    number = 0
    for id in ids:
        number = (number << ID_BITS) | id
    return number


def _mask(ids: np.ndarray, length: int) -> np.ndarray:
    mask = np.zeros(max(length, int(ids[-1]) + 1), dtype=bool)
    mask[ids] = True
    return mask


def _wanted(rows: Relation, new: Sequence[object] | dict[str, str], some: dict[str, np.ndarray]) -> Relation:
    """The rows in which what stands for constants is a constant of some member."""
    for name, mask in some.items():
        if name in new and len(rows.tag):
            inside = mask[rows.columns[name]]
            if not inside.all():
                rows = Relation({one: column[inside] for one, column in rows.columns.items()}, rows.tag[inside])
    return rows
