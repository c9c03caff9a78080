"""Row filters: which of its matches those want to see who ask for a pattern, found for many of them at once.

A crowd asks the same with filters that differ: `?v > 20`, `?v > 35`, … A comparison with a constant is made for all
rows and constants in one go; other tests are asked one by one, each of the rows of those who have it.

    rows          members        ?v > 20   ?v > 35
    ?v = 30       both           kept      —
    ?v = 40       both           kept      kept

    sieve = Sieve([member, other], dictionary)          # whom rows are for is told by the places in this list
    sieve.passing({"?1": values}, rows, places)         # of each pair of a row and a member, whether it is kept
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from csparql_spark.answers.computing import Columns, PlainTerms, Threshold, compared
from csparql_spark.kernel.sort import order_of
from csparql_spark.rdf.dictionary import TermDictionary


class RowFilter(Protocol):
    """Which matches to keep. Equal ones keep the same."""

    @property
    def names(self) -> tuple[str, ...]: ...  # the variables that are looked at

    @property
    def early(self) -> bool: ...  # whether rows may be asked that are not whole yet, and many

    @property
    def threshold(self) -> Threshold | None: ...  # what it is, if it compares a variable with a constant

    def mask(self, columns: Columns, length: int) -> np.ndarray: ...


class FilteredMember(NamedTuple):
    """Who keeps some of the rows: that alone, so that nobody is held by it who is not held otherwise."""

    keep: tuple[RowFilter, ...]
    names: dict[str, str]  # how its variables are called in the columns of rows


class Alike(NamedTuple):
    """Members whose tests differ in their constants at most: the first of them, and for each of its tests the numbers
    that those of all members are, by their places; None where it is not compared so."""

    first: FilteredMember
    constants: tuple[PlainTerms | None, ...]


class Sieve:
    def __init__(self, members: Sequence[FilteredMember], dictionary: TermDictionary) -> None:
        self._members = members
        groups: dict[tuple[object, ...], list[int]] = {}
        for place, member in enumerate(members):
            groups.setdefault(tuple(_form(one, member) for one in member.keep), []).append(place)
        self._group = np.empty(len(members), dtype=np.int64)
        self._alike = []
        for number, places in enumerate(groups.values()):
            self._group[places] = number
            first = members[places[0]]
            tests = range(len(first.keep))
            self._alike.append(Alike(first, tuple(self._constants(test, places, dictionary) for test in tests)))

    def _constants(self, test: int, places: list[int], dictionary: TermDictionary) -> PlainTerms | None:
        thresholds = [self._members[place].keep[test].threshold for place in places]
        if thresholds[0] is None or thresholds[0].name not in self._members[places[0]].names:
            return None
        ids = dictionary.encode([one.constant for one in thresholds if one is not None])
        kinds, numbers = np.zeros(len(self._members), dtype=np.int8), np.zeros(len(self._members))
        kinds[places], numbers[places] = thresholds[0].computing.numbers(ids)
        return kinds, numbers

    @property
    def everything(self) -> bool:
        """Whether all members keep all rows."""
        return all(not alike.constants for alike in self._alike)

    def passing(self, columns: Columns, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        if len(self._alike) == 1:
            return self._passing(self._alike[0], columns, rows, places)
        groups = self._group[places]
        order = order_of(groups)
        ends = np.cumsum(np.bincount(groups, minlength=len(self._alike))).tolist()
        result = np.empty(len(rows), dtype=bool)
        for alike, begin, end in zip(self._alike, [0, *ends], ends):
            if begin < end:
                some = order[begin:end]
                result[some] = self._passing(alike, columns, rows[some], places[some])
        return result

    def _passing(self, alike: Alike, columns: Columns, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        result = np.ones(len(rows), dtype=bool)
        for test, constants in enumerate(alike.constants):
            keep = alike.first.keep[test]
            if constants is None:
                result &= _mask(keep, alike.first, columns, rows)
                continue
            threshold = keep.threshold
            assert threshold is not None
            kinds, numbers = threshold.computing.numbers(columns[alike.first.names[threshold.name]])
            passing, plain = compared(
                threshold.sign, (kinds[rows], numbers[rows]), (constants[0][places], constants[1][places])
            )
            if not plain.all():
                self._one_by_one(test, np.flatnonzero(~plain), (columns, rows, places), passing)
            result &= passing
        return result

    def _one_by_one(
        self, test: int, doubtful: np.ndarray, given: tuple[Columns, np.ndarray, np.ndarray], result: np.ndarray
    ) -> None:
        """What is not a comparison of plain numbers: each test is asked of its own rows."""
        columns, rows, places = given
        asked: dict[tuple[object, ...], list[int]] = {}
        for place in np.unique(places[doubtful]).tolist():
            member = self._members[place]
            asked.setdefault((member.keep[test], *sorted(member.names.items())), []).append(place)
        for some in asked.values():
            mine = doubtful[np.isin(places[doubtful], some)]
            member = self._members[some[0]]
            result[mine] = _mask(member.keep[test], member, columns, rows[mine])


def _form(keep: RowFilter, member: FilteredMember) -> object:
    """What tests have in common that are asked of all rows at once."""
    threshold = keep.threshold
    if threshold is None or threshold.name not in member.names:
        return keep, tuple(member.names.items())
    return threshold.computing, threshold.sign, member.names[threshold.name]


def _mask(keep: RowFilter, member: FilteredMember, columns: Columns, rows: np.ndarray) -> np.ndarray:
    mine = {name: columns[member.names[name]][rows] for name in keep.names if name in member.names}
    return keep.mask(mine, len(rows))
