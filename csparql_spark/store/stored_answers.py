"""Stored answers: what a query said at an instant, as it is handed to the store, and as it is read.

    StoredAnswer(query=17, instant=1700000000000, part=0, rows=2, content=answer.to_bytes())
    answer.result, answer.payload                      # the same, as a `Result` and as its bytes

A row of the table `answers` is a whole, or a change: what has changed since the answer at `since` (see `keyframes`).
What is read is whole, whatever is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from csparql_spark.disk.checksum import AnswerHead, answer_sum
from csparql_spark.disk.damage import PAYLOAD, Damage, answer_damage
from csparql_spark.store.packing import unpacked

if TYPE_CHECKING:
    from csparql_spark.answers.bindings import Result


@dataclass(frozen=True, slots=True, eq=False)
class StoredAnswer:
    """`content`: the whole, as bytes of a `Result` or as one; `damage` says why there is none. What is handed to the
    store may be a change since an instant instead, as bytes of a `Delta` (see `AnswerBatch`); `listed`: the answers of
    the query are in an order of their own."""

    query: int
    instant: int
    part: int
    rows: int
    content: bytes | Result
    position: int = 0
    damage: str | None = None
    listed: bool = False
    since: int | None = None

    @property
    def payload(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else self.content.to_bytes()

    @property
    def result(self) -> Result:
        """Raises `CorruptAnswer`."""
        if not isinstance(self.content, bytes):
            return self.content
        from csparql_spark.answers.bindings import Result  # who only writes what others have made need not wait for it

        return Result.from_bytes(self.content)

    @property
    def size(self) -> int:
        """Bytes that it takes, about; no term has more."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.nbytes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StoredAnswer):
            return NotImplemented
        return self._told() == other._told()

    def __hash__(self) -> int:
        return hash((self.query, self.instant, self.part))

    def _told(self) -> tuple[object, ...]:
        return self.query, self.instant, self.part, self.rows, self.payload, self.position, self.damage


class AnswerRow(NamedTuple):
    """As it was written; what is damaged need not even be of these types."""

    query: int
    instant: int
    part: int
    rows: int
    payload: bytes
    position: int
    since: int | None
    frame: int | None
    weight: int | None
    size: int | None
    checksum: int | None

    @property
    def unpacked(self) -> bytes:
        """Raises `ValueError`."""
        return unpacked(self.payload, self.size)


COLUMNS = ", ".join(AnswerRow._fields)
# Bytes of the payload, also of one from before that was noted; what is damaged may be of any type.
SIZE = "iif(typeof(size) = 'integer', size, length(payload))"
FROM_ANOTHER = "it is told as what has changed since another one"  # why one may be damaged where another one is


def damage_of(row: AnswerRow) -> Damage | None:
    """What is damaged of an answer."""
    numbers, chain = row[:4], row[6:10]
    formed = all(type(number) is int for number in numbers) and isinstance(row.payload, bytes)
    unchecked = row.checksum is None and row.frame is None
    if formed and (unchecked or row.checksum == answer_sum(AnswerHead(*numbers, *chain), row.payload)):
        return None
    return answer_damage(row.position, row.query, row.instant, PAYLOAD)
