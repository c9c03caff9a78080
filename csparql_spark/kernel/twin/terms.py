from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa


class Terms:
    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._terms: list[str] = []

    def __len__(self) -> int:
        return len(self._terms)

    def encode(self, terms: pa.StringArray) -> np.ndarray:
        wanted = terms.to_pylist()
        found = list(map(self._ids.get, wanted))  # most are known
        if None in found:
            self._add(wanted, found)
        return np.array(found, dtype=np.int64)

    def _add(self, wanted: list[str], found: list[int | None]) -> None:
        """Give ids to those that have none yet."""
        ids = self._ids
        before = len(ids)
        for place, id in enumerate(found):
            if id is None:
                found[place] = ids.setdefault(wanted[place], len(ids))
        new = list(itertools.islice(reversed(ids), len(ids) - before))
        new.reverse()
        self._terms.extend(new)

    def find(self, term: str) -> int:
        return self._ids.get(term, -1)

    def decode(self, ids: np.ndarray) -> list[str]:
        return [self._terms[id] for id in ids.tolist()]

    def sorted(self, ids: np.ndarray) -> tuple[np.ndarray, pa.StringArray]:
        terms = self.decode(ids)
        order = sorted(range(len(terms)), key=terms.__getitem__)
        return np.array(order, np.int64), pa.array([terms[place] for place in order], pa.string())

    def array(self, ids: np.ndarray) -> pa.StringArray:
        return pa.array(self.decode(ids), pa.string())

    def weight(self, kept: np.ndarray, longer: int) -> int:
        others = [self._terms[id] for id in np.flatnonzero(~kept).tolist()]
        # A character has four bytes at most.
        lengths = [len(term.encode()) for term in others if 4 * len(term) > longer]
        return sum(length for length in lengths if length > longer)

    def kept(self, ids: np.ndarray) -> Terms:
        table = Terms()
        table._terms = self.decode(ids)
        table._ids = {term: id for id, term in enumerate(table._terms)}
        return table


def distinct(terms: pa.StringArray) -> tuple[pa.StringArray, np.ndarray]:
    encoded = terms.dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy()
