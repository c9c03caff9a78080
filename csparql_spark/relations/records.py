"""Records: rows of several columns as one integer each, so that sorted runs can keep them.

Columns stand side by side in the bits of the integer. Where there are more of them than fit, those before are replaced
by the number that their combination was given when it was first seen:

    4 columns of 18 bits     │ a │ b │ c │            number of (a, b, c)
                             │ number    │ d │        the record

    records = Records(4, bits=18)
    keys = records.pack([a, b, c, d])       # equal rows, equal keys; other rows, other keys
    records.column(keys, 2)                 # c

Numbers are given and never taken back: who keeps few of many records makes new ones (`given` tells). A hash table
(`kernel.rows`) would give them in half to four fifths of the time, for 60 to 90 bytes each instead of 24.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.kernel.sort import distinct, ordered
from csparql_spark.relations.runs import Runs
from csparql_spark.relations.tags import NEVER

BITS = 62  # of a record; its keys are positive, and so is the key after the last
NUMBER_BITS = 31


class KeysTooWide(Exception):
    """A value, or the number of a combination, has more bits than there is room for."""


class Numbers:
    """Integers, numbered in the order in which they were first seen."""

    def __init__(self) -> None:
        self._numbers = Runs()  # the numbers, as tags
        self._values = np.empty(1024, dtype=np.int64)
        self.given = 0

    def of(self, values: np.ndarray) -> np.ndarray:
        """The numbers of values; new values get one."""
        found = self._numbers.tags_of(values)
        if len(found) and found.min() == NEVER:
            self._number(distinct(ordered(values[found == NEVER])))
            found = self._numbers.tags_of(values)
        return found

    def _number(self, new: np.ndarray) -> None:
        total = self.given + len(new)
        if total >> NUMBER_BITS:
            raise KeysTooWide
        if total > len(self._values):
            grown = np.empty(max(total, 2 * len(self._values)), dtype=np.int64)
            grown[: self.given] = self._values[: self.given]
            self._values = grown
        self._values[self.given : total] = new
        self._numbers.add(new, np.arange(self.given, total))
        self._numbers.settle()
        self.given = total

    def values(self, numbers: np.ndarray) -> np.ndarray:
        return self._values[numbers]

    @property
    def nbytes(self) -> int:
        return self._values.nbytes + sum(run.keys.nbytes + run.tags.nbytes for run in self._numbers.runs)


class Records:
    def __init__(self, width: int, bits: int) -> None:
        """Records of `width` columns, whose values have at most `bits` bits."""
        if bits > BITS - NUMBER_BITS:
            raise KeysTooWide
        self.bits = bits
        self._parts: list[int] = []  # how many columns are added by each level
        room = BITS
        for _ in range(width):
            if not self._parts or room < bits:
                room = BITS if not self._parts else BITS - NUMBER_BITS
                self._parts.append(0)
            self._parts[-1] += 1
            room -= bits
        self._numbers = [Numbers() for _ in self._parts[1:]]

    @property
    def given(self) -> int:
        """How many numbers were given."""
        return max((numbers.given for numbers in self._numbers), default=0)

    @property
    def nbytes(self) -> int:
        """What the numbers take; a record itself is whoever's that keeps it."""
        return sum(numbers.nbytes for numbers in self._numbers)

    def pack(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Raises `KeysTooWide` for values that have too many bits."""
        for column in columns:
            if len(column) and int(column.max()) >> self.bits:
                raise KeysTooWide
        return self.packed(columns)

    def packed(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """As `pack`, of values that are known not to have too many bits."""
        if not columns:
            return np.zeros(0, dtype=np.int64)
        keys, place = columns[0], 1
        for level, count in enumerate(self._parts):
            if level:
                keys = self._numbers[level - 1].of(keys)
                count += place
            for column in columns[place:count]:
                keys = (keys << self.bits) | column
            place = count
        return keys

    def column(self, keys: np.ndarray, place: int) -> np.ndarray:
        """One column of the records that have these keys."""
        last = sum(self._parts)
        for level in range(len(self._parts) - 1, -1, -1):
            count = self._parts[level]
            if place >= last - count:
                return (keys >> self.bits * (last - 1 - place)) & ((1 << self.bits) - 1)
            keys = self._numbers[level - 1].values(keys >> self.bits * count)
            last -= count
        raise IndexError(f"records of {sum(self._parts)} columns have no column {place}")
