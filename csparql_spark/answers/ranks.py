"""Ranks: the places of terms in the order of their text, kept from one answer to the next.

Rows of an answer are put in the order of their terms, and most of its terms were in the answer before. So the terms
of an answer are kept in order for the next: new ones are put between them, those that it does not show are left out.
An answer of few cells is put in order sooner than it is looked up what is new in it: it is begun anew, and nothing is
kept.

    ranks = Ranks(dictionary)
    terms, columns = ranks.of([ids, others])     # the terms in order; in place of each id its place there, -1: unbound
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.kernel.sort import dense_ranks, ordered
from csparql_spark.kernel.sort import distinct as distinct_of_sorted
from csparql_spark.rdf.dictionary import TermDictionary

LEAST = 1024  # ids that there is room for at first
FEW = 500  # cells of an answer that is put in order by itself


class Ranks:
    def __init__(self, dictionary: TermDictionary) -> None:
        self._dictionary = dictionary
        self.restart()

    def restart(self) -> None:
        """Ids mean other terms now."""
        self._rank = np.full(LEAST, -1, dtype=np.int32)  # by id; -1 for those that were never shown
        self._ids = np.empty(0, dtype=np.int64)  # by rank
        self._array = pa.array([], pa.string())
        self._text_bytes = 0

    @property
    def nbytes(self) -> int:
        return self._rank.nbytes + self._ids.nbytes + self._text_bytes

    def of(self, columns: Sequence[np.ndarray]) -> tuple[pa.StringArray, list[np.ndarray]]:
        if sum(map(len, columns)) <= FEW:
            return self.alone(columns)
        cells = np.concatenate(columns)
        highest = int(cells.max())
        if highest + 2 > len(self._rank):
            more = max(highest + 2, 2 * len(self._rank)) - len(self._rank)
            self._rank = np.concatenate([self._rank, np.full(more, -1, dtype=np.int32)])
        # The last place belongs to no id, so that what is unbound (-1) finds -1.
        ranks = self._rank[cells]
        shown = np.zeros(len(self._ids) + 1, dtype=bool)
        shown[ranks] = True
        new = distinct_of_sorted(ordered(cells[ranks < 0])) if shown[-1] else cells[:0]
        new = new[np.searchsorted(new, 0) :]
        if len(new) or not shown[:-1].all():
            self._change(shown[:-1], new)
            ranks = self._rank[cells]
        rows = len(columns[0])
        return self._array, [ranks[place * rows : (place + 1) * rows] for place in range(len(columns))]

    def alone(self, columns: Sequence[np.ndarray]) -> tuple[pa.StringArray, list[np.ndarray]]:
        """The same, for something that the next answer has nothing in common with."""
        if not columns:
            return pa.array([], pa.string()), []
        distinct, cells = dense_ranks(np.concatenate(columns))
        unbound = int(distinct.searchsorted(0))  # 1 if some cell is, or 0
        order, terms = self._dictionary.sorted(distinct[unbound:])
        rank = np.full(len(distinct), -1, dtype=np.int32)
        rank[order + unbound] = np.arange(len(order), dtype=np.int32)
        ranks, rows = rank[cells], len(columns[0])
        return terms, [ranks[place * rows : (place + 1) * rows] for place in range(len(columns))]

    def _change(self, mask: np.ndarray, ids: np.ndarray) -> None:
        """Keep those of the terms that a mask tells, and put the terms of new ids between them."""
        order, fresh = self._dictionary.sorted(ids)
        ids = ids[order]
        before = np.concatenate([[0], np.cumsum(mask)])  # how many are kept of those before
        places = before[pc.search_sorted(self._array, fresh).to_numpy()] + np.arange(len(ids))
        old = np.ones(int(before[-1]) + len(ids), dtype=bool)
        old[places] = False
        source = np.empty(len(old), dtype=np.int64)
        source[old], source[~old] = np.flatnonzero(mask), len(mask) + np.arange(len(ids))
        self._array = pa.concat_arrays([self._array, fresh]).take(pa.array(source))
        self._text_bytes = self._array.nbytes
        self._rank[self._ids[~mask]] = -1
        self._ids = np.concatenate([self._ids, ids])[source]
        self._rank[self._ids] = np.arange(len(self._ids), dtype=np.int32)


def ranks_by(key: Callable[[str], str] | None, dictionary: TermDictionary, ids: np.ndarray) -> np.ndarray:
    """The places of ids in the order of their terms, or of what `key` makes of these; -1 for what is unbound. Equal
    keys have equal places."""
    distinct, inverse = dense_ranks(ids)
    bound = distinct[distinct >= 0]
    terms = dictionary.decode(bound)
    keys = terms if key is None else list(map(key, terms))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ranks = np.empty(len(distinct), dtype=np.int64)
    ranks[: len(distinct) - len(bound)] = -1
    place = 0
    for before, now in zip([None, *order], order):
        place += before is not None and keys[before] != keys[now]
        ranks[len(distinct) - len(bound) + now] = place
    return ranks[inverse]
