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

Invariants: `folded(before, delta_of(before, now))` has the bytes of `now`. A row that stays is in no other part.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from csparql_spark.answers.bag_difference import compare, difference, numbered_alike, unshared
from csparql_spark.answers.bag_union import in_row_order, united
from csparql_spark.answers.bindings import Result, ResultKind
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
        rows = len(self.added) + len(self.removed) + len(self.stayed)
        return self.truth is None and not rows and not self.retimed

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
    if now.table is None:
        return _of_graph(before, now) if now.ntriples is not None else _of_truth(before, now)
    added, removed, (was, stayed) = (_of_lists if listed else _of_bags)(before, now)
    rows = _rows(now, added), _rows(before, removed), _rows(now, stayed)
    places = (added, removed, stayed) if listed else ()
    timed, was_timed = now.until is not None, before.until is not None
    return Delta(now.kind, *rows, _until(before)[was], timed, timed != was_timed, *places)


def folded(before: Result, delta: Delta) -> Result:
    """The answer after a change."""
    if before.table is None:
        if before.ntriples is None:
            return before if delta.truth is None else delta.truth
        left = difference(before, delta.removed).triples.splitlines(keepends=True)
        return Result.graph(b"".join(sorted([*left, *delta.added.triples.splitlines(keepends=True)])))
    if delta.added_places is not None and delta.removed_places is not None:
        return _folded_list(before, delta, delta.removed_places)
    rest = before.holding(_until(before))
    if len(delta.removed) or len(delta.stayed):
        removed = delta.removed.holding(_until(delta.removed))
        rest = difference(rest, united([removed, delta.stayed.holding(delta.was)]))
    come = [one.holding(_until(one)) for one in (delta.added, delta.stayed)]
    return _told(in_row_order(united([rest, *come])), delta)


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


def _folded_list(before: Result, delta: Delta, removed: np.ndarray) -> Result:
    rest = _rows(before, np.delete(np.arange(len(before)), removed))
    count = len(rest) + len(delta.added)
    new = np.zeros(count, dtype=bool)
    new[delta.added_places] = True
    order = np.empty(count, dtype=np.int64)
    order[~new], order[new] = np.arange(len(rest)), np.arange(len(rest), count)
    table = united([rest, delta.added]).solutions.take(order)
    until = np.concatenate([_until(rest), _until(delta.added)])[order]
    until[delta.stayed_places] = _until(delta.stayed)
    return _told(Result.from_table(table).holding(until), delta)


def _rows(answer: Result, places: np.ndarray) -> Result:
    rows = Result.from_table(answer.solutions.take(places))
    return rows if answer.until is None else rows.holding(answer.until[places])


def _until(answer: Result) -> np.ndarray:
    return np.full(len(answer), UNTOLD) if answer.until is None else answer.until


def _told(answer: Result, delta: Delta) -> Result:
    return answer if delta.timed else answer.holding(None)
