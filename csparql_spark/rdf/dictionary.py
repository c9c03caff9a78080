"""A term dictionary: terms become integers once, and the integers become terms again; and who holds these integers.

Invariants: equal terms have equal ids, different terms different ones ("01" and "1" are different terms, whatever their
values); an id means its term as long as the `generation` is the same. `compact` begins the next one: it gives new ids,
in the order of the old ones, to the terms that are still wanted, and forgets the others.

    dictionary = TermDictionary()
    ids = dictionary.encode(chunk.terms)     # one id for each term of the chunk
    dictionary.decode(ids)                   # the terms again
    dictionary.holders.append(graph)         # somebody who keeps ids, and is told their new ones (`Holder`)
    dictionary.forget_unheld(content)        # when it pays: only what the content and the holders have ids of stays

Who keeps ids for longer than a call is a holder, or looks at `generation` each time and begins anew when it has grown.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Protocol

import numpy as np
import pyarrow as pa

SPARE = 1024  # terms that may be forgotten without anything being compacted
LONG = 4096  # characters, from which terms are counted one by one: a few of them may be more than all the others
SPARE_CHARACTERS = 4 << 20  # of long terms that may be forgotten


class Holder(Protocol):
    """Somebody who keeps ids of a dictionary."""

    def terms(self) -> np.ndarray:
        """The ids that are kept, in any order."""

    def renumber(self, table: np.ndarray) -> None:
        """Id `i` has become `table[i]`; the order of the ids that are kept is the same as before."""


class TermDictionary:
    def __init__(self) -> None:
        self.holders: list[Holder] = []
        self.generation = 0  # grows when ids change their meaning
        self._ids: dict[str, int] = {}
        self._terms: list[str] = []
        self._long: dict[int, int] = {}  # the lengths of long terms

    def __len__(self) -> int:
        return len(self._terms)

    def encode(self, terms: pa.Array | Iterable[str]) -> np.ndarray:
        """The ids of `terms`, which are added if they are new. The work is per distinct term of a push, not per
        triple."""
        wanted = terms.to_pylist() if isinstance(terms, pa.Array) else list(terms)
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
        if max(map(len, new)) > LONG:
            self._long |= {id: len(term) for id, term in enumerate(new, before) if len(term) > LONG}

    def find(self, term: str) -> int | None:
        return self._ids.get(term)

    def term(self, id: int) -> str:
        return self._terms[id]

    def decode(self, ids: np.ndarray) -> list[str]:
        return [self._terms[id] for id in ids.tolist()]

    def compact(self, wanted: np.ndarray) -> np.ndarray:
        """Keep the ids in `wanted` (sorted, distinct) only; return the table from old ids to new ones (-1:
        forgotten)."""
        table = np.full(len(self._terms), -1, dtype=np.int64)
        table[wanted] = np.arange(len(wanted))
        self._terms = [self._terms[i] for i in wanted.tolist()]
        self._ids = {term: id for id, term in enumerate(self._terms)}
        self._long = {int(table[id]): length for id, length in self._long.items() if table[id] >= 0}
        self.generation += 1
        return table

    def forget_unheld(self, owner: Holder) -> None:
        """Forget the terms that have ids with nobody, if that is more than half of them, or if some are so long that it
        pays by itself. The owner of the dictionary is renumbered first, and then the holders, in their order."""
        holders = (owner, *self.holders)
        wanted = np.zeros(len(self), dtype=bool)
        for holder in holders:
            wanted[holder.terms()] = True
        live = np.flatnonzero(wanted)
        spare = sum(length for id, length in self._long.items() if not wanted[id])
        if 2 * len(live) + SPARE > len(self) and spare <= SPARE_CHARACTERS:
            return
        table = self.compact(live)
        for holder in holders:
            holder.renumber(table)
