"""Changing: what members say that tell what is new (ISTREAM) or has ceased (DSTREAM) since their instant before.

    rows now     ──┐
                   ├─▶ as bags: what has come, what has gone ─▶ only this becomes terms, and is kept
    rows before  ──┘

Where answers are maintained, rows are compared as ids, so that what is the same costs little and is never written. The
others are compared as they would be told. Both say the same. A member's `before` is what is kept of it; the rows are
held beside it for as long as it is the one that they were held for.

    changing = Changing(content)
    changing.maintained(member, evaluator, widest, instant)      # the answer to be told
    changing.whole(member, payload)                              # from the bytes of a whole answer
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from csparql_spark.answers.bag_difference import difference, unshared
from csparql_spark.answers.bindings import Answer
from csparql_spark.answers.incremental import Incremental
from csparql_spark.answers.last_answer import Before
from csparql_spark.answers.over_ids import Plan
from csparql_spark.answers.tables import UNBOUND, Table
from csparql_spark.engine.member import Member
from csparql_spark.windows.content import ALWAYS, Content
from csparql_spark.windows.rule import ends_of


def by_rows(plan: Plan) -> bool:
    """Whether the answers of a plan can be compared as bags of ids."""
    return plan.form == "SELECT" and not plan.ordered and bool(plan.variables)


@dataclass(eq=False)
class LastRows:
    """The rows that a member answered last: their tags are until when they hold."""

    before: Before
    rows: Table
    seen: tuple[Incremental, int]        # who said it, and of which version of what is seen


class Changing:
    def __init__(self, content: Content) -> None:
        self._held: dict[int, LastRows] = {}
        content.dictionary.holders.append(self)

    def maintained(self, member: Member, evaluator: Incremental, widest: int, instant: int) -> Answer:
        """What a member tells at an instant whose answers `evaluator` maintains, `widest` being its widest RANGE."""
        held, seen = self._held.get(member.id), (evaluator, evaluator.version)
        if held is not None and held.before is not member.before:        # the group has come back from what is kept
            held = None
        if held is not None and held.seen == seen:
            return evaluator.answer_of(held.rows.take(slice(0)))
        rows = _until(evaluator.rows(), widest)
        if held is None or (rows.tag is None) != (held.rows.tag is None):
            answer = self.whole(member, answer_of(evaluator, widest).to_bytes())
        else:
            come, gone = unshared(*_columns(rows, held.rows))
            come, gone = rows.take(come), held.rows.take(gone)
            ended = None if gone.tag is None else gone.tag <= instant
            new = evaluator.answer_of(come)
            member.before.change(instant, evaluator.answer_of(gone if ended is None else gone.take(~ended)), new)
            told, others = (come, gone) if member.query.output == "ISTREAM" else (gone, come)
            alone = unshared(list(told.columns.values()), list(others.columns.values()))[0]
            answer = new if told is come else evaluator.answer_of(told)
            if len(alone) < told.length:          # some hold longer, or shorter, than before: that is no change
                answer = difference(answer, evaluator.answer_of(others))
            if member.before.worn:
                member.before = Before(answer_of(evaluator, widest).to_bytes())
        self._held[member.id] = LastRows(member.before, rows, seen)
        return answer

    def whole(self, member: Member, payload: bytes) -> Answer:
        """What a member tells whose whole answer is this."""
        before, member.before = member.before, Before(payload)
        self._held.pop(member.id, None)
        now = Answer.from_bytes(payload)
        then = before.answer() if before is not None else difference(now, now)       # nothing, of its kind
        return difference(now, then) if member.query.output == "ISTREAM" else difference(then, now)

    def nbytes(self, member: Member) -> int:
        """What is held of its last answer."""
        held = self._held.get(member.id)
        return ((0 if held is None else held.rows.nbytes)
                + (0 if member.before is None else member.before.nbytes))

    def forget(self, members: Collection[int]) -> None:
        """Drop what is held for others than these."""
        for id in self._held.keys() - members:
            del self._held[id]

    def terms(self) -> np.ndarray:
        """The ids that are held."""
        parts = [column[column != UNBOUND] for held in self._held.values() for column in held.rows.columns.values()]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def renumber(self, table: np.ndarray) -> None:
        for held in self._held.values():
            held.rows = Table({name: np.where(column == UNBOUND, UNBOUND, table[column])
                               for name, column in held.rows.columns.items()}, held.rows.length, held.rows.tag)


def _until(rows: Table, widest: int) -> Table:
    """Rows with until when they hold in the place of their tags."""
    return Table(rows.columns, rows.length, _instants(rows.tag, widest))


def _columns(rows: Table, others: Table) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The columns of both, and until when their rows hold as small numbers."""
    mine, theirs = list(rows.columns.values()), list(others.columns.values())
    if rows.tag is not None:
        until = np.concatenate([rows.tag, others.tag])
        ending = until != ALWAYS
        until = np.where(ending, until - until.min(initial=ALWAYS) + 1, 0)
        mine.append(until[:rows.length])
        theirs.append(until[rows.length:])
    return mine, theirs


def answer_of(evaluator: Incremental, widest: int) -> Answer:
    """The whole answer of an evaluator, saying until when its rows hold."""
    answer = evaluator.answer()
    return answer.holding(_instants(evaluator.until(), widest))


def _instants(tags: np.ndarray | None, widest: int) -> np.ndarray | None:
    """The instants up to which tags hold, in a window so wide."""
    return None if tags is None else ends_of(tags, widest)
