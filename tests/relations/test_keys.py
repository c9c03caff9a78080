from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.kernel.sort import distinct
from csparql_spark.relations import keys
from csparql_spark.relations.keys import OSP, POS, PSO, SPO, Packing
from tests.examples import examples

ids = st.integers(0, 1 << 18)
triples = st.lists(st.tuples(ids, st.integers(0, 300), ids), min_size=1, max_size=30)


def columns(rows: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(np.array(rows, dtype=np.int64).T)


@given(triples, triples)
@settings(max_examples=examples(60), deadline=None)
def test_keys_are_triples_and_compare_like_them(rows: list, more: list) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "RANK_BITS", 1)
        packing = Packing()
        s, p, o = columns(rows)
        packing.learn(p)
        packed = packing.pack(s, p, o)
        assert list(zip(*(column.tolist() for column in packing.unpack(packed)))) == rows
        previous = packing.learn(columns(more)[1])
        if previous is not None:
            packed = packing.widened(packed, previous)
        assert packed.tolist() == packing.pack(s, p, o).tolist()
        rank = dict(zip(packing.predicates.tolist(), range(len(packing.predicates))))
        for order in (PSO, POS, SPO, OSP):
            turned = packing.reordered(packed, order)
            terms = [
                [rank[row["spo".index(place)]] if place == "p" else row["spo".index(place)] for place in order.places]
                for row in rows
            ]
            assert [rows[i] for i in np.argsort(turned, kind="stable")] == [
                rows[i] for i in sorted(range(len(rows)), key=lambda i: terms[i])
            ]
            for place, column in zip("spo", (s, p, o)):
                assert packing.place(turned, order, place).tolist() == column.tolist()


def test_predicates_are_learned_once_and_others_have_no_triples() -> None:
    packing = Packing()
    assert packing.learn(7) is None and packing.learn(np.array([9, 7, 9, 1000])) is None and packing.learn(9) is None
    assert packing.predicates.tolist() == [7, 9, 1000]
    assert packing.ranks(np.array([9, 5, 5000])).tolist() == [1, -1, -1] and packing.ranks(9999) == -1
    assert (packing.pack(np.array([1]), 8, np.array([2])) < 0).all()
    low, span = packing.prefix(PSO, {"p": 8, "s": np.array([3, (1 << 26) - 2])})
    assert (low + span <= 0).all()


def test_more_predicates_leave_fewer_bits_for_the_terms() -> None:
    packing = Packing()
    packing.learn(np.arange(100))
    last = packing.masks["s"] - 1
    assert packing.unpack(packing.pack(np.array([last]), 99, np.array([last])))[2].tolist() == [last] == [(1 << 26) - 2]
    with pytest.raises(OverflowError, match="The id 67108863 is too great: with 100 predicates, ids go up to 67108862"):
        packing.pack(np.array([last + 1]), 99, np.array([0]))
    with pytest.raises(OverflowError, match="Compact the term dictionary"):
        packing.prefix(PSO, {"p": 99, "s": last + 1})
    assert packing.learn(np.arange(5000)) == 26 and packing.width < 26


@given(triples)
@settings(max_examples=examples(60), deadline=None)
def test_new_ids_keep_the_order(rows: list) -> None:
    packing = Packing()
    s, p, o = columns(rows)
    packing.learn(np.array([301, 5]))  # 301 is not in use any more
    packing.learn(p)
    packed = distinct(np.sort(packing.pack(s, p, o)))
    before = list(zip(*(column.tolist() for column in packing.unpack(packed))))
    used = np.array(sorted({id for row in rows for id in row}))
    table = np.full(used.max() + 302, -1)
    table[used] = np.arange(len(used))
    renumbered = packing.renumbered(table, packed)
    assert (np.diff(renumbered) > 0).all()
    assert list(zip(*(column.tolist() for column in packing.unpack(renumbered)))) == [
        tuple(table[list(row)].tolist()) for row in before
    ]
    assert sorted(packing.predicates.tolist()) == sorted(set(table[p].tolist()))
    assert packing.pack(table[s], table[p], table[o]).min() >= 0
