"""Window graphs: what windows hold with all that follows, as graphs that move from one instant of a query to the next.

    windows of time, or one that counts       what enters is inserted, and tags tell when it goes
    several windows, one of which counts      what that one holds is inserted, too, and taken out when it goes

A graph without windows is one that is never moved. All hold ids: whoever has them renumbered tells it (`terms`,
`renumber`). Who owns them, and for whom they are made, says `closures`.

What a graph is made with may become another: more is asked of it, the background is replaced, a stream speaks of the
schema. Where only rules come, and more is read, it takes both in (`extend`); otherwise it is made anew, and compared
(`become`). In either case it stays the same object, and who follows it hears what is different.

    sliding = Sliding(facts, content, prepared, basis)      # with the background in it
    sliding.move([facts], reading, horizon)                 # what has entered, tagged; tags up to the horizon expire
    sliding.shared                                          # what queries over it have in common
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from csparql_spark.answers.incremental import Shared
from csparql_spark.answers.semijoin_filter import Groups, SemijoinFilter
from csparql_spark.engine.moment import ClockReading
from csparql_spark.engine.withdrawals import UNTOLD, CountedFacts, Withdrawals
from csparql_spark.entailment.maintain.counting import RecursiveRules
from csparql_spark.entailment.maintain.strategy import Materialization
from csparql_spark.entailment.rules.preparing import Prepared
from csparql_spark.language.rules.rule import Rule
from csparql_spark.relations.changes import Changes
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.moving import Mark
from csparql_spark.relations.tags import ALWAYS, NEVER
from csparql_spark.windows.content import Content
from csparql_spark.windows.rule import BEGINNING_OF_TIME, AlignedWindow

TaggedColumns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

NOT_YET = ClockReading(BEGINNING_OF_TIME, 0)


class Basis(NamedTuple):
    """What a graph is made with besides what windows hold: the rules that are run, what is read of it (None: all of
    it), and a name for the background that it has in it and all that follows from it by itself."""

    rules: tuple[Rule, ...]
    wanted: Groups | None
    background: Hashable

    def more_rules(self, before: Basis) -> list[Rule] | None:
        """The rules that have come where nothing else has changed but what is read; None if something has."""
        known = set(before.rules)
        if self.background != before.background or bool(self.rules) != bool(known) or not known.issubset(self.rules):
            return None
        return [rule for rule in self.rules if rule not in known]


class Turned(NamedTuple):
    """A window that counts beside others, what has entered it, with ordinals, and up to which element."""

    window: AlignedWindow
    entered: Facts
    last: int


class Sliding:
    """Windows that move on, closed. With `own` only what they have a part in is looked at: what they hold, and what
    follows from that with the background's help and not from the background alone."""

    def __init__(
        self,
        facts: Materialization,
        content: Content,
        prepared: Prepared,
        basis: Basis,
        own: Materialization | None = None,
        beside: Iterable[AlignedWindow] = (),
    ) -> None:
        """`beside` are the windows that count beside others."""
        self.facts, self._own, self.basis = facts, own, basis
        self._dictionary = content.dictionary
        self.counted = {window: CountedFacts() for window in beside}
        known = _known(prepared)
        self.facts.load_closed(*known)
        # What waits for what it could be joined to cannot be taken out.
        self._waiting = SemijoinFilter(None if self.counted else basis.wanted, content.dictionary)
        self._waiting.introduce(known)
        self.shared = Shared(self._seen.moving, content)  # what queries over it have in common
        self._mark = None if own is None else self.facts.moving.mark()  # up to where it is in what is its own
        self._withdrawals = Withdrawals(known) if self.counted else None
        self.reading = NOT_YET

    @property
    def _seen(self) -> Materialization:
        """What is looked at."""
        return self.facts if self._own is None else self._own

    def extend(self, basis: Basis, prepared: Prepared) -> bool:
        """Go on with this basis. What was left out until now has to come with the next move: it has to bring all that
        the windows hold, as to a graph that has not moved yet. False, and nothing has changed, where the graph has to
        be made anew."""
        rules = basis.more_rules(self.basis)
        if rules is None or self.counted:
            return False
        if rules:
            try:
                self.facts.add_rules(rules)
            except RecursiveRules:
                return False
        self.basis, self.reading = basis, NOT_YET
        self._waiting = SemijoinFilter(basis.wanted, self._dictionary)
        self._waiting.introduce(_known(prepared))
        return True

    def become(self, other: Sliding) -> bool:
        """Be what another one is, whose windows are the same; it is of no use then. Who follows this one hears what is
        different. False, and nothing has changed, where nobody could tell."""
        if not other._seen.succeed(self._seen):
            return False
        self.facts, self._own, self._mark, self._waiting = other.facts, other._own, other._mark, other._waiting
        self.counted, self._withdrawals = other.counted, other._withdrawals
        self.basis, self.reading = other.basis, other.reading
        return True

    def move(
        self, arrivals: Sequence[Facts], reading: ClockReading, horizon: int, turned: Sequence[Turned] = ()
    ) -> None:
        self.facts.expire(horizon)
        self._waiting.expire(horizon)
        if self._withdrawals is not None:
            arrivals = [*arrivals, *self._withdrawn(self._withdrawals, arrivals, horizon, turned)]
        for entered in arrivals:
            wanted = self._waiting.let_in(entered)
            if wanted.size:
                if self._own is not None:
                    self._own.insert(*(column.copy() for column in wanted))
                self.facts.insert(*wanted)
        if self._own is not None and self._mark is not None:
            self._own.expire(horizon)
            self._follow(self._own, self._mark, horizon)
        self.reading = reading

    def _withdrawn(
        self, withdrawals: Withdrawals, arrivals: Iterable[Facts], horizon: int, turned: Iterable[Turned]
    ) -> list[Facts]:
        """Take out what windows that count hold no more; returns what they hold now and did not, and what others hold
        of that."""
        withdrawals.expire(horizon)
        for entered in arrivals:
            withdrawals.keep(entered)
        left = [self.counted[one.window].move(one.entered, one.last, one.window.size) for one in turned]
        held = [one.entered._replace(tag=np.full(one.entered.size, UNTOLD)) for one in turned]
        gone = [
            facts.where(~np.logical_or.reduce([counted.holds(facts) for counted in self.counted.values()]))
            for facts in left
            if facts.size
        ]
        # What was there before it was taken out and entered again in one move is not taken out: some window holds it.
        for facts in gone:
            unknown = withdrawals.unknown(facts)
            if unknown.size:
                self.facts.remove(*unknown[:3])
            if self._own is not None and facts.size:
                self._own.remove(*(column.copy() for column in facts[:3]))
                tag = self.facts.moving.graph.tags_of(*facts[:3])  # what is said no more may still follow
                follows = facts._replace(tag=tag).where((tag > NEVER) & (tag < ALWAYS))
                self._own.insert(*(column.copy() for column in follows))
            held.append(withdrawals.still_held(facts))
        return [facts for facts in held if facts.size]

    def _follow(self, own: Materialization, mark: Mark, horizon: int) -> None:
        """Bring what has followed since, and does not follow from the background alone, to what is its own; and take
        out what follows no more."""
        changes = self.facts.moving.since(mark)
        if changes is None:  # it does not know what has gone: what is there is compared with what it has
            there = self.facts.moving.graph
            has = own.visible(horizon)
            changes = Changes(there.facts(horizon), has.where(there.tags_of(*has[:3]) < has.tag), Facts.none())
        if changes.removed.size:
            own.remove(*(column.copy() for column in changes.removed[:3]))
        added = changes.added.where(changes.added.tag < ALWAYS)
        if added.size:
            own.insert(*(column.copy() for column in added))

    def terms(self) -> list[np.ndarray]:
        own = [] if self._own is None else [self._own.terms()]
        counted = [ids for one in self.counted.values() for ids in one.terms()]
        known = [] if self._withdrawals is None else self._withdrawals.terms()
        return [self.facts.terms(), self.shared.terms(), self._waiting.terms(), *own, *counted, *known]

    def renumber(self, table: np.ndarray) -> None:
        self.facts.renumber(table)
        if self._own is not None:
            self._own.renumber(table)
        self.shared.renumber(table)
        self._waiting.renumber(table)
        for one in self.counted.values():
            one.renumber(table)
        if self._withdrawals is not None:
            self._withdrawals.renumber(table)


def _known(prepared: Prepared) -> Facts:
    return Facts(*prepared.background, np.full(len(prepared.background[0]), ALWAYS))
