"""The naive twin of slides: all elements of one stream in a list, which each question goes through."""

from __future__ import annotations

from typing import NamedTuple

from csparql_spark.windows.slides import Extent

FAR = (1 << 63) - 1  # the place of what is not there


class Element(NamedTuple):
    s: int
    p: int
    o: int
    seq: int
    t: int


class Scanning:
    def __init__(self) -> None:
        self.elements: list[Element] = []

    def add(self, t: list[int], seq: int, triples: list[tuple[int, int, int]]) -> None:
        self.elements += [Element(*triple, seq, stamp) for stamp, triple in zip(t, triples, strict=True)]

    def window(self, low: int, high: int, since: int = -1) -> list[Element]:
        return [one for one in self.elements if low < one.t <= high and one.seq > since]

    def extent(self, low: int, high: int, since: int = -1) -> tuple[int, int]:
        found = self.window(low, high, since)
        return len(found), min((one.seq for one in found), default=FAR)

    def new(self, low: int, high: int, since: int, moment: tuple[int, int]) -> list[Element]:
        return [one for one in self.window(low, high, since) if one.t > moment[0] or one.seq > moment[1]]

    def late(self, seq: int, passed: int) -> int:
        return sum(1 for one in self.elements if one.seq == seq and one.t <= passed)

    def counted(self, since: int, begin: int, end: int, graphs: bool) -> list[Element]:
        later = [one for one in self.elements if one.seq > since]
        if not graphs:
            return [one for after, one in zip(range(len(later) - 1, -1, -1), later) if begin <= after < end]
        order = sorted({(one.seq, one.t) for one in later}, reverse=True)
        return [one for one in later if begin <= order.index((one.seq, one.t)) < end]

    def counted_extent(self, since: int, begin: int, end: int, graphs: bool) -> Extent:
        counted = self.counted(since, begin, end, graphs)
        return Extent(len(counted), min((one.seq for one in counted), default=FAR))

    def oldest(self, since: int, newest: int, graphs: bool) -> int:
        return min((one.seq for one in self.counted(since, 0, newest, graphs)), default=FAR)

    def forget(self, horizon: int, place: int) -> tuple[int, int | None]:
        """How many go, and the greatest of their stamps."""
        gone = [one for one in self.elements if one.t <= horizon and one.seq < place]
        self.elements = [one for one in self.elements if one.t > horizon or one.seq >= place]
        return len(gone), max((one.t for one in gone), default=None)

    def renumber(self, table: list[int]) -> None:
        self.elements = [one._replace(s=table[one.s], p=table[one.p], o=table[one.o]) for one in self.elements]
