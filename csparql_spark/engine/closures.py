"""Closures: the graphs of a group's queries with all that follows from them under the group's rules, if it has any.

Windows that only move on are closed once for all queries whose windows differ by a constant offset. A fact's tag is its
stamp, less what its window is shorter than the widest; what follows has the earliest tag of its premises:

    RANGE 4s         ────────[────]t          tags later than t − 4s
    RANGE 9s         ───[─────────]t          tags later than t − 9s: the same facts, looked at from further back

Other windows (that count, or are seen as of another instant than the rest) are closed by what comes and goes in them.
Triples of a stream that no member asks for, and no rule, do not go into what is closed (see `answers.semijoin_filter`).
What is left out depends on who the members are, and what they say does not: when one comes that asks for more, windows
are closed anew from the content. The background is closed once. What is in each graph says `dataset`.

    closures = Closures(content, number, members)
    graphs = closures.closed(member, windows, moment, background)          # by name; None: the default graph
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from csparql_spark.answers import semijoin_filter
from csparql_spark.answers.incremental import Shared
from csparql_spark.answers.matches import renamed
from csparql_spark.answers.patterns import Pattern
from csparql_spark.answers.semijoin_filter import Groups, SemijoinFilter, narrow
from csparql_spark.answers.snapshot import merged
from csparql_spark.engine.closure_strategy import closed_windows, movement_of
from csparql_spark.engine.dataset import Graph, entailed, graphs_of
from csparql_spark.engine.member import Member
from csparql_spark.engine.moment import Moment
from csparql_spark.entailment.evaluate.bounds import TooMuchDerived
from csparql_spark.entailment.maintain.strategies import AUTO, Movement, choose
from csparql_spark.entailment.maintain.strategy import Materialization
from csparql_spark.entailment.rules.preparing import Columns, Prepared, as_they_are, closed_once, prepare
from csparql_spark.entailment.rules.regimes import rules_of
from csparql_spark.language import Window
from csparql_spark.language.rules.rule import Atom, Rule
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.rows import Triples
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.windows.content import Content, Elements
from csparql_spark.windows.rule import (
    BEGINNING_OF_TIME,
    aligned,
    logged_after,
    moves_together,
    oldest_tag,
    stamp_of,
    tags_of,
)

TaggedColumns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
Background = Callable[[], Columns]  # looked at only where something has to be prepared
Outcome = TypeVar("Outcome")


class Slide(NamedTuple):
    """Windows that move together: their streams, each with how much shorter its window is than the widest."""

    streams: tuple[tuple[str, int], ...]
    since: int


class Contradicted(Exception):
    """A stream says something about the schema that was presumed to be known."""


class Closures:
    def __init__(self, content: Content, number: Callable[[str], int], members: Mapping[int, Member]) -> None:
        self._content, self._number, self._members = content, number, members
        self._texts: dict[str, str] = {}  # users' rule files
        self._digests: dict[str, bytes] = {}  # of the background graphs
        self.maintenance = AUTO  # the strategy that somebody asks for
        self._rules: tuple[Rule, ...] = ()  # as they are written: by them a strategy is chosen
        self._prepared: Prepared | None = None
        self._asked: set[Atom] | None = set()  # what the closures are made for: under rules,
        self._read: Groups | None = frozenset()  # and without; the members who ask for no more than that:
        self._covered: set[int] = set()
        self._schema_moves = False  # the streams speak about the schema: presume nothing
        self._sliding: dict[Slide, list[Sliding]] = {}
        self._replaced: dict[tuple[tuple[Window, ...], int], Replaced] = {}
        self._reach: dict[tuple[tuple[str, int], ...], int] = {}
        content.dictionary.holders.append(self)

    def maintain(self, strategy: str) -> None:
        """By the strategy of this name, where it can do what is needed."""
        if strategy != self.maintenance:
            self.maintenance = strategy
            self.restart()

    def set_rules(self, name: str, text: str) -> None:
        self._texts[name] = text
        self.restart()

    def set_background(self, graph: str, payload: bytes) -> None:
        self._digests[graph] = hashlib.sha256(payload).digest()
        self.restart()

    def restart(self) -> None:
        """Forget all closures: each is made anew from the content when somebody looks. This is the one door for all
        that they were made for and is so no more: rules, background, a presumed schema, what members ask for."""
        self._prepared = None
        self._sliding.clear()
        self._replaced.clear()

    def changed(self) -> None:
        """Members have come or gone."""
        self._reach.clear()
        gone = self._covered - self._members.keys()
        self._covered -= gone
        if gone and self._read is None and self._prepared is not None and not self._prepared.rules:
            self._narrow()

    def _narrow(self) -> None:
        """So much was asked that any triple might matter. When only half as much is, it pays again to look at what."""
        living = [member for member in self._members.values() if member.failed is None]
        if 0 < len(living) <= semijoin_filter.MOST_PATTERNS:
            read = _read_by(living)
            if read is not None and 2 * sum(map(len, read)) <= semijoin_filter.MOST_PATTERNS:
                self.restart()

    def closed(
        self, member: Member, windows: list[Elements], moment: Moment, background: Background
    ) -> dict[str | None, Columns]:
        """The graphs of a member that entail, by their names. `windows`: what its windows hold."""
        return self._presuming(
            member,
            background,
            lambda prepared: {
                graph.name: self._entailed(prepared, member, graph, windows, moment)
                for graph in graphs_of(member.query)
                if graph.entails
            },
        )

    def sliding(self, member: Member, moment: Moment, background: Background) -> tuple[Sliding, int]:
        """The closed default graph of a member whose windows move together, and its widest RANGE: what is tagged later
        than the instant minus that holds for the member."""
        return self._presuming(
            member, background, lambda prepared: self._slid_for(prepared, list(member.windows), moment)
        )

    def _presuming(self, member: Member, background: Background, close: Callable[[Prepared], Outcome]) -> Outcome:
        """Close for all members; if that is too much, for this one alone: what the others ask for is no reason for it
        to fail. In what was begun then, part of what follows is missing."""
        try:
            return self._closed_for(member, background, close, alone=False)
        except TooMuchDerived:
            self.restart()
        try:
            return self._closed_for(member, background, close, alone=True)
        except TooMuchDerived:
            self.restart()
            raise

    def _closed_for(
        self, member: Member, background: Background, close: Callable[[Prepared], Outcome], *, alone: bool
    ) -> Outcome:
        """Close under the rules that presume a schema, and once more under the rules as they are if they presumed
        wrongly."""
        try:
            return close(self._ready(member, background, alone))
        except Contradicted:
            self._schema_moves = True
            self.restart()
            return close(self._ready(member, background, alone))

    def _entailed(
        self, prepared: Prepared, member: Member, graph: Graph, windows: list[Elements], moment: Moment
    ) -> Columns:
        """A graph that entails."""
        if not graph.places:
            return prepared.background
        s, p, o, tag = self._closure(prepared, member, graph, windows, moment)
        own = tag < ALWAYS
        return entailed(
            graph, merged(windows[place][:3] for place in graph.places), (s, p, o), lambda: (s[own], p[own], o[own])
        )

    def _ready(self, member: Member, background: Background, alone: bool) -> Prepared:
        """What closures are made of; they are made anew for a member that asks for more than those before."""
        if self._prepared is None or member.id not in self._covered and not self._covers(member):
            others = () if alone else self._members.values()
            living = [other for other in (*others, member) if other.failed is None]
            patterns = [other.asked for other in living if other.asked is not None]
            self._asked = set().union(*patterns) if len(patterns) == len(living) else None
            self._read = _read_by(living)
            self.restart()
            self._prepared = self._prepare(member, background())
            self._covered.clear()
        self._covered.add(member.id)
        return self._prepared

    def _covers(self, member: Member) -> bool:
        if member.query.entailment:
            return self._asked is None or member.asked is not None and member.asked <= self._asked
        return self._read is None or member.plan.reads is not None and self._read.issuperset(_named_alike(member))

    def _prepare(self, member: Member, background: Columns) -> Prepared:
        if not member.query.entailment:
            self._rules = ()
            return as_they_are((), background)
        rules = self._rules = rules_of(member.query.entailment, self._texts)
        dictionary = self._content.dictionary
        name = rules, tuple(self._digests.get(graph, b"") for graph in member.query.graphs)
        facts = closed_once(name, rules, dictionary, background)
        return as_they_are(rules, facts) if self._schema_moves else prepare(rules, dictionary, facts, self._asked)

    def _wanted(self, prepared: Prepared) -> Groups | None:
        """What is made of triples that come: the patterns that are read, and what rules look at."""
        rules = prepared.rules
        if not rules:
            return self._read
        if self._asked is None:
            return None
        # What follows from a triple is not known before: each pattern is looked at by itself.
        return narrow((atom.nodes,) for atom in {*self._asked, *(atom for rule in rules for atom in rule.body)})

    # --- one graph

    def _closure(
        self, prepared: Prepared, member: Member, graph: Graph, windows: list[Elements], moment: Moment
    ) -> TaggedColumns:
        """All that follows from what a graph's windows hold with the background, tagged."""
        specs = [member.windows[place] for place in graph.places]
        if moves_together(member.query):
            sliding, widest = self._slid_for(prepared, specs, moment)
            return sliding.facts.visible(oldest_tag(moment.instant, widest))
        key = tuple(specs), moment.since
        if key not in self._replaced:
            self._replaced[key] = Replaced(self._materialization(prepared, movement_of(member.query, specs)), prepared)
        stated = [windows[place][:3] for place in graph.places]
        self._check(prepared, [(p, o) for _, p, o in stated])
        return self._replaced[key].move(merged(stated))

    def _materialization(self, prepared: Prepared, movement: Movement) -> Materialization:
        choice = choose(self._rules, movement, self.maintenance)
        return choice.strategy.make(self._content.dictionary, prepared.rules)

    def _slid_for(self, prepared: Prepared, windows: list[Window], moment: Moment) -> tuple[Sliding, int]:
        widest, streams = aligned(windows)
        return self._slid(prepared, Slide(streams, moment.since), moment, widest), widest

    def _slid(self, prepared: Prepared, slide: Slide, moment: Moment, widest: int) -> Sliding:
        """The closure of windows that have moved to a moment."""
        # Clocks are read for each query by itself: one may still be at an instant that others have passed.
        known = self._sliding.setdefault(slide, [])
        behind = [one for one in known if one.moment.instant <= moment.instant]
        if not behind:
            behind = [
                Sliding(
                    self._materialization(prepared, Movement(together=True)),
                    self._content,
                    prepared,
                    self._wanted(prepared),
                )
            ]
            known.append(behind[0])
        chosen = max(behind, key=lambda one: one.moment.instant)
        if chosen.moment != moment:
            horizon = oldest_tag(moment.instant, max(widest, self._reach_of(slide.streams)))
            arrivals = []
            for stream, offset in slide.streams:
                elements = self._content.window(
                    self._number(stream), stamp_of(horizon, offset), moment.instant, slide.since
                )
                new = np.flatnonzero(
                    (elements.t > chosen.moment.instant) | logged_after(elements.seq, chosen.moment.seq)
                )
                arrivals.append((Elements(*(column[new] for column in elements)), offset))
            self._check(prepared, [(elements.p, elements.o) for elements, _ in arrivals])
            chosen.move(arrivals, moment, horizon)
        return chosen

    def _check(self, prepared: Prepared, arrivals: Iterable[tuple[np.ndarray, np.ndarray]]) -> None:
        if not all(prepared.presumes(self._content.dictionary, p, o) for p, o in arrivals):
            raise Contradicted

    def _reach_of(self, streams: tuple[tuple[str, int], ...]) -> int:
        """The widest window of all members that share these closures, or will."""
        if not self._reach:
            for member in self._members.values():
                if member.failed is None and moves_together(member.query):
                    for windows in closed_windows(member.query):
                        widest, key = aligned(windows)
                        self._reach[key] = max(widest, self._reach.get(key, 0))
        return self._reach.get(streams, 0)

    # --- forgetting

    def forget(self, used: Collection[int]) -> None:
        """Drop what is looked at by no member; `used` are the places since which the members' views look."""
        for slide in [slide for slide in self._sliding if slide.since not in used or not self._reach_of(slide.streams)]:
            del self._sliding[slide]
        for known in self._sliding.values():
            newest = max(one.moment.seq for one in known)
            known[:] = [one for one in known if one.moment.seq == newest]
        if not self._replaced:
            return
        live = {
            (windows, since)
            for member in self._members.values()
            if member.failed is None
            for windows in map(tuple, closed_windows(member.query))
            for since in (0, member.id)
        }
        for key in self._replaced.keys() - live:
            del self._replaced[key]

    def terms(self) -> np.ndarray:
        """The ids that closures hold."""
        parts = [ids for one in self._all() for ids in one.terms()]
        if self._prepared is not None:
            parts += self._prepared.background
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def renumber(self, table: np.ndarray) -> None:
        for one in self._all():
            one.renumber(table)
        if self._prepared is not None:
            s, p, o = self._prepared.background
            self._prepared = Prepared(
                self._prepared.rules, (table[s], table[p], table[o]), self._prepared.predicates, self._prepared.classes
            )

    def _all(self) -> list[Sliding | Replaced]:
        return [one for known in self._sliding.values() for one in known] + list(self._replaced.values())


