"""What is new and what has ceased: the difference of two answers, as bags of rows or as sets of triples.

    difference(now, before)      # ISTREAM: a row that was there once and is there three times is new twice
    difference(before, now)      # DSTREAM
    unshared(now, before)        # of columns of ids: the rows of either that have no equal in the other

Of equal rows that say until when they hold, those that hold as long in both answers are the ones that were there; then
those that hold longest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from csparql_spark.answers.bindings import Answer, Bindings
from csparql_spark.answers.tables import numbered
from csparql_spark.relations.keys import ordered, stable_order_of


def difference(answer: Answer, other: Answer | None) -> Answer:
    """What is in the answer and not in the other, which is of the same query (None: empty), in the answer's order."""
    if other is None:
        return answer
    if answer.ntriples is not None:
        known = set(other.ntriples.splitlines(keepends=True))
        return Answer.graph(b"".join(line for line in answer.ntriples.splitlines(keepends=True) if line not in known))
    mine, theirs = answer.table, other.table
    ids = _numbered(mine, theirs)
    left, right = np.arange(mine.length), mine.length + np.arange(theirs.length)
    if answer.until is not None and other.until is not None:
        _, lasting = np.unique(np.concatenate([answer.until, other.until]), return_inverse=True)
        elements = np.unique(np.stack([ids, lasting], axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        left, right = left[_new(elements[left], elements[right])], right[_new(elements[right], elements[left])]
    new = left[_new(ids[left], ids[right])]
    changed = Answer.from_table(mine.take(new))
    return changed if answer.until is None else changed.holding(answer.until[new])


def unshared(mine: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The places of the rows of two bags, given as columns of numbers from -1 on, that have no equal in the other."""
    count = len(mine[0])
    numbers = numbered([np.concatenate(pair) for pair in zip(mine, theirs, strict=True)])
    order = stable_order_of(numbers)                            # of equal rows, mine come first
    values, first = numbers[order], order < count
    same = np.concatenate([[False], values[1:] == values[:-1], [False]])           # as the one before
    # Most rows are there once in either: these go at once, and few are left to be counted.
    pair = same[1:-1] & ~same[:-2] & ~same[2:] & first[:-1] & ~first[1:]
    left = np.ones(len(order), dtype=bool)
    left[:-1] &= ~pair
    left[1:] &= ~pair
    order, values, first = order[left], values[left], first[left]
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]])) if len(values) else order
    sizes = np.diff(np.append(starts, len(values)))
    run = np.repeat(np.arange(len(starts)), sizes)
    of_mine = np.bincount(run[first], minlength=len(starts))[run]
    nth = np.arange(len(values)) - starts[run]
    alone = np.where(first, nth >= sizes[run] - of_mine, nth - of_mine >= of_mine)
    places = ordered(order[alone])
    split = int(places.searchsorted(count))
    return places[:split], places[split:] - count


def _new(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Which of my numbers are not among theirs, as bags."""
    return ~_among(_occurrences(mine), _occurrences(theirs))


def _numbered(mine: Bindings, theirs: Bindings) -> np.ndarray:
    """One number for each row of both tables, the same for equal rows."""
    total = mine.length + theirs.length
    number = np.zeros(total, dtype=np.int64)
    for first, second in zip(mine.columns, theirs.columns, strict=True):
        codes = pa.concat_arrays([first, second]).dictionary_encode(null_encoding="encode").indices.to_numpy()
        # Numbers stay small: each step renumbers the distinct pairs.
        _, number = np.unique(number * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    return number


def _occurrences(numbers: np.ndarray) -> np.ndarray:
    """Each row's number with which of its repetitions it is: the bag as a set."""
    order = stable_order_of(numbers)
    values = numbers[order]
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1]))) if len(values) else values
    lengths = np.diff(np.append(starts, len(values)))
    nth = np.empty(len(numbers), dtype=np.int64)
    nth[order] = np.arange(len(values)) - np.repeat(starts, lengths)
    return np.stack([numbers, nth], axis=1)


def _among(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    width = int(max(mine[:, 1].max(initial=0), theirs[:, 1].max(initial=0))) + 1
    return np.isin(mine[:, 0] * width + mine[:, 1], theirs[:, 0] * width + theirs[:, 1])
