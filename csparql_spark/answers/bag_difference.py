"""What is new and what has ceased: the difference of two answers, as bags of rows or as sets of triples.

    difference(now, before)      # ISTREAM: a row that was there once and is there three times is new twice
    difference(before, now)      # DSTREAM
    unshared(now, before)        # of columns of ids: the rows of either that have no equal in the other

Of equal rows that say until when they hold, those that hold as long in both answers are the ones that were there; then
those that hold longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from csparql_spark.answers.bindings import Bindings, Result, of_the_same_terms
from csparql_spark.answers.tables import UNBOUND
from csparql_spark.kernel.rows import dense_rows, unpaired
from csparql_spark.kernel.sort import dense_ranks
from csparql_spark.kernel.terms import distinct

FEW = 16  # rows of both that are compared one by one: columns take more calls than these have cells


def difference(answer: Result, other: Result | None) -> Result:
    """What is in the answer and not in the other, which is of the same query (None: empty), in the answer's order."""
    if other is None:
        return answer
    if answer.ntriples is not None:
        known = set(other.triples.splitlines(keepends=True))
        return Result.graph(b"".join(line for line in answer.ntriples.splitlines(keepends=True) if line not in known))
    compared = compare(answer, other)
    new = compared.left[compared.come]
    changed = Result.from_table(answer.solutions.take(new))
    return changed if answer.until is None else changed.holding(answer.until[new])


class BagComparison(NamedTuple):
    """Two tables as bags: the numbers of their rows, the same for equal ones; the places `left` and `right` of those
    that do not hold as long in the other; and among these places, of those that have no equal there at all."""

    mine: np.ndarray
    theirs: np.ndarray
    left: np.ndarray
    right: np.ndarray
    come: np.ndarray
    gone: np.ndarray


def compare(answer: Result, other: Result) -> BagComparison:
    mine, theirs = numbered_alike(answer.solutions, other.solutions)
    left, right = np.arange(len(mine)), np.arange(len(theirs))
    if answer.until is not None and other.until is not None:
        _, lasting = dense_ranks(np.concatenate([answer.until, other.until]))
        left, right = unshared([mine, lasting[: len(mine)]], [theirs, lasting[len(mine) :]])
    return BagComparison(mine, theirs, left, right, *unshared([mine[left]], [theirs[right]]))


def unshared(mine: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The places of the rows of two bags, given as columns of numbers from -1 on, that have no equal in the other. Of
    equal rows, those before find theirs."""
    count = len(mine[0])
    if count + len(theirs[0]) <= FEW:
        some, others = (list(zip(*(column.tolist() for column in columns))) for columns in (mine, theirs))
        return _alone(some, others), _alone(others, some)
    numbers, firsts = dense_rows([np.concatenate(pair) for pair in zip(mine, theirs, strict=True)])
    return unpaired(numbers, count, len(firsts))


def _alone(rows: list[tuple[int, ...]], others: list[tuple[int, ...]]) -> np.ndarray:
    """The same for few rows, one by one: the places of those that have no equal."""
    there: dict[tuple[int, ...], int] = {}
    for row in others:
        there[row] = there.get(row, 0) + 1
    places = []
    for place, row in enumerate(rows):
        count = there.get(row, 0)
        if count:
            there[row] = count - 1
        else:
            places.append(place)
    return np.array(places, dtype=np.int64)


def numbered_alike(mine: Bindings, theirs: Bindings) -> tuple[np.ndarray, np.ndarray]:
    """A number for each row of both tables, the same for equal rows. No term is told twice for it."""
    if not mine.variables:
        return np.zeros(mine.length, dtype=np.int64), np.zeros(theirs.length, dtype=np.int64)
    if (shared := of_the_same_terms([mine, theirs])) is not None:
        _, (ids, other_ids) = shared
        numbers, _ = dense_rows([np.concatenate(pair) for pair in zip(ids, other_ids, strict=True)])
        return numbers[: mine.length], numbers[mine.length :]
    (terms, ids), (others, other_ids) = mine.encoded(), theirs.encoded()
    _, codes = distinct(pa.concat_arrays([terms, others]))
    codes = np.append(codes, np.int32(UNBOUND))  # the last is of what is unbound
    columns = [
        codes[np.concatenate([own, np.where(other < 0, UNBOUND, other + len(terms))])]
        for own, other in zip(ids, other_ids, strict=True)
    ]
    numbers, _ = dense_rows(columns)
    return numbers[: mine.length], numbers[mine.length :]
