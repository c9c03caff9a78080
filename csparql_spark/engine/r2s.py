"""R2S: what members say that tell what is new (ISTREAM) or has ceased (DSTREAM) since their instant before.

    rows now     ──┐
                   ├─▶ as bags: what has come, what has gone ─▶ only this becomes terms, and is kept
    rows before  ──┘

Where answers are maintained, rows are compared as ids, so that what is the same costs little and is never written. The
others are compared as they would be told. Both say the same. A member's `before` is what is kept of it; the rows are
held beside it for as long as it is the one that they were held for.

    r2s = RelationToStream(content)
    r2s.maintained(member, evaluator, widest, instant)      # the answer to be told
    r2s.whole(member, payload)                              # from the bytes of a whole answer
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from csparql_spark.answers.bag_difference import difference, unshared
from csparql_spark.answers.bindings import Result
from csparql_spark.answers.incremental import Incremental
from csparql_spark.answers.last_answer import LastAnswer
from csparql_spark.answers.over_ids import Plan
from csparql_spark.answers.tables import UNBOUND, Table
from csparql_spark.engine.member import Member
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.windows.content import Content
from csparql_spark.windows.rule import ends_of


def by_rows(plan: Plan) -> bool:
    """Whether the answers of a plan can be compared as bags of ids."""
    return plan.form == "SELECT" and not plan.ordered and bool(plan.variables)


@dataclass(eq=False)
class LastRows:
    """The rows that a member answered last: their tags are until when they hold."""

    before: LastAnswer
    rows: Table
    version: tuple[Incremental, int]  # who said it, and of which version of what is looked at


class RelationToStream:
    def __init__(self, content: Content) -> None:
        self._last: dict[int, LastRows] = {}
        content.dictionary.holders.append(self)

    def maintained(self, member: Member, evaluator: Incremental, widest: int | None, instant: int) -> Result:
        """What a member tells at an instant whose answers `evaluator` maintains. `widest` is its widest RANGE; None if
        it counts, and nobody knows until when its rows hold."""
        last, version = self._last.get(member.id), (evaluator, evaluator.version)
        if last is not None and last.before is not member.before:  # the group has come back from what is kept
            last = None
        if last is not None and last.version == version:
            return evaluator.answer_of(last.rows.take(slice(0)))
        rows = _until(evaluator.rows(), widest)
        if last is None or (rows.tag is None) != (last.rows.tag is None):
            answer, before = self._whole(member, answer_of(evaluator, widest).to_bytes())
        else:
            new_rows, old_rows = unshared(*_columns(rows, last.rows))
            come, gone = rows.take(new_rows), last.rows.take(old_rows)
            ended = None if gone.tag is None else gone.tag <= instant
            new, before = evaluator.answer_of(come), last.before
            before.change(instant, evaluator.answer_of(gone if ended is None else gone.take(~ended)), new)
            mine, others = (come, gone) if member.query.output == "ISTREAM" else (gone, come)
            alone = unshared(list(mine.columns.values()), list(others.columns.values()))[0]
            answer = new if mine is come else evaluator.answer_of(mine)
            if len(alone) < mine.length:  # some hold longer, or shorter, than before: that is no change
                answer = difference(answer, evaluator.answer_of(others))
            if before.worn:
                whole = answer_of(evaluator, widest)
                before = member.before = LastAnswer(whole.to_bytes(), length=len(whole))
        self._last[member.id] = LastRows(before, rows, version)
        return answer

    def whole(self, member: Member, payload: bytes) -> Result:
        """What a member tells whose whole answer is this."""
        return self._whole(member, payload)[0]

    def _whole(self, member: Member, payload: bytes) -> tuple[Result, LastAnswer]:
        """And what is kept of it."""
        before, member.before = member.before, (record := LastAnswer(payload))
        self._last.pop(member.id, None)
        now = Result.from_bytes(payload)
        then = before.answer() if before is not None else difference(now, now)  # nothing, of its kind
        return difference(now, then) if member.query.output == "ISTREAM" else difference(then, now), record

    def nbytes(self, member: Member) -> int:
        """What is held of its last answer."""
        last = self._last.get(member.id)
        return (0 if last is None else last.rows.nbytes) + (0 if member.before is None else member.before.nbytes)

    def forget(self, members: Collection[int]) -> None:
        """Drop what is held for others than these."""
        for id in self._last.keys() - members:
            del self._last[id]

    def terms(self) -> np.ndarray:
        """The ids that are held."""
        parts = [column[column != UNBOUND] for last in self._last.values() for column in last.rows.columns.values()]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def renumber(self, table: np.ndarray) -> None:
        for last in self._last.values():
            last.rows = Table(
                {
                    name: np.where(column == UNBOUND, UNBOUND, table[column])
                    for name, column in last.rows.columns.items()
                },
                last.rows.length,
                last.rows.tag,
            )


def _until(rows: Table, widest: int | None) -> Table:
    """Rows with until when they hold in the place of their tags."""
    return Table(rows.columns, rows.length, _instants(rows.tag, widest))


def _columns(rows: Table, others: Table) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The columns of both, and until when their rows hold as small numbers."""
    mine, theirs = list(rows.columns.values()), list(others.columns.values())
    if rows.tag is not None:
        until = np.concatenate([rows.tag, others.tag])
        ending = until != ALWAYS
        until = np.where(ending, until - until.min(initial=ALWAYS) + 1, 0)
        mine.append(until[: rows.length])
        theirs.append(until[rows.length :])
    return mine, theirs


def answer_of(evaluator: Incremental, widest: int | None) -> Result:
    """The whole answer of an evaluator, saying until when its rows hold."""
    answer = evaluator.answer()
    return answer.holding(_instants(evaluator.until(), widest))


def _instants(tags: np.ndarray | None, widest: int | None) -> np.ndarray | None:
    """The instants up to which tags hold, in a window so wide."""
    return None if tags is None or widest is None else ends_of(tags, widest)
