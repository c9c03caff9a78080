"""Answer batch: answers on their way into the store, each as a whole or as what has changed since the one before.

    batch = AnswerBatch(newest)
    batch.add(StoredAnswer(17, 18_000, 0, 500, payload))               # compared with the newest one, if that may help
    batch.wants_change(17, 19_000, since=18_000, rows=501, changed=1)  # True: so nobody needs make that whole
    batch.add(StoredAnswer(17, 19_000, 0, 501, change, since=18_000))
    with database.transaction() as connection:
        batch.write(connection)
    batch.written()

What is stored of each query is known from the table, and remembered from one batch to the next; that somebody else has
written meanwhile, the positions tell, and then it is looked up again. Answers are prepared, and compared, before the
transaction: nobody waits for that.

Invariants: what is written is a function of what is stored and of the answers, however these are cut into batches. What
the store has, or has forgotten, is passed over.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import NamedTuple

from csparql_spark.disk.checksum import AnswerHead, answer_sum
from csparql_spark.disk.errors import StoreError
from csparql_spark.store import keyframes
from csparql_spark.store.keyframes import LEAST_ROWS, Newest
from csparql_spark.store.newest_answers import KnownWhole, NewestAnswers, PartKey, StoredState, head
from csparql_spark.store.packing import packed
from csparql_spark.store.stored_answers import StoredAnswer

# What is forgotten was told, too: an engine that starts from the log again may come to it again. What a change is from
# is there before it.
_INSERT = (
    "INSERT OR IGNORE INTO answers (query, instant, part, rows, payload, since, frame, weight, size, checksum) "
    "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 WHERE NOT EXISTS "
    "(SELECT 1 FROM forgotten WHERE query = ?1 AND instant >= ?2) AND NOT EXISTS "
    "(SELECT 1 FROM failures WHERE query = ?1) AND (?6 IS NULL OR EXISTS "
    "(SELECT 1 FROM answers WHERE query = ?1 AND instant = ?6 AND part = ?3))"
)


class PreparedRow(NamedTuple):
    query: int
    instant: int
    part: int
    rows: int
    payload: bytes
    since: int | None
    frame: int
    weight: int
    size: int
    checksum: int


class HandedChanges(NamedTuple):
    """Changes that are not stored yet, and the whole that they are from: it is stored, if it is not known."""

    since: int
    whole: KnownWhole | None
    changes: tuple[bytes, ...]


class AnswerBatch:
    def __init__(self, newest: NewestAnswers) -> None:
        self._known = newest
        self._answers: list[StoredAnswer] = []
        self._head = 0
        self._begin()

    def _begin(self) -> None:
        self._rows: list[PreparedRow] = []
        self._older: list[PreparedRow] = []  # that are in the store, or have been, most likely
        self._states: dict[PartKey, StoredState] = {}
        self._wholes: dict[PartKey, KnownWhole | HandedChanges] = {}  # the newest ones

    def __len__(self) -> int:
        return len(self._answers)

    def add(self, answer: StoredAnswer) -> None:
        """The next answer; those of a query come in the order of their instants. A change that is not kept as one is
        made whole. Raises `StoreError` where what it is from cannot be read."""
        self._answers.append(answer)
        self._prepare(answer)

    def wants_change(self, query: int, instant: int, since: int, rows: int, changed: int) -> bool:
        """Whether the answer of a query at an instant, which has so many rows, would be stored as what has changed
        since the instant `since`, which is so many rows."""
        newest = self._state((query, 0)).newest
        return (
            newest is not None and since == newest.instant < instant and keyframes.keeps_change(newest, rows, changed)
        )

    def write(self, connection: sqlite3.Connection) -> None:
        """Within a transaction. Where others have written, or have taken away what changes are from, all is prepared
        once more: now nobody comes in between."""
        if not self._known.is_current(connection, {answer.query for answer in self._answers}):
            self._prepare_again()
        connection.execute("SAVEPOINT batch")
        if not self._inserted(connection):
            connection.execute("ROLLBACK TO batch")
            self._known.forget({answer.query for answer in self._answers})
            self._prepare_again()
            if not self._inserted(connection):
                raise StoreError("answers are not stored, and nobody knows why: what changes are from is not there")
        connection.execute("RELEASE batch")
        self._head = head(connection)

    def written(self) -> None:
        """The transaction is over, and all is stored."""
        wholes = {key: self._kept(key) for key in self._wholes}
        self._known.note(self._head, self._states, wholes)

    def _kept(self, key: PartKey) -> KnownWhole | None:
        """The whole that the next answer may be compared with: none of few rows, nor where a change was handed over."""
        whole, newest = self._wholes[key], self._states[key].newest
        return whole if isinstance(whole, KnownWhole) and newest and newest.rows >= LEAST_ROWS else None

    def _prepare_again(self) -> None:
        self._begin()
        for answer in self._answers:
            self._prepare(answer)

    def _inserted(self, connection: sqlite3.Connection) -> bool:
        """Whether all rows were inserted that the store should take."""
        # Positions are given in this order: the instants of a query one after the other, the parts of one together.
        new = sorted(self._rows, key=lambda row: (row.instant, row.query, row.part))
        if self._older:
            connection.executemany(_INSERT, self._older)
        return not new or connection.executemany(_INSERT, new).rowcount == len(new)

    def _state(self, key: PartKey) -> StoredState:
        found = self._states.get(key)
        return self._known.state(key) if found is None else found

    def _prepare(self, answer: StoredAnswer) -> None:
        key = answer.query, answer.part
        state = self._state(key)
        if not state.takes(answer.instant):
            if answer.since is None:
                self._older.append(_row(answer, answer.payload, _after_whole(answer)))
            return
        newest = state.newest
        if answer.since is not None and newest is None and not self._known.is_registered(answer.query):
            return  # it was deleted, and all that it said
        after = None if answer.since is None or newest is None else self._after(answer, newest)
        if after is None and answer.since is not None:
            answer = self._made_whole(key, answer, answer.since, newest)
        if after is not None:
            self._wholes[key] = self._handed(key, answer)
            self._rows.append(_row(answer, answer.payload, after, answer.since))
        else:
            payload, after = self._compared(key, answer, newest)
            self._rows.append(_row(answer, payload, after, None if after.changes == 0 else newest and newest.instant))
        self._states[key] = state._replace(newest=after)

    def _after(self, answer: StoredAnswer, newest: Newest) -> Newest | None:
        """The newest answer where this change is stored; None if it is not kept as one: others have written meanwhile,
        or its texts are long."""
        from csparql_spark.answers.delta_bytes import changed_rows

        changed, size = changed_rows(answer.payload), len(answer.payload)
        kept = answer.since == newest.instant and keyframes.keeps_change(newest, answer.rows, changed)
        if not kept or not keyframes.keeps_size(newest, size):
            return None
        return keyframes.after_change(newest, answer.instant, answer.rows, changed=changed, size=size)

    def _made_whole(self, key: PartKey, answer: StoredAnswer, since: int, newest: Newest | None) -> StoredAnswer:
        """The answer that a change leads to."""
        known = newest is not None and newest.instant == since
        before = self._before(key, newest) if newest is not None and known else self._known.read_whole(key, since)
        whole = None if before is None else before.after((answer.payload,), answer.instant)
        if whole is None:
            raise StoreError(
                f"the change of the query {answer.query} at {answer.instant} cannot be stored: what it is from, the "
                f"answer at {since}, cannot be read; the newest one that is stored is {newest}"
            )
        return replace(answer, content=whole.payload, since=None)

    def _compared(self, key: PartKey, answer: StoredAnswer, newest: Newest | None) -> tuple[bytes, Newest]:
        """What is stored of a whole answer."""
        now = KnownWhole(answer.instant, answer.payload)
        if newest is not None and keyframes.may_change(newest, answer.rows):
            before = self._before(key, newest)
            most = keyframes.most_changed(newest, answer.rows)
            change = None if before is None else before.change_to(now, most, listed=answer.listed)
            if change is not None and keyframes.keeps_size(newest, size := len(change.payload)):
                self._wholes[key] = now if change.changed or before is None else before.again(answer.instant)
                return change.payload, keyframes.after_change(
                    newest, answer.instant, answer.rows, changed=change.changed, size=size
                )
        self._wholes[key] = now
        return answer.payload, _after_whole(answer)

    def _handed(self, key: PartKey, answer: StoredAnswer) -> HandedChanges:
        """The newest answer of a part after a change that was handed over."""
        since = answer.since or 0
        before = self._wholes.get(key) or self._known.whole(key, since)
        if isinstance(before, HandedChanges):
            return before._replace(changes=(*before.changes, answer.payload))
        return HandedChanges(since, before, (answer.payload,))

    def _before(self, key: PartKey, newest: Newest) -> KnownWhole | None:
        """The newest answer that is stored, or will be with these; None if it cannot be read."""
        before = self._wholes.get(key) or self._known.whole(key, newest.instant)
        if before is None:
            return self._known.read_whole(key, newest.instant)
        if isinstance(before, KnownWhole):
            return before
        whole = before.whole or self._known.read_whole(key, before.since)
        return None if whole is None else whole.after(before.changes, newest.instant)


def _after_whole(answer: StoredAnswer) -> Newest:
    return keyframes.after_whole(answer.instant, answer.rows, len(answer.payload))


def _row(answer: StoredAnswer, payload: bytes, after: Newest, since: int | None = None) -> PreparedRow:
    stored = packed(payload)
    chain = since, after.frame, after.weight, len(payload)
    said = AnswerHead(answer.query, answer.instant, answer.part, answer.rows, *chain)
    return PreparedRow(*said[:4], stored, *chain, answer_sum(said, stored))
