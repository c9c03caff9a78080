"""A row calendar: rows by the instant at which they cease, so that what ends is found without a look at what stays.

    calendar = RowCalendar(2)
    calendar.add([a, b], tags)              # rows that have come
    calendar.add([a, b], tags, sign=-1)     # rows that have gone before their time
    calendar.take(12)                       # columns and tags of those that end until 12, and have not gone

Invariants: what `take` has given is not given again; rows that never end are not written down. What has gone is written
down beside what has come, and is found with it, since it has the same tag: so nothing is searched for. Where more has
gone than is there, the one is taken from the other: so it is never more than three times as large as the rows that are
there (and `SPARE`), however often these come again with later tags. Taking costs what is taken, and a look at each of
the blocks, of which each is less than half as large as the one before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.answers.bag_difference import unshared
from csparql_spark.kernel.sort import order_of
from csparql_spark.relations.tags import ALWAYS

SPARE = 1024  # rows that may have gone beside as many as there are

EndingRows = tuple[list[np.ndarray], np.ndarray]  # columns of rows in the order of their tags, and these


class RowCalendar:
    def __init__(self, width: int) -> None:
        nothing = np.empty(0, dtype=np.int64)
        self._none: EndingRows = [nothing] * width, nothing
        self._came: list[EndingRows] = []  # blocks, the largest first
        self._went: list[EndingRows] = []

    @property
    def nbytes(self) -> int:
        return sum(8 * len(tags) * (1 + len(columns)) for columns, tags in (*self._came, *self._went))

    def add(self, columns: Sequence[np.ndarray], tags: np.ndarray, sign: int = 1) -> None:
        if not len(tags):
            return
        if tags.max() == ALWAYS:
            ending = tags != ALWAYS
            columns, tags = [column[ending] for column in columns], tags[ending]
            if not len(tags):
                return
        blocks = self._came if sign > 0 else self._went
        blocks.append(_in_order((list(columns), tags)))
        while len(blocks) > 1 and len(blocks[-2][1]) <= 2 * len(blocks[-1][1]):
            blocks[-2:] = [_in_order(_together(blocks[-2:]))]
        if sign < 0 and 2 * _length(self._went) > SPARE + _length(self._came):
            left = self._left(self._came, self._went)
            self._came, self._went = [_in_order(left)] if len(left[1]) else [], []

    def take(self, upto: int) -> EndingRows:
        return self._left(_taken(self._came, upto), _taken(self._went, upto))

    def _left(self, came: list[EndingRows], went: list[EndingRows]) -> EndingRows:
        """What has come and has not gone."""
        if not came:
            return self._none
        columns, tags = _together(came)
        if not went:
            return columns, tags
        others, ends = _together(went)
        left, _ = unshared([*columns, tags], [*others, ends])
        return [column[left] for column in columns], tags[left]


def _length(blocks: list[EndingRows]) -> int:
    return sum(len(tags) for _, tags in blocks)


def _taken(blocks: list[EndingRows], upto: int) -> list[EndingRows]:
    """Take out the rows that end until then."""
    taken: list[EndingRows] = []
    rest: list[EndingRows] = []
    for columns, tags in blocks:
        count = int(tags.searchsorted(upto, side="right"))
        if count:
            taken.append(([column[:count] for column in columns], tags[:count]))
            columns, tags = [column[count:] for column in columns], tags[count:]
            if count > len(tags):  # a copy, so that the memory of what was taken is given back
                columns, tags = [column.copy() for column in columns], tags.copy()
        if len(tags):
            rest.append((columns, tags))
    blocks[:] = rest
    return taken


def _together(parts: Sequence[EndingRows]) -> EndingRows:
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(pieces) for pieces in zip(*(columns for columns, _ in parts))]
    return columns, np.concatenate([tags for _, tags in parts])


def _in_order(rows: EndingRows) -> EndingRows:
    columns, tags = rows
    if tags[0] <= tags[-1] and bool((tags[1:] >= tags[:-1]).all()):
        return rows
    order = order_of(tags - tags.min())
    return [column[order] for column in columns], tags[order]
