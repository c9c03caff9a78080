from __future__ import annotations

from typing import Self

import numpy as np

from csparql_spark.kernel import native
from csparql_spark.kernel.limits import UNBOUNDED, TooMuchAtOnce, times_of

_library = native.library
assert _library is not None
_reduce, _reduce_doubles, _total, _accumulate, _combine, _rounded = (
    _library.reduce,
    _library.reduce_doubles,
    _library.total,
    _library.accumulate,
    _library.combine,
    _library.rounded,
)
NO_NUMBER = int(np.iinfo(np.int64).min)
REACH = 8  # bits of the limb behind the last, as `group.c` tells it
NAN, INFINITE, MINUS = range(3)
_once = np.empty(0, np.int64)


def reduced(groups: np.ndarray, values: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    counts, least, most = np.empty(size, np.int64), np.empty(size, values.dtype), np.empty(size, values.dtype)
    (_reduce_doubles if values.dtype == np.float64 else _reduce)(groups, values, counts, least, most)
    return counts, least, most


class _Sums:
    """The columns that `group.c` describes, with room for as many groups as there are, or some more."""

    def __init__(self, size: int = 0, most: int = UNBOUNDED, width: int = 0) -> None:
        self._most = most
        self._low, self._width = 0, width
        if 8 * self._cells(width) * size > most:
            raise TooMuchAtOnce
        self._size = size
        self._limbs, self._counts = np.zeros(size * width, np.int64), np.zeros(size, np.int64)

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        return self._limbs.nbytes + self._counts.nbytes

    @property
    def counts(self) -> np.ndarray:
        return self._counts[: self._size].copy()  # what is held moves when it grows

    def _cells(self, width: int) -> int:
        """Numbers for a group, of so many limbs."""
        return width + 1

    def _reserve(self, groups: np.ndarray, low: int, high: int) -> None:
        """Have room for these groups, and for the limbs from `low` to `high`."""
        size = max(self._size, int(groups.max(initial=-1)) + 1)
        if self._width:
            low, high = min(low, self._low), max(high, self._low + self._width)
        width, room = high - low, len(self._counts)
        each = 8 * self._cells(width)
        if size > room:
            room = max(size, min(size + size // 2, self._most // each))
        if room * each > self._most:
            raise TooMuchAtOnce
        if width != self._width:
            self._widen(room, low, width)
        elif room > len(self._counts):
            self._limbs.resize(room * width, refcheck=False)
        if room > len(self._counts):
            self._counts.resize(room, refcheck=False)
        self._size = size

    def _widen(self, room: int, low: int, width: int) -> None:
        limbs = np.zeros(room * width, np.int64)
        if self._width:
            old, new = self._limbs.reshape(-1, self._width), limbs.reshape(-1, width)
            first = self._low - low
            new[: len(old), first : first + self._width] = old
            new[: len(old), first + self._width :] = old[:, -1:] >> 63
        self._limbs, self._low, self._width = limbs, low, width

    def merge(self, other: Self, groups: np.ndarray, taken: bool = False) -> None:
        limbs, counts = other._limbs[: other._size * other._width], other.counts
        if other is self:
            limbs, counts = limbs.copy(), counts.copy()
        low = other._low if other._width else self._low
        self._reserve(groups, low, low + other._width)
        if other._width:
            _combine(self._limbs, self._low, self._width, limbs, low, other._width, groups, taken)
        np.add.at(self._counts, groups, -counts if taken else counts)

    def kept(self, groups: np.ndarray) -> Self:
        table = type(self)(0, self._most)
        table._size, table._counts = len(groups), self.counts[groups]
        table._low, table._width = self._low, self._width
        if self._width:
            table._limbs = self._limbs.reshape(-1, self._width)[: self._size][groups].flatten()
        return table


class IntegerSums(_Sums):
    def __init__(self, size: int = 0, most: int = UNBOUNDED) -> None:
        super().__init__(size, most, 2)

    def add(self, groups: np.ndarray, values: np.ndarray, times: np.ndarray | None = None) -> None:
        often = _once if times is None else times_of(times)
        self._reserve(groups, 0, 2)
        _total(self._limbs, self._counts, groups, values, often)

    def of(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pairs = self._pairs(groups)
        fit = pairs[:, 1] == pairs[:, 0] >> 63
        return np.where(fit, pairs[:, 0], 0), fit

    def exact(self, groups: np.ndarray) -> list[int]:
        pairs = self._pairs(groups)
        return [(high << 64) | low for low, high in zip(pairs[:, 0].astype(np.uint64).tolist(), pairs[:, 1].tolist())]

    def _pairs(self, groups: np.ndarray) -> np.ndarray:
        return self._limbs.reshape(-1, 2)[: self._size][groups]


class DoubleSums(_Sums):
    def __init__(self, size: int = 0, most: int = UNBOUNDED) -> None:
        self._apart: np.ndarray | None = None  # group by group: how many are no number, infinite, and minus infinite
        super().__init__(size, most)

    @property
    def nbytes(self) -> int:
        return super().nbytes + (0 if self._apart is None else self._apart.nbytes)

    def _cells(self, width: int) -> int:
        return width + 1 + (0 if self._apart is None else 3)

    def add(self, groups: np.ndarray, values: np.ndarray, times: np.ndarray | None = None) -> None:
        often = _once if times is None else times_of(times)
        rows: tuple[np.ndarray, ...] = groups, values, often
        before, apart = (self._size, self._apart), None
        try:
            self._reserve(groups, self._low, self._low + self._width)
            while done := _accumulate(self._limbs, self._low, self._width, self._counts, *rows):
                if done == NO_NUMBER:
                    self._begin_apart()
                    self._reserve(groups, self._low, self._low + self._width)
                    finite = np.isfinite(values)
                    apart, rows = _of(rows, ~finite), _of(rows, finite)
                else:
                    self._reserve(groups, *divmod(-1 - done, 1 << REACH))
        except TooMuchAtOnce:
            self._size, self._apart = before
            raise
        if apart is not None:
            self._set_apart(*apart)

    def _begin_apart(self) -> None:
        """From now on there is room to be had for what is counted apart."""
        if self._apart is None:
            self._apart = np.zeros((0, 3), np.int64)

    def _set_apart(self, groups: np.ndarray, values: np.ndarray, often: np.ndarray) -> None:
        kinds = np.where(np.isnan(values), NAN, np.where(values > 0, INFINITE, MINUS))
        often = often if len(often) else np.ones(len(groups), np.int64)
        np.add.at(self._counts, groups, often)
        np.add.at(self._all_apart(), (groups, kinds), often)

    def _all_apart(self) -> np.ndarray:
        """What is counted apart, of all groups that there is room for."""
        assert self._apart is not None
        more = len(self._counts) - len(self._apart)
        if more:
            self._apart = np.concatenate((self._apart, np.zeros((more, 3), np.int64)))
        return self._apart

    def merge(self, other: Self, groups: np.ndarray, taken: bool = False) -> None:
        before, counted = (self._size, self._apart), None
        if other._apart is not None:
            counted = other._all_apart()[: len(groups)].copy()
            self._begin_apart()
        try:
            super().merge(other, groups, taken)
        except TooMuchAtOnce:
            self._size, self._apart = before
            raise
        if counted is not None:
            np.add.at(self._all_apart(), groups, -counted if taken else counted)

    def kept(self, groups: np.ndarray) -> Self:
        table = super().kept(groups)
        if self._apart is not None:
            table._apart = self._all_apart()[groups]
        return table

    def of(self, groups: np.ndarray) -> np.ndarray:
        sums = np.zeros(len(groups))
        if self._width:
            _rounded(self._limbs, self._low, self._width, groups, sums)
        if self._apart is not None:
            none, infinite, minus = (self._all_apart()[groups] > 0).T
            sums[infinite] = np.inf
            sums[minus] = -np.inf
            sums[none | (infinite & minus)] = np.nan
        return sums


def _of(rows: tuple[np.ndarray, ...], mask: np.ndarray) -> tuple[np.ndarray, ...]:
    """Some of the rows; a column without any stands for the same in all."""
    return tuple(column[mask] if len(column) else column for column in rows)
