"""View answer: what is said of a view, in the form in which each member says it.

    whole ─────────────────────────────────▶ RSTREAM
    what has changed since it said      ┌──▶ RSTREAM, where whoever keeps answers keeps that (see `store.keyframes`)
    something last (see `view_rows`) ───┴──▶ ISTREAM, DSTREAM

A whole is made once for all members that may have the same, and what has changed once for all that ask at an instant.
Whoever has other limits asks itself: it may not have what another one may.

    answer = ViewAnswer(evaluator, whole)           # `whole` asks the evaluator
    answer.reply(Asker(member, instant, limits))  # a MemberReply

Invariant: in whatever form, a member says the same. What takes too long, or is too much, fails in each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from csparql_spark.answers.arrears import Debt
from csparql_spark.answers.bindings import Result
from csparql_spark.answers.deadline import Deadline
from csparql_spark.answers.delta_bytes import unchanged
from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.engine.member import Member
from csparql_spark.engine.r2s import compared, stepped
from csparql_spark.engine.view_rows import RowStep, ViewRows
from csparql_spark.store.keyframes import is_compared, is_repeated


class Versioned(Protocol):
    @property
    def version(self) -> int:
        """Another one when what is seen may have changed."""


class Keyframes(Protocol):
    """Whoever keeps answers, and says which of them whole."""

    def wants_change(self, query: int, instant: int, since: int, rows: int, changed: int) -> bool:
        """Whether the answer of a query at an instant, of so many rows, is kept as a change of so many rows from that
        of the instant `since`. What is said then comes."""


class MemberReply(NamedTuple):
    """An answer, and the version of the dataset that it was the answer for. `since`: the payload says what has changed
    since that instant, and there are so many rows now."""

    version: int
    rows: int
    payload: bytes
    since: int | None = None


@dataclass(frozen=True)
class Asker:
    """Who asks, at which instant, and what it may have. `debt`: what others wait for; None where nobody waits.
    `keyframes`: who says what is told as a change; if nobody does, all is told whole."""

    member: Member
    instant: int
    limits: Limits
    debt: Debt | None = None
    keyframes: Keyframes | None = None


class SaidWhole(NamedTuple):
    """A whole, within which limits it was made, and the change that says that nothing has changed since."""

    reply: MemberReply
    limits: Limits
    unchanged: bytes


class ViewAnswer:
    def __init__(self, evaluator: Versioned, whole: Callable[[], Result], rows: ViewRows | None = None) -> None:
        """`rows`, where what has changed in them can be told."""
        self._evaluator, self._whole, self._rows = evaluator, whole, rows
        self._last: SaidWhole | None = None  # unless a change was said last
        self._length = 0  # rows of what was said last
        self._version = self._first = -1  # what was seen last, and from which instant on

    @property
    def nbytes(self) -> int:
        whole = 0 if self._last is None else len(self._last.reply.payload)
        return whole + (0 if self._rows is None else self._rows.nbytes)

    def forget_changes(self) -> bool:
        """There is no room for knowing what has changed: from now on wholes are compared. Whether that gives back
        anything."""
        if self._rows is None:
            return False
        self._rows.forget()
        self._rows = None
        return True

    def reply(self, asker: Asker) -> MemberReply:
        """What a member says; its evaluator sees what there is at the instant."""
        deadline = Deadline(asker.limits)
        reply = self._changed(asker) if asker.member.query.output != "RSTREAM" else self._all(asker)
        deadline.check()  # whatever it was that took so long: the others wait for it
        if asker.debt is not None:
            asker.debt.note(asker.instant, 0.0 if deadline.soon else deadline.took, asker.limits)
        if asker.keyframes is not None and asker.member.query.output == "RSTREAM":
            self._follow(asker.instant)
        return reply

    def _follow(self, instant: int) -> None:
        """Know what changes from here on, where that may be told; the answer is there, and fails of nothing here."""
        if self._rows is None:
            return
        try:
            if is_compared(self._length):
                self._rows.step(instant)
            elif not is_compared(2 * self._length):  # not to and fro
                self._rows.forget()
        except TooMuch:
            self.forget_changes()

    def _all(self, asker: Asker) -> MemberReply:
        """All that there is."""
        version = self._evaluator.version
        if version != self._version:
            self._version, self._first = version, asker.instant
        if asker.keyframes is None:
            return self._replied(asker)
        known = self._stepped if self._rows is not None and is_compared(self._length) else self._same
        return known(asker, asker.keyframes) or self._replied(asker)

    def _same(self, asker: Asker, keyframes: Keyframes) -> MemberReply | None:
        """That nothing has changed, if that is so, and kept."""
        last, told = self._last, asker.member.told
        if last is None or last.reply.version != self._version or last.limits != asker.limits:
            return None
        rows = last.reply.rows
        if told is None or told < self._first or not is_repeated(rows):
            return None
        if not keyframes.wants_change(asker.member.id, asker.instant, told, rows, 0):
            return None
        return MemberReply(self._version, rows, last.unchanged, told)

    def _stepped(self, asker: Asker, keyframes: Keyframes) -> MemberReply | None:
        """What has changed, if that is known, and kept."""
        step = self._step(asker)
        if step is None:
            return None
        whose = asker.member.id, asker.instant, step.since, step.rows
        # What cannot be kept need not be put into words.
        if not keyframes.wants_change(*whose, step.least) or not keyframes.wants_change(*whose, step.delta.changed):
            return None
        self._last, self._length = None, step.rows
        return MemberReply(self._version, step.rows, step.change, step.since)

    def _changed(self, asker: Asker) -> MemberReply:
        """What has come, or gone."""
        member, step = asker.member, self._step(asker)
        changed = compared(member, self._replied(asker).payload) if step is None else stepped(member, step, self._whole)
        return MemberReply(self._evaluator.version, len(changed), changed.to_bytes())

    def _step(self, asker: Asker) -> RowStep | None:
        """What has changed since the member has said something, if that is known."""
        step = None if self._rows is None else self._rows.step(asker.instant)
        if step is None or step.since != asker.member.told:
            return None
        asker.limits.check_rows(step.rows)
        return step

    def _replied(self, asker: Asker) -> MemberReply:
        """The whole."""
        version = self._evaluator.version
        if self._last is None or self._last.reply.version != version or self._last.limits != asker.limits:
            answer = self._whole()
            reply = MemberReply(version, len(answer), answer.to_bytes())
            self._last = SaidWhole(reply, asker.limits, unchanged(answer, listed=asker.member.query.listed))
        self._length = self._last.reply.rows
        return self._last.reply