class Sliding:
    """Windows that move on, closed."""

    def __init__(self, facts: Materialization, content: Content, prepared: Prepared, wanted: Groups | None) -> None:
        self.facts = facts
        known = Facts(*prepared.background, np.full(len(prepared.background[0]), ALWAYS))
        self.facts.load_closed(*known)
        self._waiting = SemijoinFilter(wanted, content.dictionary)
        self._waiting.introduce(known)
        self.shared = Shared(self.facts.moving, content)  # what queries over it have in common
        self.moment = Moment(0, BEGINNING_OF_TIME, 0)

    def move(self, arrivals: Iterable[tuple[Elements, int]], moment: Moment, horizon: int) -> None:
        self.facts.expire(horizon)
        self._waiting.expire(horizon)
        for elements, offset in arrivals:
            wanted = self._waiting.let_in(Facts(elements.s, elements.p, elements.o, tags_of(elements.t, offset)))
            if wanted.size:
                self.facts.insert(*wanted)
        self.moment = moment

    def terms(self) -> list[np.ndarray]:
        return [self.facts.terms(), self.shared.terms(), self._waiting.terms()]

    def renumber(self, table: np.ndarray) -> None:
        self.facts.renumber(table)
        self.shared.renumber(table)
        self._waiting.renumber(table)


