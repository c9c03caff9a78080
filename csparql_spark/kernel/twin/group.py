from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import numpy as np

from csparql_spark.kernel.limits import UNBOUNDED, TooMuchAtOnce, times_of
from csparql_spark.kernel.twin.sort import dense_ranks

MANTISSA = 53
LEAST = 1074  # a sum of doubles is a whole number of 2^-1074
HALF = 26  # bits of a mantissa that are added up apart: so an int64 holds the sum of many
BYTES = 400  # of a group, at most: a number of all bits that there are, and its places in lists


def reduced(groups: np.ndarray, values: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    double = values.dtype == np.float64
    highest, lowest = (np.inf, -np.inf) if double else (np.iinfo(np.int64).max, np.iinfo(np.int64).min)
    least, most = np.full(size, highest, values.dtype), np.full(size, lowest, values.dtype)
    values = values + 0.0 if double else values
    with np.errstate(invalid="ignore"):  # what is no number makes the others so, too
        np.minimum.at(least, groups, values)
        np.maximum.at(most, groups, values)
    return np.bincount(groups, minlength=size).astype(np.int64), least, most


class _Sums:
    """Sums as integers of Python, whatever they count."""

    def __init__(self, size: int = 0, most: int = UNBOUNDED) -> None:
        self._most = most
        if BYTES * size > most:
            raise TooMuchAtOnce
        self._sums: list[int] = [0] * size
        self._often: list[int] = [0] * size

    def __len__(self) -> int:
        return len(self._sums)

    @property
    def nbytes(self) -> int:
        return BYTES * len(self._sums)

    @property
    def counts(self) -> np.ndarray:
        return np.array(self._often, np.int64)

    def _reserve(self, groups: np.ndarray) -> None:
        more = int(groups.max(initial=-1)) + 1 - len(self._sums)
        if groups.min(initial=0) < 0:
            raise IndexError("a group that there is not")
        if more > 0:
            if BYTES * (more + len(self._sums)) > self._most:
                raise TooMuchAtOnce
            self._sums += [0] * more
            self._often += [0] * more

    def _count(self, groups: np.ndarray, times: np.ndarray) -> None:
        for group, often in _added(groups, times, np.ones(len(groups), np.int64)):
            self._often[group] += often

    def merge(self, other: Self, groups: np.ndarray, taken: bool = False) -> None:
        self._reserve(groups)
        sign = -1 if taken else 1
        for group, value, often in list(zip(groups.tolist(), other._sums, other._often, strict=True)):
            self._sums[group] += sign * value
            self._often[group] += sign * often

    def kept(self, groups: np.ndarray) -> Self:
        table = type(self)(0, self._most)
        table._sums = [self._sums[group] for group in groups.tolist()]
        table._often = [self._often[group] for group in groups.tolist()]
        return table


class IntegerSums(_Sums):
    def add(self, groups: np.ndarray, values: np.ndarray, times: np.ndarray | None = None) -> None:
        times = np.ones(len(groups), np.int64) if times is None else times_of(times)
        self._reserve(groups)
        self._count(groups, times)
        for part, shift in ((values >> 32, 32), (values & 0xFFFFFFFF, 0)):
            for group, value in _added(groups, part, times):
                self._sums[group] += value << shift

    def of(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sums = self.exact(groups)
        fit = [-(1 << 63) <= value < 1 << 63 for value in sums]
        return np.array([value if fits else 0 for value, fits in zip(sums, fit)], np.int64), np.array(fit, np.bool_)

    def exact(self, groups: np.ndarray) -> list[int]:
        return [self._sums[group] for group in groups.tolist()]


class DoubleSums(_Sums):
    def __init__(self, size: int = 0, most: int = UNBOUNDED) -> None:
        super().__init__(size, most)
        self._apart: dict[int, list[int]] = {}  # group by group, how many are no number, infinite, and minus infinite

    def add(self, groups: np.ndarray, values: np.ndarray, times: np.ndarray | None = None) -> None:
        times = np.ones(len(groups), np.int64) if times is None else times_of(times)
        self._reserve(groups)
        self._count(groups, times)
        finite = np.isfinite(values)
        if not finite.all():
            for group, value, often in zip(*(column[~finite].tolist() for column in (groups, values, times))):
                self._apart.setdefault(group, [0, 0, 0])[0 if value != value else 1 if value > 0 else 2] += often
            groups, values, times = groups[finite], values[finite], times[finite]
        parts, exponents = np.frexp(values)
        units = (parts * 2.0**MANTISSA).astype(np.int64)
        shifts = exponents.astype(np.int64) + LEAST - MANTISSA
        units >>= np.where(units == 0, 0, np.maximum(-shifts, 0))  # of the least numbers these bits are nothing
        shifts = np.maximum(shifts, 0)
        places, inverse = dense_ranks(groups << 12 | shifts)
        for part, shift in ((units >> HALF, HALF), (units & ((1 << HALF) - 1), 0)):
            for place, value in _added(inverse, part, times):
                key = int(places[place])
                self._sums[key >> 12] += value << shift + (key & 4095)

    def merge(self, other: Self, groups: np.ndarray, taken: bool = False) -> None:
        super().merge(other, groups, taken)
        for place, counted in list(other._apart.items()):
            mine = self._apart.setdefault(int(groups[place]), [0, 0, 0])
            mine[:] = [one - more if taken else one + more for one, more in zip(mine, counted)]

    def kept(self, groups: np.ndarray) -> Self:
        table = super().kept(groups)
        table._apart = {
            place: list(self._apart[group]) for place, group in enumerate(groups.tolist()) if group in self._apart
        }
        return table

    def of(self, groups: np.ndarray) -> np.ndarray:
        return np.array([self._one(group) for group in groups.tolist()], np.float64)

    def _one(self, group: int) -> float:
        none, infinite, minus = (often > 0 for often in self._apart.get(group, (0, 0, 0)))
        if none or (infinite and minus):
            return np.nan
        if infinite or minus:
            return np.inf if infinite else -np.inf
        try:
            return self._sums[group] / (1 << LEAST)  # of integers, Python rounds it once
        except OverflowError:
            return np.inf if self._sums[group] > 0 else -np.inf


def _added(keys: np.ndarray, values: np.ndarray, times: np.ndarray) -> Iterator[tuple[int, int]]:
    """The sums of values, so many times each, of every key that there is."""
    there, inverse = dense_ranks(keys)
    largest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
    fits = largest * sum(abs(often) for often in (int(times.max(initial=0)), int(times.min(initial=0)))) * len(times)
    kind = np.int64 if fits < 1 << 62 else object
    sums = np.zeros(len(there), kind)
    np.add.at(sums, inverse, values.astype(kind) * times.astype(kind))
    yield from zip(there.tolist(), sums.tolist())
