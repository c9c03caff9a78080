"""A term dictionary: terms become integers once, and the integers become terms again; and who holds these integers.

Invariants: equal terms have equal ids, different terms different ones ("01" and "1" are different terms, whatever their
values); an id means its term as long as the `generation` is the same. `compact` begins the next one: it gives new ids,
in the order of the old ones, to the terms that are still wanted, and forgets the others.

    dictionary = TermDictionary()
    ids = dictionary.encode(chunk.terms)     # one id for each term of the chunk
    dictionary.decode(ids)                   # the terms again; `array` says them as a column
    dictionary.holders.append(graph)         # somebody who keeps ids, and is told their new ones (`Holder`)
    dictionary.forget_unheld(content)        # when it pays: only what the content and the holders have ids of stays

Who keeps ids for longer than a call is a holder, or looks at `generation` each time and begins anew when it has grown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import pyarrow as pa

from csparql_spark.kernel.terms import Terms

SPARE = 1024  # terms that may be forgotten without anything being compacted
FEW = 10  # terms that are found sooner one by one than made a column
LONG = 4096  # bytes, from which terms are counted one by one: a few of them may be more than all the others
SPARE_BYTES = 4 << 20  # of long terms that may be forgotten


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
        self._terms = Terms()

    def __len__(self) -> int:
        return len(self._terms)

    def encode(self, terms: pa.Array | Iterable[str]) -> np.ndarray:
        """The ids of `terms`, which are added if they are new. The work is per distinct term of a push, not per
        triple."""
        if not isinstance(terms, pa.Array):
            terms = list(terms)
            if len(terms) <= FEW and -1 not in (known := [self._terms.find(term) for term in terms]):
                return np.array(known, np.int64)
            terms = pa.array(terms, pa.string())
        return self._terms.encode(terms)

    def find(self, term: str) -> int | None:
        id = self._terms.find(term)
        return None if id < 0 else id

    def decode(self, ids: np.ndarray) -> list[str]:
        return self._terms.decode(ids)

    def array(self, ids: np.ndarray) -> pa.StringArray:
        """The same, for who has no need of strings of Python."""
        return self._terms.array(ids)

    def sorted(self, ids: np.ndarray) -> tuple[np.ndarray, pa.StringArray]:
        """The places of different ids in the order of their terms, and these terms."""
        return self._terms.sorted(ids)

    def compact(self, wanted: np.ndarray) -> np.ndarray:
        """Keep the ids in `wanted` (sorted, distinct) only; return the table from old ids to new ones (-1:
        forgotten)."""
        table = np.full(len(self._terms), -1, dtype=np.int64)
        table[wanted] = np.arange(len(wanted))
        self._terms = self._terms.kept(wanted)
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
        if 2 * len(live) + SPARE > len(self) and self._terms.weight(wanted, LONG) <= SPARE_BYTES:
            return
        table = self.compact(live)
        for holder in holders:
            holder.renumber(table)
