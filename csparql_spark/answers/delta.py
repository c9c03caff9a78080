"""Delta: what changes from one answer of a query to another one.

    before ──▶ rows that go: those that were to hold longer are revoked ──┐
    now ─────▶ rows that come; rows that stay, and hold till another time ┴──▶ folded into `before` it is `now` again

Of equal rows those stay that hold as long in both, then those that hold longest. An answer that has an order of its own
(ORDER BY) is a list: what goes has a place in `before`, what comes has one in `now`, and between the two the rest keeps
its order. All other answers are in the order of their terms, so nobody needs to be told their places.

    delta = delta_of(before, now)                  # answers of one query, of any kind
    delta.empty                                    # nothing has changed, nor until when anything holds
    delta.removed.table.rows(), delta.revoked(at)  # rows, and which of them went before their time
    folded(before, delta) == now                   # and so are its bytes

A truth value that changes is told anew. Of a graph triples come and go.

Invariants: `folded(before, delta_of(before, now))` has the bytes of `now`, as `folded(before, delta, …)` has those of
the last of several answers, whose changes are put together in one go. A row that stays is in no other part.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from csparql_spark.answers.bag_difference import compare, difference, numbered_alike, unshared
from csparql_spark.answers.bindings import Bindings, CorruptAnswer, Result, ResultKind, in_one_order
from csparql_spark.answers.ordering import in_order
from csparql_spark.kernel.sort import dense_ranks
from csparql_spark.relations.tags import NEVER

UNTOLD = NEVER  # until when a row holds of which that was not told
MOST_MOVES = 10_000  # rows of a list that are looked at one by one (5 ms), to see which of them have moved

Pair = tuple[np.ndarray, np.ndarray]
NOTHING = np.empty(0, dtype=np.int64)
NO_TRIPLES = Result.graph(b"")


class Delta(NamedTuple):
    """`kind` is that of the answers, and what there is not in such answers is empty. `stayed` are rows that hold till
    another time than before, which is `was`; the places are those of the rows of an answer that is in an order of its
    own: of what goes before, and of the others now. `timed`: until when rows hold is told now; `retimed`: that is
    otherwise than before. `truth`: what an ASK says now, if that is something else, or holds till another time."""

    kind: ResultKind

    added: Result
    removed: Result
    stayed: Result
    was: np.ndarray
    timed: bool = False
    retimed: bool = False
    added_places: np.ndarray | None = None
    removed_places: np.ndarray | None = None
    stayed_places: np.ndarray | None = None
    truth: Result | None = None
    fleeting: bool = False  # each answer is of its instant alone: nobody was told that its rows are there any longer

    @property
    def empty(self) -> bool:
        return not self.changed and not self.retimed

    @property
    def changed(self) -> int:
        """How many rows are told of."""
        return len(self.added) + len(self.removed) + len(self.stayed) + (self.truth is not None)

    @property
    def was_timed(self) -> bool:
        """Whether it was told until when the rows hold that stay."""
        return not len(self.was) or bool(self.was[0] != UNTOLD)

    def revoked(self, at: int) -> np.ndarray:
        """Of each row that has gone at an instant, whether it was told that it holds longer."""
        until = self.removed.until
        return np.zeros(len(self.removed), dtype=bool) if until is None or self.fleeting else until > at


def delta_of(before: Result, now: Result, *, listed: bool = False) -> Delta:
    """`listed`: the answers are in an order of their own."""
    delta = delta_within(before, now, len(before) + len(now) + 1, listed=listed)
    assert delta is not None  # no more rows than there are can come, go, or stay
    return delta


def delta_within(before: Result, now: Result, most: int, *, listed: bool = False) -> Delta | None:
    """The same; None if it would tell of more than so many rows, which is found out before they are put together."""
    if now.table is None:
        delta = _of_graph(before, now) if now.ntriples is not None else _of_truth(before, now)
        return delta if delta.changed <= most else None
    added, removed, (was, stayed) = (_of_lists if listed else _of_bags)(before, now)
    if len(added) + len(removed) + len(stayed) > most:
        return None
    places = (added, removed, stayed) if listed else ()
    timed, was_timed = now.until is not None, before.until is not None
    rows = now.take(added), before.take(removed), now.take(stayed)
    return Delta(now.kind, *rows, _until(before)[was], timed, timed != was_timed, *places)


def folded(before: Result, *deltas: Delta) -> Result:
    """The answer after changes, each of which is from the one before it. Raises `CorruptAnswer` where they show that
    they are from another one: what goes has to be there, and a place among the rows."""
    if any(delta.kind != before.kind for delta in deltas):
        raise CorruptAnswer(f"A {before.kind} answer has changes of another kind.")
    if before.table is None:
        if before.ntriples is None:
            return next((delta.truth for delta in reversed(deltas) if delta.truth is not None), before)
        return _folded_graph(before.ntriples, deltas)
    timed = deltas[-1].timed if deltas else before.until is not None
    changes = [delta for delta in deltas if delta.changed]
    if not changes:
        return before if timed == (before.until is not None) else before.holding(_until(before) if timed else None)
    answers = [before, *(part for delta in changes for part in (delta.added, delta.removed, delta.stayed) if len(part))]
    variables = before.solutions.variables
    if any(answer.solutions.variables != variables for answer in answers):
        raise CorruptAnswer("A change has other columns than its answer.")
    terms, coded = in_one_order([answer.solutions for answer in answers])
    rows = iter([Rows(ids, _until(answer)) for ids, answer in zip(coded, answers, strict=True)])
    fold = _folded_bag if changes[0].added_places is None else _folded_list
    ranks, until = fold(next(rows), changes, rows)
    table = Bindings.from_ids(variables, terms, ranks, len(until), in_order=True)
    return Result.from_table(table).holding(until if timed else None)


def _of_graph(before: Result, now: Result) -> Delta:
    return Delta("graph", difference(now, before), difference(before, now), NO_TRIPLES, NOTHING)


def _of_truth(before: Result, now: Result) -> Delta:
    other = None if before == now else now
    return Delta("boolean", NO_TRIPLES, NO_TRIPLES, NO_TRIPLES, NOTHING, truth=other)


def _of_bags(before: Result, now: Result) -> tuple[np.ndarray, np.ndarray, Pair]:
    """The rows that have come, in `now`; that have gone, in `before`; that hold till another time, in both."""
    mine, theirs, left, right, come, gone = compare(now, before)
    if now.until is None and before.until is None:
        return come, gone, (NOTHING, NOTHING)
    until, was = _until(now), _until(before)
    stays, stayed = np.delete(left, come), np.delete(right, gone)
    # Both have the same rows, each as often.
    stays = stays[np.lexsort((until[stays], mine[stays]))]
    stayed = stayed[np.lexsort((was[stayed], theirs[stayed]))]
    order = np.argsort(stays)
    return left[come], right[gone], (stayed[order], stays[order])


def _of_lists(before: Result, now: Result) -> tuple[np.ndarray, np.ndarray, Pair]:
    """The same of lists: a row that has another place among those that stay has gone and come."""
    mine, theirs = numbered_alike(now.solutions, before.solutions)
    come, gone = unshared([mine], [theirs])
    stays, stayed = np.delete(np.arange(len(mine)), come), np.delete(np.arange(len(theirs)), gone)
    # The n-th of equal rows is the n-th of them before.
    stays = stays[np.argsort(mine[stays], kind="stable")]
    stayed = stayed[np.argsort(theirs[stayed], kind="stable")]
    order = np.argsort(stays)
    stays, stayed = stays[order], stayed[order]
    kept = _increasing(stayed)
    come = np.sort(np.concatenate([come, stays[~kept]]))
    gone = np.sort(np.concatenate([gone, stayed[~kept]]))
    stays, stayed = stays[kept], stayed[kept]
    other = _until(now)[stays] != _until(before)[stayed]
    return come, gone, (stayed[other], stays[other])


def _increasing(places: np.ndarray) -> np.ndarray:
    """Which places are left where as few as possible are taken away so that the rest goes up. Of very many, those
    between the first and the last that are out of place are taken away."""
    kept = np.ones(len(places), dtype=bool)
    if np.all(places[1:] > places[:-1]):
        return kept
    highest, lowest = np.maximum.accumulate(places), np.minimum.accumulate(places[::-1])[::-1]
    wrong = np.flatnonzero((highest != places) | (lowest != places))
    first, last = int(wrong[0]), int(wrong[-1]) + 1
    kept[first:last] = False
    if last - first <= MOST_MOVES:
        kept[first + _longest_rise(places[first:last].tolist())] = True
    return kept


def _longest_rise(numbers: list[int]) -> np.ndarray:
    """The places of a longest part of different numbers that goes up."""
    ends: list[int] = []  # by length, the least number that such a part ends with
    places: list[int] = []  # and where that stands
    before: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(ends, number)
        if length == len(ends):
            ends.append(number)
            places.append(place)
        else:
            ends[length], places[length] = number, place
        before.append(places[length - 1] if length else -1)
    found, place = [], places[-1]
    while place >= 0:
        found.append(place)
        place = before[place]
    return np.array(found[::-1], dtype=np.int64)


class Rows(NamedTuple):
    """Rows of a table: the ranks of their terms, column by column, and until when they hold."""

    ranks: list[np.ndarray]
    until: np.ndarray

    def take(self, places: np.ndarray) -> Rows:
        return Rows([column[places] for column in self.ranks], self.until[places])


def _folded_bag(before: Rows, deltas: Sequence[Delta], parts: Iterator[Rows]) -> Rows:
    """Of all that was there and has come, what has gone is taken away, in one go: the order does not matter."""
    come, gone = [before], []
    for delta in deltas:
        if len(delta.added):
            come.append(next(parts))
        if len(delta.removed):
            gone.append(next(parts))
        if len(delta.stayed):
            stayed = next(parts)
            come.append(stayed)
            gone.append(Rows(stayed.ranks, delta.was))
    rows = _joined(come)
    if gone:
        less = _joined(gone)
        _, lasting = dense_ranks(np.concatenate([rows.until, less.until]))
        some, others = [*rows.ranks, lasting[: len(rows.until)]], [*less.ranks, lasting[len(rows.until) :]]
        left, lacking = unshared(some, others)
        if len(lacking):
            raise CorruptAnswer("A change takes rows away that are not in its answer.")
        rows = rows.take(left)
    if not rows.ranks:
        return Rows([], np.sort(rows.until)[::-1])
    ranks, until = in_order(rows.ranks, rows.until)
    return Rows(ranks, rows.until if until is None else until)


def _joined(parts: Sequence[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    return Rows(
        [np.concatenate(columns) for columns in zip(*(part.ranks for part in parts), strict=True)],
        np.concatenate([part.until for part in parts]),
    )


def _folded_list(rows: Rows, deltas: Sequence[Delta], parts: Iterator[Rows]) -> Rows:
    """By places, change by change."""
    for delta in deltas:
        removed, added, stayed = delta.removed_places, delta.added_places, delta.stayed_places
        if removed is None or added is None or stayed is None:
            raise CorruptAnswer("A change of a list has no places.")
        come = next(parts) if len(added) else None
        if len(removed):
            _same_rows(rows, removed, next(parts))
            rows = rows.take(np.delete(np.arange(len(rows.until)), removed))
        if come is not None:
            count = len(rows.until) + len(added)
            _among(added, count)
            new = np.zeros(count, dtype=bool)
            new[added] = True
            order = np.empty(count, dtype=np.int64)
            order[~new], order[new] = np.arange(len(rows.until)), np.arange(len(rows.until), count)
            rows = _joined([rows, come]).take(order)
        if len(stayed):
            still = next(parts)
            _same_rows(rows, stayed, Rows(still.ranks, delta.was))
            until = rows.until.copy()
            until[stayed] = still.until
            rows = Rows(rows.ranks, until)
    return rows


def _same_rows(rows: Rows, places: np.ndarray, others: Rows) -> None:
    _among(places, len(rows.until))
    mine = rows.take(places)
    columns = zip([*mine.ranks, mine.until], [*others.ranks, others.until], strict=True)
    if not all(np.array_equal(one, other) for one, other in columns):
        raise CorruptAnswer("A change of a list has other rows at its places than its answer.")


def _among(places: np.ndarray, count: int) -> None:
    if int(places[-1]) >= count:
        raise CorruptAnswer("A change of a list has places outside its answer.")


def _folded_graph(triples: bytes, deltas: Sequence[Delta]) -> Result:
    lines = set(triples.splitlines(keepends=True))
    for delta in deltas:
        come, gone = (part.triples.splitlines(keepends=True) for part in (delta.added, delta.removed))
        if not lines.issuperset(gone) or not lines.isdisjoint(come):
            raise CorruptAnswer("A change of a graph is not one of its triples.")
        lines.difference_update(gone)
        lines.update(come)
    return Result.graph(b"".join(sorted(lines)))


def _until(answer: Result) -> np.ndarray:
    return np.full(len(answer), UNTOLD) if answer.until is None else answer.until
