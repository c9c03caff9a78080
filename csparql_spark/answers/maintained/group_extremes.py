"""Group extremes: the least or greatest value of each group, as far as it is known without a look at all of them.

    extremes = GroupExtremes(greatest=True)
    extremes.add(groups, ids, numbers, signs)       # values of plain numbers come (1) and go (-1)
    extremes.forget(groups)                         # other values have come, or gone
    known = extremes.known(groups)
    extremes.learn(groups, ids, numbers)            # whoever has looked says what it is
    extremes.ids(groups)

What comes is compared with what is known. It is not known any more when a value goes that is equal to it, and when one
comes that is equal and written in another way: of these, the first in the order of text is told.
"""

from __future__ import annotations

import numpy as np

from csparql_spark.answers.maintained.numbered_rows import with_room


class GroupExtremes:
    def __init__(self, *, greatest: bool) -> None:
        self._sign = 1.0 if greatest else -1.0
        self._known = np.zeros(0, dtype=bool)  # by group, as the others
        self._numbers = np.zeros(0)  # so turned that the greatest is sought
        self._ids = np.zeros(0, dtype=np.int64)

    @property
    def nbytes(self) -> int:
        return self._known.nbytes + self._numbers.nbytes + self._ids.nbytes

    def reserve(self, size: int) -> None:
        """Have room for so many groups."""
        self._known, self._numbers = with_room(self._known, size), with_room(self._numbers, size)
        self._ids = with_room(self._ids, size)

    def add(self, groups: np.ndarray, ids: np.ndarray, numbers: np.ndarray, signs: np.ndarray) -> None:
        numbers = self._sign * numbers
        reached = np.flatnonzero(self._known[groups] & (numbers >= self._numbers[groups]))
        if not len(reached):
            return
        groups, ids, numbers, come = groups[reached], ids[reached], numbers[reached], signs[reached] > 0
        gone = groups[~come]  # equal to it, or greater: that has come in the same go
        groups, ids, numbers = groups[come], ids[come], numbers[come]
        had, was = self._numbers[groups], self._ids[groups]
        order = np.argsort(numbers, kind="stable")
        self._numbers[groups[order]], self._ids[groups[order]] = numbers[order], ids[order]  # the greatest stays
        now, is_ = self._numbers[groups], self._ids[groups]
        twice = ((numbers == now) & (ids != is_)) | ((had == now) & (was != is_))
        self._known[groups[twice]] = False
        self._known[gone] = False

    def forget(self, groups: np.ndarray) -> None:
        self._known[groups] = False

    def known(self, groups: np.ndarray) -> np.ndarray:
        return self._known[groups]

    def ids(self, groups: np.ndarray) -> np.ndarray:
        return self._ids[groups]

    def learn(self, groups: np.ndarray, ids: np.ndarray, numbers: np.ndarray) -> None:
        self._known[groups], self._ids[groups], self._numbers[groups] = True, ids, self._sign * numbers

    def keep(self, groups: np.ndarray) -> None:
        """The only groups that there are; the first of them is 0 from now on, …"""
        self._known, self._numbers, self._ids = self._known[groups], self._numbers[groups], self._ids[groups]
