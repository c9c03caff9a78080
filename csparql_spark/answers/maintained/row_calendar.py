"""A row calendar: rows by the instant at which they cease, so that what ends is found without a look at what stays.

    calendar = RowCalendar()
    calendar.add([a, b], tags)              # rows that have come
    calendar.add([a, b], tags, sign=-1)     # rows that have gone before their time
    calendar.take(12)                       # columns and tags of those that end until 12, and have not gone

Invariants: what `take` has given is not given again; rows that never end are not written down. What has gone is written
down beside what has come, and is found with it, since it has the same tag: so nothing is searched for. Taking costs
what is taken, and a look at each of the blocks, of which each is less than half as large as the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from csparql_spark.answers.bag_difference import unshared
from csparql_spark.kernel.sort import order_of
from csparql_spark.relations.tags import ALWAYS


class EndingRows(NamedTuple):
    """Rows in the order of their tags; of each whether it has come (1) or gone (-1)."""

    columns: list[np.ndarray]
    tags: np.ndarray
    signs: np.ndarray

    def where(self, rows: np.ndarray | slice) -> EndingRows:
        return EndingRows([column[rows] for column in self.columns], self.tags[rows], self.signs[rows])

    def copy(self) -> EndingRows:
        return EndingRows([column.copy() for column in self.columns], self.tags.copy(), self.signs.copy())


class RowCalendar:
    def __init__(self, width: int) -> None:
        nothing = np.empty(0, dtype=np.int64)
        self._none = EndingRows([nothing] * width, nothing, np.empty(0, dtype=np.int8))
        self._blocks: list[EndingRows] = []  # the largest block first

    @property
    def nbytes(self) -> int:
        return sum(block.signs.nbytes + 8 * len(block.tags) * (1 + len(block.columns)) for block in self._blocks)

    def add(self, columns: Sequence[np.ndarray], tags: np.ndarray, sign: int = 1) -> None:
        rows = EndingRows(list(columns), tags, np.full(len(tags), sign, dtype=np.int8))
        if len(tags) and tags.max() == ALWAYS:
            rows = rows.where(tags != ALWAYS)
        if not len(rows.tags):
            return
        self._blocks.append(_in_order(rows))
        while len(self._blocks) > 1 and len(self._blocks[-2].tags) <= 2 * len(self._blocks[-1].tags):
            self._blocks[-2:] = [_in_order(_together(self._blocks[-2:]))]

    def take(self, upto: int) -> tuple[list[np.ndarray], np.ndarray]:
        taken, rest = [], []
        for block in self._blocks:
            count = int(block.tags.searchsorted(upto, side="right"))
            if count:
                taken.append(block.where(slice(None, count)))
                block = block.where(slice(count, None))
                if count > len(block.tags):
                    block = block.copy()  # so that the memory of what was taken is given back
            if len(block.tags):
                rest.append(block)
        self._blocks = rest
        found = _together(taken) if taken else self._none
        if len(found.signs) and found.signs.min() < 0:
            found = _left(found)
        return found.columns, found.tags


def _together(parts: Sequence[EndingRows]) -> EndingRows:
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(pieces) for pieces in zip(*(part.columns for part in parts))]
    return EndingRows(columns, *(np.concatenate([part[place] for part in parts]) for place in (1, 2)))


def _in_order(rows: EndingRows) -> EndingRows:
    tags = rows.tags
    if bool((tags[1:] >= tags[:-1]).all()):
        return rows
    return rows.where(order_of(tags - tags.min()))


def _left(rows: EndingRows) -> EndingRows:
    """Those that have come, without as many equal ones as have gone."""
    came, gone = (rows.where(rows.signs == sign) for sign in (1, -1))
    alone, _ = unshared([*came.columns, came.tags], [*gone.columns, gone.tags])
    return came.where(alone)
