"""Due answers: what the members of a group say at the instants that have passed, in their order.

    clocks have moved ─▶ who is awake ─▶ (instant, member), … ─▶ rehearsed, if there is reason to ─▶ view ─▶ answer
                                                                           └─▶ too much ─▶ failure ◀──────┘

Rows are many, and few of them make an instant pass. So for those that wait for the arrival clock alone it is remembered
which instant is the next one of any of them, and until then nobody looks at them.

Invariants: instants are answered in their order, and of members that are due at one the widest windows first; a member
that fails says so once, and the others go on; where there is too much in the process, those fail that most is held for,
one after the other.

    due = DueAnswers("1f0c…", members, arrival, views, fail)
    for message in due.tell(seq, entry_at, stream): ... # an entry has moved the clocks: whatever is due now
    due.members_changed()
    due.forget()                                        # what no living member looks at
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.engine.costs import Costs
from csparql_spark.engine.guard import EvaluationGuard
from csparql_spark.engine.member import Member, TooManyInstants
from csparql_spark.engine.messages import BatchCosts, InstantAnswer, Message, QueryFailure
from csparql_spark.engine.trials import DueEvaluation
from csparql_spark.engine.views import MemberReply, Views
from csparql_spark.entailment.evaluate.patterns import counted
from csparql_spark.windows.content import END_OF_TIME
from csparql_spark.windows.progress import Arrival

Fail = Callable[[Member, int, Exception], QueryFailure]


class DueAnswers:
    def __init__(self, key: str, members: Mapping[int, Member], arrival: Arrival, views: Views, fail: Fail) -> None:
        """`arrival` is the clock that members share; `fail` marks one that answers no more from an instant on."""
        self._key, self._members, self._arrival, self._views, self._fail = key, members, arrival, views, fail
        self.guard = EvaluationGuard()  # what evaluations are made under
        self._costs = Costs()
        self._untimed: list[Member] | None = []  # members that look at more than this clock; None: not known
        self._soonest: int | None = None  # no other member has an instant before; None: not known
        self._seq = 0  # where the log stands
        self._entry_at: int | None = None  # when that entry has arrived, if that is known
        self._stream: str | None = None  # and where

    def members_changed(self) -> None:
        """Members have come, gone or failed."""
        self._untimed = self._soonest = None

    def forget_soonest(self) -> None:
        """Somebody may have another instant before that."""
        self._soonest = None

    @property
    def untimed(self) -> list[Member]:
        """The members that any row may make an instant of pass."""
        if self._untimed is None:
            self._untimed = [member for member in self._members.values() if not member.timed]
        return self._untimed

    def tell(
        self, seq: int, entry_at: int | None, stream: str | None, members: Iterable[Member] | None = None
    ) -> Iterator[Message]:
        """Tell what is due to these members, or to all, where the log stands at `seq`; `entry_at`: when that entry has
        arrived, `stream`: and where, if in a stream."""
        self._seq, self._entry_at, self._stream = seq, entry_at, stream
        due, failed = [], []
        for member in self._awake() if members is None else members:
            if member.failed is None and member.paused:
                member.pass_over()
            elif member.failed is None:
                try:
                    due += [(instant, -member.widest, member.id) for instant in member.due()]
                except TooManyInstants as error:
                    failed.append((member, error))
        for member, too_many in failed:
            yield self._fail(member, too_many.instant, too_many)
        if members is None and (self._soonest is None or self._arrival.reading >= self._soonest):
            self._soonest = min(
                (member.soonest() for member in self._members.values() if member.timed and member.failed is None),
                default=END_OF_TIME,
            )
        # The widest windows first: the others may cut their answers out of theirs.
        due.sort()
        for verdict in self.guard.rehearse(
            lambda: [self._evaluation(self._members[id], instant) for instant, _, id in due]
        ):
            # What it says before it fails comes first.
            if verdict.instant == next(instant for instant, _, id in due if id == verdict.member):
                yield self._fail(self._members[verdict.member], verdict.instant, TooMuch(verdict.reason))
        try:
            for instant, _, id in due:
                yield from self._say(self._members[id], instant)
        finally:  # also where whoever writes the answers breaks off
            self.guard.rest()

    def _say(self, member: Member, instant: int) -> Iterator[Message]:
        """What a member says at an instant that is due."""
        if member.failed is None and member.failure is not None and member.failure.precedes(instant):
            yield self._fail(member, instant, ValueError(member.failure.reason))
        elif member.is_over(instant):
            member.see(instant)
        elif member.failed is None:
            limits = None if member.failure is not None else self._views.given
            if limits is None:  # nobody waits
                yield self._tell(member, instant)
            else:
                yield self._tell_in_time(member, instant, limits)
                # Now it is written, too. Stamps that producers give say nothing of how fast they come, nor do the
                # milliseconds by which the turns of one push are kept apart.
                progress = member.progress
                if progress.event:
                    relayed = progress.is_derived(self._stream)
                    member.arrears.end(instant, entry=self._seq, arrival=self._entry_at, relayed=relayed)
                else:
                    member.arrears.end(min(instant, progress.arrival), entry=0, arrival=None)
            if member.failed is not None:
                self.forget()  # what was held for it is no reason for others to fail
            if self.guard.is_full:
                yield from self._relieve(instant)

    def _awake(self) -> Iterable[Member]:
        """The members that may have instants that have passed."""
        if self._soonest is not None and self._arrival.reading < self._soonest:
            return self.untimed
        return self._members.values()

    def _tell_in_time(self, member: Member, instant: int, limits: Limits) -> Message:
        """Tell it, unless the others have waited for too many of its answers."""
        try:
            member.arrears.check(limits)
        except TooMuch as error:
            return self._fail(member, instant, error)
        member.arrears.begin()
        return self._tell(member, instant)

    def _tell(self, member: Member, instant: int) -> Message:
        begun = time.perf_counter_ns()
        try:
            with counted() as refused:
                _, rows, payload, since = self.guard.evaluated(*self._evaluation(member, instant))
            self._costs.refused += refused.count
        except Exception as error:  # whatever a query does to the evaluator, it does to itself alone
            return self._fail(member, instant, error)
        self._costs.note(
            member,
            instant=instant,
            rows=rows,
            micros=(time.perf_counter_ns() - begun) // 1000,
            due=self._entry_at if member.progress.event else instant,
        )
        member.told = instant
        return InstantAnswer(member.id, instant, 0, rows, payload, since, member.query.listed)

    def _evaluation(self, member: Member, instant: int) -> DueEvaluation[MemberReply]:
        return DueEvaluation(
            member.id, instant, self._views.closing_seconds(member), lambda: self._views.say(member, instant, self._seq)
        )

    def _relieve(self, instant: int) -> Iterator[Message]:
        """Where there is too much in the process, those fail that most is held for."""
        while (error := self.guard.crowded(self._key, lambda: self._largest()[0])) is not None:
            yield self._fail(self._members[self._largest()[1]], instant, error)
            self.forget()

    def _largest(self) -> tuple[int, int]:
        """The query that most is held for, behind how much that is. Nobody fails for one of which the log says how it
        fails, and that one fails there."""
        shares = self._views.shares([id for id, member in self._members.items() if member.failed is None])
        most, id = max(((nbytes, id) for id, nbytes in shares.items()), default=(0, 0))
        return (most, id) if id and self._members[id].failure is None else (0, 0)

    def report(self) -> BatchCosts | None:
        """What the answers have cost since this was asked last, if there were any."""
        payload = self._costs.report(
            elements=self._views.elements, state=self._views.state_bytes, nodes=self._views.nodes
        )
        return None if payload is None else BatchCosts(payload)

    def forget(self) -> None:
        """Drop what no living member looks at."""
        self._views.forget({id for id, member in self._members.items() if member.failed is None and not member.paused})
