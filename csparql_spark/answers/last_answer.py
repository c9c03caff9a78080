"""Last answer: what a query has answered last, held as an answer and what has changed since.

Who tells what has changed must know what was there, also after a restart. A whole answer is large and its changes are
small, so what has to be kept after an instant is a change:

    whole answer ── gone, new ── gone, new ── gone, new          together they are the last answer

    before = LastAnswer(answer.to_bytes())
    before.change(instant, gone, new)            # answers, too
    before.answer()                              # the whole as it is now
    before.worn                                  # it had better be written whole again

Answers that are changed are tables, in the order of their terms. If the whole says until when its rows hold, so do the
changes; a row that holds longer than before has gone and come, and one whose time is over goes without being told.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from csparql_spark.answers.bag_difference import difference
from csparql_spark.answers.bag_union import in_row_order, united
from csparql_spark.answers.bindings import CorruptAnswer, Result

MOST = 100  # changes that are held: each of them takes time to be read
_HEAD = struct.Struct("<qqq")


class Change(NamedTuple):
    instant: int
    gone: bytes
    new: bytes


class LastAnswer:
    def __init__(self, whole: bytes, changes: Iterable[Change] = (), length: int | None = None) -> None:
        """`length`: the rows of the whole, where they are known."""
        self.whole, self.changes = whole, list(changes)
        self._rows = sum(len(Result.from_bytes(part)) for change in self.changes for part in change[1:])
        self._most = length

    @property
    def nbytes(self) -> int:
        return len(self.whole) + sum(len(part) for change in self.changes for part in change[1:])

    def change(self, instant: int, gone: Result, new: Result) -> None:
        """At an instant rows have gone, besides those whose time is over, and come."""
        self.changes.append(Change(instant, gone.to_bytes(), new.to_bytes()))
        self._rows += len(gone) + len(new)

    @property
    def worn(self) -> bool:
        """Whether the changes are more than the whole."""
        if not self.changes:
            return False
        if self._most is None:
            self._most = len(Result.from_bytes(self.whole))
        return self._rows > self._most or len(self.changes) > MOST

    def answer(self) -> Result:
        whole = Result.from_bytes(self.whole)
        if not self.changes:
            return whole
        last = self.changes[-1].instant
        gone = united([Result.from_bytes(change.gone) for change in self.changes])
        come = united([whole, *(Result.from_bytes(change.new) for change in self.changes)])
        return in_row_order(difference(_lasting(come, last), _lasting(gone, last)))


def packed(changes: Iterable[Change]) -> bytes:
    """Changes as bytes."""
    return b"".join(
        _HEAD.pack(change.instant, len(change.gone), len(change.new)) + change.gone + change.new for change in changes
    )


def unpacked(payload: bytes) -> Iterator[Change]:
    """The changes again. Raises `CorruptAnswer` for anything else."""
    place = 0
    while place < len(payload):
        start = place + _HEAD.size
        instant, *lengths = _HEAD.unpack(payload[place:start]) if start <= len(payload) else (0, len(payload), 0)
        middle = start + lengths[0]
        place = middle + lengths[1]
        if place > len(payload):
            raise CorruptAnswer(f"The changes of an answer are damaged: of {place:,} bytes {len(payload):,} are there.")
        yield Change(instant, payload[start:middle], payload[middle:place])


def _lasting(answer: Result, instant: int) -> Result:
    """The rows whose time is not over at an instant."""
    if answer.until is None:
        return answer
    lasting = answer.until > instant
    return Result.from_table(answer.solutions.take(lasting)).holding(answer.until[lasting])
