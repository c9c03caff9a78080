"""Closed backgrounds: what a process remembers of the backgrounds that were closed, here or beside it, by name.

A name stands for rules and a background, so what is known under it is a function of the name, whoever has found it out.
Each asker has ids of its own, so terms are kept as texts. That closing was too much is remembered, too, for a while:
so that those who ask together are told the same without a trial each.

    keep(name, ClosedBackground.of(facts, dictionary))
    known(name).columns(another_dictionary)            # the same facts, in ids of that dictionary
    fail(name, "the rule […] multiplies what it is given")
    failure(name)                                      # the sentence; None after a minute

Invariant: at most so many are remembered, those that were asked for last. A file that holds one is never changed, so
what is read of it may be looked at where it lies.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from csparql_spark.rdf.dictionary import TermDictionary

Columns = tuple[np.ndarray, np.ndarray, np.ndarray]

MOST_KNOWN = 8
FAILED_SECONDS = 60.0

_PLACES = ("s", "p", "o")
_SCHEMA = pa.schema([("terms", pa.large_list(pa.string())), *((place, pa.large_list(pa.int32())) for place in _PLACES)])


@dataclass(frozen=True, eq=False)
class ClosedBackground:
    """Facts, as places in a list of distinct terms."""

    terms: pa.Array | Sequence[str]
    places: tuple[np.ndarray, ...]  # of subjects, predicates and objects

    @classmethod
    def of(cls, facts: Columns, dictionary: TermDictionary) -> ClosedBackground:
        used = np.zeros(len(dictionary), dtype=bool)
        for column in facts:
            used[column] = True
        places = np.cumsum(used, dtype=np.int32) - 1
        return cls(dictionary.decode(np.flatnonzero(used)), tuple(places[column] for column in facts))

    def columns(self, dictionary: TermDictionary) -> Columns:
        ids = dictionary.encode(self.terms)
        s, p, o = (ids[column] for column in self.places)
        return s, p, o

    def write(self, file: BinaryIO) -> None:
        columns = (pa.array(self.terms, pa.string()), *map(pa.array, self.places))
        lists = [pa.LargeListArray.from_arrays(pa.array([0, len(one)], pa.int64()), one) for one in columns]
        with pa.ipc.new_file(file, _SCHEMA) as writer:
            writer.write(pa.record_batch(lists, schema=_SCHEMA))

    @classmethod
    def read(cls, path: Path) -> ClosedBackground:
        """Of a file, which is mapped."""
        batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
        return cls(batch.column(0).values, tuple(batch.column(place).values.to_numpy() for place in _PLACES))


def known(name: Hashable) -> ClosedBackground | None:
    found = _known.pop(name, None)
    if found is not None:
        _known[name] = found  # the newest is the last
    return found


def keep(name: Hashable, closed: ClosedBackground) -> None:
    _known[name] = closed
    while len(_known) > MOST_KNOWN:
        del _known[next(iter(_known))]


def fail(name: Hashable, reason: str) -> None:
    """To close it was too much."""
    now = time.monotonic()
    for other in [other for other, (_, at) in _failed.items() if now - at >= FAILED_SECONDS]:
        del _failed[other]
    _failed[name] = reason, now


def failure(name: Hashable) -> str | None:
    reason, at = _failed.get(name, (None, 0.0))
    return reason if time.monotonic() - at < FAILED_SECONDS else None


_known: dict[Hashable, ClosedBackground] = {}
_failed: dict[Hashable, tuple[str, float]] = {}