class Replaced:
    """A graph that becomes another one at each instant, closed."""

    def __init__(self, facts: Materialization, prepared: Prepared) -> None:
        self.facts = facts
        s, p, o = prepared.background
        self._background = Triples.of(s, p, o)
        self.facts.load_closed(s, p, o, np.full(len(s), ALWAYS))
        self._stated = Triples.none()

    def move(self, columns: Columns) -> TaggedColumns:
        # What the background says too is left to it: it does not go when the window moves on.
        triples = Triples.of(*columns).minus(self._background)
        gone, new = self._stated.minus(triples), triples.minus(self._stated)
        if len(gone):
            self.facts.remove(gone.s, gone.p, gone.o)
        if len(new):
            self.facts.insert(new.s, new.p, new.o, np.full(len(new), ALWAYS - 1))
        self._stated = triples
        return self.facts.visible(BEGINNING_OF_TIME)

    def terms(self) -> list[np.ndarray]:
        stated = [getattr(triples, place) for triples in (self._stated, self._background) for place in "spo"]
        return [self.facts.terms(), *stated]

    def renumber(self, table: np.ndarray) -> None:
        self.facts.renumber(table)
        self._stated = Triples(*(table[column] for column in (self._stated.s, self._stated.p, self._stated.o)))
        background = self._background
        self._background = Triples(*(table[column] for column in (background.s, background.p, background.o)))


def _read_by(members: Iterable[Member]) -> Groups | None:
    """The basic graph patterns that are looked for in closures; None: any triple may be."""
    readers = [member for member in members if member.query.entailment or not member.snapshot]
    if any(member.plan.reads is None for member in readers):
        return None
    return narrow(patterns for member in readers for patterns in _named_alike(member))


def _named_alike(member: Member) -> Iterable[tuple[Pattern, ...]]:
    """What a member reads, with the same names for variables as others have who read the same."""
    return (renamed(patterns)[0] for patterns in member.plan.reads or ())
