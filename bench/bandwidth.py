"""Bandwidth: how fast this machine reads, copies and gathers numbers, and how fast the kernel's merge goes by that.

All of it in one thread, on columns of several sizes: what fits into the first caches, into those behind them, and what
has to come from memory. A gather reads one number from each of many places in no order: what it costs is a cache line
for each, and what it is worth is places in a second.

    machine = Bandwidth.measured()
    machine.level(1_500_000)            # MemoryLevel(size=8 MB, read=…, copy=…, gather=…): where so many bytes lie
    machine.merge                       # bytes in a second
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from csparql_spark.kernel.merge import merge

SIZES = (128 << 10, 1 << 20, 8 << 20, 256 << 20)  # bytes
NAMES = ("128k", "1m", "8m", "memory")
PLACES = 1 << 18
TURNS = 7  # the least time counts


class MemoryLevel(NamedTuple):
    """How fast it goes where so much is in use."""

    size: int  # bytes
    read: float  # bytes in a second, of a sum
    copy: float  # bytes read and bytes written in a second, together
    gather: float  # places in a second

    @classmethod
    def measured(cls, size: int) -> MemoryLevel:
        return cls(
            size, size / _least(_summed(size)), size / _least(_copied(size // 2)), PLACES / _least(_gathered(size))
        )


class Bandwidth(NamedTuple):
    levels: tuple[MemoryLevel, ...]
    merge: float  # bytes read and written in a second, together, by the kernel's merge of two runs, out of memory

    @classmethod
    def measured(cls, sizes: Sequence[int] = SIZES) -> Bandwidth:
        return cls(tuple(map(MemoryLevel.measured, sizes)), 2 * sizes[-1] / _least(_merged(sizes[-1])))

    def level(self, size: float) -> MemoryLevel:
        return next((level for level in self.levels if size <= level.size), self.levels[-1])

    def numbers(self) -> dict[str, float]:
        numbers = {"merge_memory_gb_per_s": self.merge / 1e9}
        for name, level in zip(NAMES, self.levels):
            numbers[f"read_{name}_gb_per_s"] = level.read / 1e9
            numbers[f"copy_{name}_gb_per_s"] = level.copy / 1e9
            numbers[f"gather_{name}_million_per_s"] = level.gather / 1e6
        return numbers


def _summed(size: int) -> Callable[[], object]:
    column = np.ones(size // 8, dtype=np.int64)
    return column.sum


def _copied(size: int) -> Callable[[], object]:
    column = np.ones(size // 8, dtype=np.int64)
    into = np.zeros_like(column)
    return lambda: np.copyto(into, column)


def _gathered(size: int) -> Callable[[], object]:
    column = np.ones(size // 8, dtype=np.int64)
    places = np.random.default_rng(3).integers(0, len(column), PLACES)
    into = np.zeros(PLACES, dtype=np.int64)
    return lambda: np.take(column, places, out=into, mode="clip")


def _merged(size: int) -> Callable[[], object]:
    """Two runs of one size, keys and tags, whose rows alternate by chance: so many bytes are read, and written."""
    rows = size // 16
    keys = np.arange(rows, dtype=np.int64)
    first = np.random.default_rng(3).random(rows) < 0.5
    one, other = keys[first], keys[~first]
    tags, more = np.ones_like(one), np.ones_like(other)
    return lambda: merge(one, tags, other, more, 0)


def _least(function: Callable[[], object]) -> float:
    """Seconds of a call: the least of some. Short calls are repeated."""
    best = float("inf")
    for _ in range(TURNS + 1):  # the first finds its memory
        calls, begun, passed = 0, time.perf_counter(), 0.0
        while passed < 0.005:
            function()
            calls += 1
            passed = time.perf_counter() - begun
        best = min(best, passed / calls)
    return best
