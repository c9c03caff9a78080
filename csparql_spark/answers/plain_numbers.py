"""Plain numbers: ids whose terms are numbers that a double holds exactly enough to compare and add them.

Integers of up to 15 digits; decimals of up to 15 digits, six of them behind the point; doubles. Two different integers
or decimals of so few digits are different doubles, in the same order, and what is six digits behind the point is a
whole number of millionths. Whatever else is a number, somebody slower has to look at.

    plain = Plain(dictionary)
    kinds, values = plain.of(ids)           # OTHER, INTEGER, DECIMAL or DOUBLE, and the number

Terms are read once, as long as their ids mean them (`restart`).
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.kernel.sort import distinct, ordered
from csparql_spark.rdf.dictionary import TermDictionary

OTHER, INTEGER, DECIMAL, DOUBLE = 0, 1, 2, 3
PLACES = 6  # digits behind the point of a decimal
FEW = 40  # terms that are read sooner one by one than at once
_UNREAD = -1
_KINDS = {"integer": INTEGER, "decimal": DECIMAL, "double": DOUBLE}
_NUMBER = (
    r'^"(?P<number>-?(?P<whole>[0-9]{1,15})(?:\.(?P<places>[0-9]{1,14}))?(?P<exponent>[eE][+-]?[0-9]{1,2})?)"'
    r"\^\^<http://www\.w3\.org/2001/XMLSchema#(?P<kind>integer|decimal|double)>$"
)

_ONE = re.compile(_NUMBER)


class Plain:
    def __init__(self, dictionary: TermDictionary) -> None:
        self._dictionary = dictionary
        self.restart()

    def restart(self) -> None:
        """Ids mean other terms now."""
        self._kinds, self._values = np.zeros(0, dtype=np.int8), np.zeros(0)
        self._grow(1024)

    def of(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The kinds of ids and their numbers; what is unbound is OTHER."""
        if len(self._dictionary) >= len(self._kinds):
            self._grow(max(len(self._dictionary) + 1, 2 * len(self._kinds)))
        kinds = self._kinds[ids]
        if kinds.min(initial=OTHER) == _UNREAD:
            self._read(distinct(ordered(ids[kinds == _UNREAD])))
            kinds = self._kinds[ids]
        return kinds, self._values[ids]

    def _grow(self, size: int) -> None:
        """The last place is never that of an id: what is unbound, -1, is found there."""
        before, kinds, values = max(0, len(self._kinds) - 1), np.full(size, _UNREAD, dtype=np.int8), np.zeros(size)
        kinds[:before], values[:before] = self._kinds[:before], self._values[:before]
        kinds[-1] = OTHER
        self._kinds, self._values = kinds, values

    def _read(self, ids: np.ndarray) -> None:
        if len(ids) <= FEW:
            for id, term in zip(ids.tolist(), self._dictionary.decode(ids), strict=True):
                self._kinds[id], self._values[id] = _read_one(term)
        else:
            self._read_at_once(ids)

    def _read_at_once(self, ids: np.ndarray) -> None:
        parts = pc.extract_regex(self._dictionary.array(ids), _NUMBER)
        number, whole, places, exponent, kind = (
            pc.struct_field(parts, name) for name in ("number", "whole", "places", "exponent", "kind")
        )
        kinds = np.zeros(len(ids), dtype=np.int8)
        for name, code in _KINDS.items():
            kinds[pc.fill_null(pc.equal(kind, name), False).to_numpy(zero_copy_only=False)] = code
        behind = pc.fill_null(pc.utf8_length(places), 0).to_numpy(zero_copy_only=False)
        digits = behind + pc.fill_null(pc.utf8_length(whole), 0).to_numpy(zero_copy_only=False)
        raised = pc.fill_null(pc.utf8_length(exponent), 0).to_numpy(zero_copy_only=False) > 0
        kinds[(kinds == INTEGER) & (raised | (behind > 0))] = OTHER
        kinds[(kinds == DECIMAL) & (raised | (behind > PLACES) | (digits > 15))] = OTHER
        self._kinds[ids] = kinds
        self._values[ids] = pc.fill_null(pc.cast(number, pa.float64()), 0).to_numpy(zero_copy_only=False)


def _read_one(term: str) -> tuple[int, float]:
    found = _ONE.fullmatch(term)
    if found is None:
        return OTHER, 0.0
    kind, behind = _KINDS[found["kind"]], len(found["places"] or "")
    if kind == INTEGER and (found["exponent"] or behind):
        return OTHER, 0.0
    if kind == DECIMAL and (found["exponent"] or behind > PLACES or behind + len(found["whole"]) > 15):
        return OTHER, 0.0
    return kind, float(found["number"])
