"""A term dictionary: terms become integers once, and the integers become terms again.

Invariants: equal terms have equal ids, different terms different ones ("01" and "1" are different terms, whatever their
values); an id means its term until `compact`, which gives new ids to the terms that are still wanted and forgets the
others.

    dictionary = TermDictionary()
    ids = dictionary.encode(chunk.terms)     # one id for each term of the chunk
    dictionary.decode(ids)                   # the terms again
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pyarrow as pa


class TermDictionary:
    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._terms: list[str] = []

    def __len__(self) -> int:
        return len(self._terms)

    def encode(self, terms: pa.Array | Iterable[str]) -> np.ndarray:
        """The ids of `terms`, which are added if they are new. The work is per distinct term of a push, not per
        triple."""
        wanted = terms.to_pylist() if isinstance(terms, pa.Array) else terms
        ids = self._ids
        before = len(ids)
        found = [ids.setdefault(term, len(ids)) for term in wanted]
        new = list(itertools.islice(reversed(ids), len(ids) - before))
        self._terms.extend(reversed(new))
        return np.array(found, dtype=np.int64)

    def find(self, term: str) -> int | None:
        return self._ids.get(term)

    def decode(self, ids: np.ndarray) -> list[str]:
        return [self._terms[id] for id in ids.tolist()]

    def compact(self, wanted: np.ndarray) -> np.ndarray:
        """Keep the ids in `wanted` (sorted, distinct) only; return the table from old ids to new ones (-1:
        forgotten)."""
        table = np.full(len(self._terms), -1, dtype=np.int64)
        table[wanted] = np.arange(len(wanted))
        self._terms = [self._terms[i] for i in wanted.tolist()]
        self._ids = {term: id for id, term in enumerate(self._terms)}
        return table
