"""Closures: the graphs of a group's queries with all that follows from them under the group's rules, if it has any.

Windows whose elements have tags (see `windows.rule`) only move on. They are closed once for all queries whose windows
lie in their graphs in the same way: over the same streams, with the same offsets, looked at as of the same steps.
What follows has the earliest tag of its premises:

    RANGE 4s         ────────[────]t          tags later than t − 4s
    RANGE 9s         ───[─────────]t          tags later than t − 9s: the same facts, looked at from further back

What is looked at as of different steps is other facts at the same instant: these graphs have the content in common, and
the work on the background. Windows that count begin at the registration, each on a clock of its own, and are shared by
nobody. Where one of several windows counts, what it holds is taken out when it goes (see `withdrawals`).
Triples of a stream that no member asks for, and no rule, do not go into what is closed (see `answers.semijoin_filter`).
What is left out depends on who the members are, and what they say does not: when one comes that asks for more, what was
left out is taken from the content. So it is where rules come; where the background or the rules become others, or a
stream speaks of a schema that was presumed to be known, windows are closed anew, which takes as much room again for the
while, and compared with what they were (`renew`): whoever follows them hears what is different. Only what was begun and
could not be finished is forgotten, and what is to be maintained in another way (`restart`). The background is closed
once. What is in each graph says `dataset`.

A named window that moves on is a graph of its own: what is known of the background helps to close it and is not in it,
so beside the closure what the window has a part in is kept by itself. A graph of FROM NAMED stands still. The graphs
themselves are in `window_graphs`.

    closures = Closures(content, number, members)
    graphs = closures.closed(member, windows, moment, background)          # by name; None: the default graph
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from csparql_spark.answers import semijoin_filter
from csparql_spark.answers.incremental import NamedGraph
from csparql_spark.answers.matches import renamed
from csparql_spark.answers.patterns import Pattern
from csparql_spark.answers.semijoin_filter import Groups, narrow
from csparql_spark.answers.snapshot import merged
from csparql_spark.engine.closings import Closing
from csparql_spark.engine.closure_strategy import movement_of
from csparql_spark.engine.dataset import Graph, entailed, graphs_of
from csparql_spark.engine.member import Member
from csparql_spark.engine.moment import ClockReading, Moment
from csparql_spark.engine.window_graphs import Basis, Sliding, TaggedColumns, Turned
from csparql_spark.entailment.evaluate.bounds import TooMuchDerived, bounded, closing_seconds
from csparql_spark.entailment.maintain.strategies import AUTO, BY_TAGS, Movement, choose
from csparql_spark.entailment.maintain.strategy import Materialization
from csparql_spark.entailment.rules.closed_backgrounds import ClosedBackground
from csparql_spark.entailment.rules.preparing import Columns, Prepared, as_they_are, closed, closed_once, prepare
from csparql_spark.entailment.rules.regimes import rules_of
from csparql_spark.entailment.rules.sets import RuleSetError
from csparql_spark.language import LanguageError
from csparql_spark.language.rules.rule import Atom, Rule
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.windows.content import Content, Elements
from csparql_spark.windows.counting import TurnCount, ordinals_of
from csparql_spark.windows.rule import AlignedWindow, oldest_tag

Background = Callable[[], Columns]  # looked at only where something has to be prepared
Outcome = TypeVar("Outcome")


class Slide(NamedTuple):
    """Windows that are in one graph, as they are aligned there. `alone`: the background is not among what is looked
    at."""

    windows: tuple[AlignedWindow, ...]
    since: int
    alone: bool = False


class SlidGraph(NamedTuple):
    """A graph that has moved to where its clock stands, for windows the widest of which is so wide."""

    graph: Sliding
    reading: int
    widest: int

    def visible(self) -> TaggedColumns:
        return self.graph.facts.visible(oldest_tag(self.reading, self.widest))


class MovingDataset(NamedTuple):
    """The graphs of a member as they have moved to a moment. What is tagged later in the default graph than `widest`
    before what the clock reads holds for the member."""

    default: Sliding
    named: dict[str, NamedGraph]
    widest: int


class Contradicted(Exception):
    """A stream says something about the schema that was presumed to be known."""


class Closures:
    def __init__(self, content: Content, number: Callable[[str], int], members: Mapping[int, Member]) -> None:
        self._content, self._number, self._members = content, number, members
        self._texts: dict[str, str] = {}  # users' rule files
        self._digests: dict[str, bytes] = {}  # of the background graphs
        self.seconds: float | None = None  # of the processor, for closing, beside what its size takes
        self.bytes: int | None = None  # of memory, while it is done
        self.maintenance = AUTO  # the strategy that somebody asks for
        self._rules: tuple[Rule, ...] = ()  # as they are written: by them a strategy is chosen
        self._prepared: Prepared | None = None
        self._stated = 0  # triples of the background that it is made with, before they are closed
        self._basis = Basis((), frozenset(), ())  # of what is made with it
        self._asked: set[Atom] | None = set()  # what the closures are made for: under rules,
        self._read: Groups | None = frozenset()  # and without; the members who ask for no more than that:
        self._covered: set[int] = set()
        self._schema_moves = False  # the streams speak about the schema: presume nothing
        self._sliding: dict[Slide, list[Sliding]] = {}
        self._still: dict[str | None, Sliding] = {}  # graphs that no window is in, by name
        self._reach: dict[tuple[tuple[AlignedWindow, ...], bool], int] = {}  # by windows, and whether alone
        content.dictionary.holders.append(self)

    def maintain(self, strategy: str) -> None:
        """By the strategy of this name, where it can do what is needed."""
        if strategy != self.maintenance:
            self.maintenance = strategy
            self.restart()

    def set_rules(self, name: str, text: str) -> None:
        self._texts[name] = text
        self.renew()

    def set_background(self, graph: str, payload: bytes) -> None:
        self._digests[graph] = hashlib.sha256(payload).digest()
        self.renew()

    def renew(self) -> None:
        """What closures are made with is something else now. Each is brought up to date when somebody looks, from what
        the content holds, and who follows it hears what is different. This is the one door for all that they were made
        for and is so no more: rules, background, a presumed schema, what members ask for."""
        self._prepared = None

    def restart(self) -> None:
        """Forget all closures: what was begun is of no use, or is to be maintained in another way."""
        self.renew()
        self._sliding.clear()
        self._still.clear()

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
                self.renew()

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

    def moving(
        self, member: Member, moment: Moment, background: Background, graph: Callable[[str], Columns]
    ) -> tuple[MovingDataset, int]:
        """The closed graphs of a member whose windows have tags, and up to which tag nothing is seen of the default
        one. `graph` gives a graph of FROM NAMED."""
        return self._presuming(member, background, lambda prepared: self._moved(prepared, member, moment, graph))

    def _presuming(self, member: Member, background: Background, close: Callable[[Prepared], Outcome]) -> Outcome:
        """Close for all members; if that is too much, for this one alone: what the others ask for is no reason for it
        to fail. In what was begun then, part of what follows is missing."""
        try:
            return self._closed_for(member, background, close, alone=False)
        except TooMuchDerived:
            self.restart()
            if all(other is member or other.failed is not None for other in self._members.values()):
                raise
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
        # Up to where the log says that a query fails it has no limit (see `Views.limits_of`).
        limited = member.query.entailment and member.failure is None
        with self._bounded() if limited else contextlib.nullcontext():
            try:
                return close(self._ready(member, background, alone))
            except Contradicted:
                self._schema_moves = True
                self.renew()
                return close(self._ready(member, background, alone))

    def _bounded(self) -> contextlib.AbstractContextManager[None]:
        """What closing may take, if anybody waits for it: more time where there is much to close."""
        if self.seconds is None:
            return contextlib.nullcontext()
        return bounded(self.seconds + closing_seconds(len(self._content)), self.bytes)

    def _entailed(
        self, prepared: Prepared, member: Member, graph: Graph, windows: list[Elements], moment: Moment
    ) -> Columns:
        """A graph that entails."""
        if not graph.places:
            return prepared.background
        s, p, o, tag = self._slid_for(prepared, member, graph, moment).visible()
        own = tag < ALWAYS
        return entailed(
            graph, merged(windows[place][:3] for place in graph.places), (s, p, o), lambda: (s[own], p[own], o[own])
        )

    def _ready(self, member: Member, background: Background, alone: bool) -> Prepared:
        """What closures are made with; that is something else for a member that asks for more than those before."""
        if self._prepared is None or member.id not in self._covered and not self._covers(member):
            others = () if alone else self._members.values()
            living = [other for other in (*others, member) if other.failed is None]
            patterns = [other.asked for other in living if other.asked is not None]
            self._asked = set().union(*patterns) if len(patterns) == len(living) else None
            self._read = _read_by(living)
            columns = background()
            self._stated = len(columns[0])
            prepared = self._prepared = self._prepare(member, columns)
            graphs = tuple((graph, self._digests.get(graph)) for graph in member.query.graphs)
            self._basis = Basis(prepared.rules, self._wanted(prepared), (self._rules, graphs))
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
        facts = closed_once(self._name(rules, member), rules, dictionary, background)
        return as_they_are(rules, facts) if self._schema_moves else prepare(rules, dictionary, facts, self._asked)

    def _name(self, rules: tuple[Rule, ...], member: Member) -> Hashable:
        """What its background, closed, is known by."""
        return rules, tuple(self._digests.get(graph, b"") for graph in sorted(set(member.query.graphs)))

    def closing(self, member: Member, triples: int, background: Background) -> Closing | None:
        """What is to be closed for a member, of so many triples, before anything can follow from its windows; None if
        that is done for all members, or if its rules cannot be read."""
        done = self._prepared is not None and self._members.keys() <= self._covered
        if done or not member.query.entailment:
            return None
        try:
            rules = rules_of(member.query.entailment, self._texts)
        except (RuleSetError, LanguageError):
            return None
        dictionary = self._content.dictionary
        return Closing(
            self._name(rules, member),
            triples,
            lambda: ClosedBackground.of(closed(rules, dictionary, background()), dictionary),
        )

    def _wanted(self, prepared: Prepared) -> Groups | None:
        """What is made of triples that come: the patterns that are read, and what rules look at."""
        rules = prepared.rules
        if not rules:
            return self._read
        if self._asked is None:
            return None
        # What follows from a triple is not known before: each pattern is looked at by itself.
        return narrow((atom.nodes,) for atom in {*self._asked, *(atom for rule in rules for atom in rule.body)})

    # --- graphs that move

    def _moved(
        self, prepared: Prepared, member: Member, moment: Moment, graph: Callable[[str], Columns]
    ) -> tuple[MovingDataset, int]:
        default, *others = member.graphs
        slid = self._slid_for(prepared, member, default, moment) if default.places else None
        moved: dict[str, SlidGraph | Sliding] = {}
        for other in others:
            if other.name is None or other.name in moved:  # of two of one name a window hides the other
                continue
            if other.is_window:
                moved[other.name] = self._slid_for(prepared, member, other, moment, alone=True)
            else:
                known = self._digests.get(other.name)
                moved[other.name] = self._standing(other.name, known, partial(graph, other.name))
        # Where the only window has a name, its clock is that of the query.
        clock = slid or max((one for one in moved.values() if isinstance(one, SlidGraph)), key=lambda one: one.widest)
        named = {
            name: NamedGraph(one.shared)
            if isinstance(one, Sliding)
            else NamedGraph(one.graph.shared, clock.widest - one.widest)
            for name, one in moved.items()
        }
        background = self._basis.background
        standing = self._standing(None, background, lambda: prepared.background) if slid is None else slid.graph
        return MovingDataset(standing, named, clock.widest), oldest_tag(clock.reading, clock.widest)

    def _standing(self, name: str | None, known: Hashable, columns: Background) -> Sliding:
        """A graph that no window is in; what is known stands for its columns."""
        still, basis = self._still.get(name), Basis((), None, known)
        if still is None or still.basis != basis:
            facts = choose((), BY_TAGS).strategy.make(self._content.dictionary, ())
            made = Sliding(facts, self._content, as_they_are((), columns()), basis)
            if still is None or not still.become(made):
                still = self._still[name] = made
        return still

    # --- one graph

    def _materialization(self, prepared: Prepared, movement: Movement) -> Materialization:
        choice = choose(self._rules, movement, self.maintenance, self._stated)
        return choice.strategy.make(self._content.dictionary, prepared.rules)

    def _slid_for(
        self, prepared: Prepared, member: Member, graph: Graph, moment: Moment, *, alone: bool = False
    ) -> SlidGraph:
        """The closure of a graph's windows that have moved to where their clock stands."""
        widest, windows = member.alignments[graph.places]
        counts = member.aligned_counts[graph.places]
        clock = moment.instant if member.beside or not counts else counts[windows[0]].viewed
        now, slide = ClockReading(clock, moment.seq), Slide(windows, moment.since, alone)
        # Clocks are read for each query by itself: one may still be at an instant that others have passed.
        known = self._sliding.setdefault(slide, [])
        behind = [one for one in known if one.reading.clock <= now.clock]
        if not behind:
            behind = [self._begun(prepared, slide, movement_of(member.query, graph.places))]
            known.append(behind[0])
        chosen = max(behind, key=lambda one: one.reading.clock)
        if chosen.reading != now or chosen.basis != self._basis:
            # The elements of others are not counted: they are not reached.
            reach = widest if counts else max(widest, self._reach_of(slide) or 0)
            horizon = oldest_tag(now.clock, reach)
            if chosen.basis == self._basis or chosen.extend(self._basis, _helping(prepared, slide)):
                self._slide(prepared, slide, chosen, now, horizon, counts)
            else:
                made = self._begun(prepared, slide, movement_of(member.query, graph.places))
                self._slide(prepared, slide, made, now, horizon, counts)
                if not chosen.become(made):
                    known[known.index(chosen)] = chosen = made
        return SlidGraph(chosen, clock, widest)

    def _begun(self, prepared: Prepared, slide: Slide, movement: Movement) -> Sliding:
        """Windows that have not moved yet."""
        owns = slide.alone and bool(prepared.rules)
        own = choose((), BY_TAGS).strategy.make(self._content.dictionary, ()) if owns else None
        facts = self._materialization(prepared, movement)
        beside = [window for window in slide.windows if window.size]
        return Sliding(facts, self._content, _helping(prepared, slide), self._basis, own, beside)

    def _slide(
        self,
        prepared: Prepared,
        slide: Slide,
        sliding: Sliding,
        now: ClockReading,
        horizon: int,
        counts: Mapping[AlignedWindow, TurnCount],
    ) -> None:
        """Let enter what has, and what leaves expire, or take it out."""
        arrivals, turned = [], []
        for window in slide.windows:
            if window.size:
                last = counts[window].viewed
                before = max(sliding.counted[window].last, last - window.size)
                turned.append(Turned(window, self._entered(window, slide.since, before, last, counts[window]), last))
            elif window.counts:
                before = max(sliding.reading.clock, horizon)
                arrivals.append(self._entered(window, slide.since, before, now.clock, counts[window]))
            else:
                moment = window.closes(sliding.reading.clock), sliding.reading.seq
                entered = self._content.new(
                    self._number(window.stream), window.stamp_of(horizon), window.closes(now.clock), slide.since, moment
                )
                arrivals.append(Facts(*entered[:3], window.tags_of(entered.t)))
        self._check(prepared, [(facts.p, facts.o) for facts in (*arrivals, *(one.entered for one in turned))])
        sliding.move(arrivals, now, horizon, turned)

    def _entered(self, window: AlignedWindow, since: int, first: int, last: int, count: TurnCount) -> Facts:
        """The elements of a window that counts after the `first`-th up to the `last`-th, with their numbers."""
        begin, end = count.between(first, last)
        elements = self._content.counted(self._number(window.stream), since, begin, end, graphs=window.graphs)
        return Facts(*elements[:3], ordinals_of(elements, last, graphs=window.graphs))

    def _check(self, prepared: Prepared, arrivals: Iterable[tuple[np.ndarray, np.ndarray]]) -> None:
        if not all(prepared.presumes(self._content.dictionary, p, o) for p, o in arrivals):
            raise Contradicted

    def _reach_of(self, slide: Slide) -> int | None:
        """The widest window of all members that share these closures, or will; None if there are none."""
        if not self._reach:
            for member in self._members.values():
                for graph in member.graphs if member.failed is None else ():
                    if graph.places:
                        widest, windows = member.alignments[graph.places]
                        key = windows, graph.is_window and not member.snapshot
                        self._reach[key] = max(widest, self._reach.get(key, 0))
        return self._reach.get((slide.windows, slide.alone))

    # --- forgetting

    def forget(self, used: Collection[int]) -> None:
        """Drop what is looked at by no member; `used` are the places since which the members' views look."""
        for slide in [slide for slide in self._sliding if slide.since not in used or self._reach_of(slide) is None]:
            del self._sliding[slide]
        self._drop_still()
        for known in self._sliding.values():
            newest = max(one.reading.seq for one in known)
            known[:] = [one for one in known if one.reading.seq == newest]

    def _drop_still(self) -> None:
        """Forget the graphs without windows that are no member's any more."""
        if self._still:
            living = [one for one in self._members.values() if one.failed is None and not one.snapshot]
            names = {graph.name for one in living for graph in graphs_of(one.query) if not graph.places}
            self._still = {name: one for name, one in self._still.items() if name in names}

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

    def _all(self) -> list[Sliding]:
        sliding = [one for known in self._sliding.values() for one in known]
        return [*sliding, *self._still.values()]


def _helping(prepared: Prepared, slide: Slide) -> Prepared:
    """What windows are closed with: nothing that is not looked at, where nothing follows from it."""
    return as_they_are((), merged(())) if slide.alone and not prepared.rules else prepared


def _read_by(members: Iterable[Member]) -> Groups | None:
    """The basic graph patterns that are looked for in closures; None: any triple may be."""
    readers = [member for member in members if member.query.entailment or not member.snapshot]
    if any(member.plan.reads is None for member in readers):
        return None
    return narrow(patterns for member in readers for patterns in _named_alike(member))


def _named_alike(member: Member) -> Iterable[tuple[Pattern, ...]]:
    """What a member reads, with the same names for variables as others have who read the same."""
    return (renamed(patterns)[0] for patterns in member.plan.reads or ())
