"""Group sums: the sums of what an expression says in each group, which values come to and are taken back from.

    sums = GroupSums(most)
    sums.add(groups, values, signs)                 # `PlainValues` come (1) and go (-1)
    known, terms = sums.results("avg", groups, kinds.of(groups))    # of which of these groups they know it, and what it
                                                    # is; `kinds` counts the values of each group by their kind

They are exact, so the order in which values come and go leaves no trace. They know nothing of groups in which there is
another number than a plain one (see `plain_numbers`), of those in which there are doubles as well as others, and of
those without a value: these have to be looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from csparql_spark.answers.grouping import EXACT, Grouping, TermColumn, double_result, exact_result
from csparql_spark.answers.maintained.numbered_rows import with_room
from csparql_spark.answers.plain_numbers import DECIMAL, DOUBLE, INTEGER, OTHER, PLACES
from csparql_spark.kernel.group import DoubleSums, IntegerSums

KINDS = 4


class PlainValues(NamedTuple):
    """Values by their kind and number; OTHER also those that a double does not tell to the last digit."""

    kinds: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, grouping: Grouping, ids: np.ndarray) -> PlainValues:
        kinds, numbers = grouping.plain(ids)
        return cls(np.where((kinds == DECIMAL) & (np.abs(numbers) >= EXACT), OTHER, kinds), numbers)


class GroupKinds:
    """How many values of each kind a group has."""

    def __init__(self) -> None:
        self._counts = np.zeros((KINDS, 0), dtype=np.int64)

    @property
    def nbytes(self) -> int:
        return self._counts.nbytes

    def reserve(self, size: int) -> None:
        """Have room for so many groups."""
        self._counts = with_room(self._counts, size)

    def add(self, groups: np.ndarray, kinds: np.ndarray, signs: np.ndarray) -> None:
        np.add.at(self._counts, (kinds, groups), signs)

    def of(self, groups: np.ndarray) -> np.ndarray:
        """By kind and group."""
        return self._counts[:, groups]

    def alike(self, groups: np.ndarray) -> np.ndarray:
        """Which groups have values, and plain ones only that can be compared: doubles, or no doubles."""
        counts = self.of(groups)
        total, doubles = counts.sum(axis=0), counts[DOUBLE]
        return (counts[OTHER] == 0) & (total > 0) & ((doubles == 0) | (doubles == total))

    def keep(self, groups: np.ndarray) -> None:
        """The only groups that there are; the first of them is 0 from now on, …"""
        self._counts = self._counts[:, groups]


class GroupSums:
    def __init__(self, most: int) -> None:
        self._whole, self._millionths = IntegerSums(0, most), IntegerSums(0, most)
        self._doubles = DoubleSums(0, most)

    @property
    def nbytes(self) -> int:
        return self._whole.nbytes + self._millionths.nbytes + self._doubles.nbytes

    def add(self, groups: np.ndarray, plain: PlainValues, signs: np.ndarray) -> None:
        kinds, numbers = plain
        for kind in (INTEGER, DECIMAL, DOUBLE):
            rows = kinds == kind
            if not rows.any():
                continue
            mine, values, often = groups[rows], numbers[rows], signs[rows]
            if kind == DOUBLE:
                self._doubles.add(mine, values, often)
            elif kind == INTEGER:
                self._whole.add(mine, values.astype(np.int64), often)
            else:
                self._millionths.add(mine, np.rint(values * 10**PLACES).astype(np.int64), often)

    def results(self, function: str, groups: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, TermColumn]:
        total = counts.sum(axis=0)
        doubles = (counts[DOUBLE] == total) & (total > 0)
        exact = (counts[DOUBLE] == 0) & (counts[OTHER] == 0) & (total > 0)
        terms: TermColumn = [None] * len(groups)
        places = np.flatnonzero(doubles)
        if len(places):
            for place, sum_, count in zip(
                places.tolist(), self._doubles.of(groups[places]).tolist(), total[places].tolist(), strict=True
            ):
                terms[place] = double_result(function, sum_, count)
        places = np.flatnonzero(exact)
        decimals = counts[DECIMAL, places] > 0
        for place, count, whole, part, decimal in zip(
            places.tolist(),
            total[places].tolist(),
            _exact(self._whole, groups[places]),
            _exact(self._millionths, groups[places]),
            decimals.tolist(),
            strict=True,
        ):
            terms[place] = exact_result(function, count, whole, part if decimal else None)
        return doubles | exact, terms

    def keep(self, groups: np.ndarray) -> None:
        """The only groups that there are; the first of them is 0 from now on, …"""
        self._whole = self._whole.kept(groups[groups < len(self._whole)])
        self._millionths = self._millionths.kept(groups[groups < len(self._millionths)])
        self._doubles = self._doubles.kept(groups[groups < len(self._doubles)])


def _exact(sums: IntegerSums, groups: np.ndarray) -> list[int]:
    """Also of groups that nothing was ever added to."""
    known = groups < len(sums)
    found = iter(sums.exact(groups[known]))
    return [next(found) if there else 0 for there in known.tolist()]
