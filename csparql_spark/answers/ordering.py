"""Ordering: the rows of an answer in their order, and kept so for those who ask the same of narrower windows.

Windows that differ in their RANGE see the same rows, later ones or all of them, and a row's tag says who sees it:

    tags           11 12 12 14 15 19
    RANGE 9s       all of them
    RANGE 5s             later than 13: the last three, in the same order

So whoever has the widest window puts the rows in order, and the others cut theirs out. That is only possible where rows
have tags: what depends on what is *not* there is another thing in each window.

    ranks, tag = in_order(ranks, tag)
    ordering.join(asker)                        # as long as somebody holds the asker
    ordering.hold(Ordered(versions, after, terms, ranks, tag))
    ordering.later(versions, after)             # cut out; None: whoever asks has to make it

Invariants: what is cut out has the rows, the order and the tags that it would have if it were made. Nothing is held for
a single asker.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from csparql_spark.answers.tables import ROOM
from csparql_spark.kernel.sort import order_of


class Ordered(NamedTuple):
    """Rows with tags later than `after`, of matches in these versions; `ranks` has a column for each variable, of
    places in `terms`."""

    versions: tuple[int, ...]
    after: int
    terms: pa.StringArray
    ranks: list[np.ndarray]
    tag: np.ndarray

    @property
    def nbytes(self) -> int:
        return self.tag.nbytes + sum(column.nbytes for column in self.ranks) + self.terms.nbytes


class Ordering:
    def __init__(self) -> None:
        self._askers: weakref.WeakSet[object] = weakref.WeakSet()
        self._ordered: Ordered | None = None
        self.nbytes = 0  # of what is held: it is asked for at each answer

    def join(self, asker: object) -> None:
        self._askers.add(asker)

    @property
    def shared(self) -> bool:
        """Whether somebody may cut rows out of those of another."""
        return len(self._askers) > 1

    def hold(self, ordered: Ordered) -> None:
        self._ordered = ordered if self.shared else None
        self.nbytes = 0 if self._ordered is None else self._ordered.nbytes

    def later(self, versions: tuple[int, ...], after: int) -> Ordered | None:
        ordered = self._ordered
        if ordered is None or ordered.versions != versions or ordered.after > after:
            return None
        mask = ordered.tag > after
        if mask.all():
            return ordered
        rows = np.flatnonzero(mask)
        return Ordered(versions, after, ordered.terms, [column[rows] for column in ordered.ranks], ordered.tag[rows])


def order_of_rows(ranks: Sequence[np.ndarray]) -> np.ndarray:
    """The places of the rows in the order of their ranks."""
    bits = [(int(column.max(initial=0)) + 1).bit_length() for column in ranks]
    if sum(bits) > ROOM:
        return np.lexsort(ranks[::-1])
    key = ranks[0].astype(np.int64) + 1
    for column, width in zip(ranks[1:], bits[1:]):
        key = (key << width) | (column + 1)
    return order_of(key)


def in_order(ranks: Sequence[np.ndarray], tag: np.ndarray | None) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Rows in the order of their ranks, of equal ones those first that hold longest."""
    order = order_of_rows(ranks)
    ranks = [column[order] for column in ranks]
    return ranks, None if tag is None else longest_first(ranks, tag[order])


def longest_first(ranks: Sequence[np.ndarray], tag: np.ndarray) -> np.ndarray:
    """The tags of rows: of equal rows, which come in no order, those that hold longest first."""
    same = np.ones(max(0, len(tag) - 1), dtype=bool)  # as the row before
    for column in ranks:
        same &= column[1:] == column[:-1]
    repeated = np.flatnonzero(same)
    if not len(repeated):
        return tag
    several = np.zeros(len(tag), dtype=bool)
    several[repeated] = several[repeated + 1] = True
    places = np.flatnonzero(several)
    first = np.ones(len(places), dtype=bool)
    first[1:] = ~same[places[1:] - 1]
    tag = tag.copy()
    tag[places] = tag[places[np.lexsort((-tag[places], np.cumsum(first)))]]
    return tag
