from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.relations import keys
from csparql_spark.relations.graph import Block
from csparql_spark.relations.tags import NEVER
from csparql_spark.relations.tally import Tally
from tests.examples import examples

ids = st.sampled_from([0, 1, 2, 300])
derivations = st.lists(st.tuples(ids, ids, ids, st.integers(1, 5)), max_size=6)


def block(rows: list[tuple[int, int, int, int]]) -> list[Block]:
    return [tuple(np.array([row[place] for row in rows], np.int64) for place in range(4))]


@given(st.lists(st.tuples(derivations, st.integers(0, 6), st.integers(0, 2), st.booleans()), max_size=8))
@settings(max_examples=examples(100), deadline=None)
def test_like_a_counter(history: list[tuple[list, int, int, bool]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "RANK_BITS", 1)
        tally, twin, now = Tally(), Counter(), 0
        for more, back, later, renumbered in history:
            more = [(s, p, o, tag + now) for s, p, o, tag in more]
            fewer = list(twin.elements())[:back]
            concerned = tally.add(block(more), block(fewer))
            twin.update(more)
            twin.subtract(fewer)
            twin = +twin
            expected = {
                row[:3]: max((other[3] for other in twin if other[:3] == row[:3]), default=NEVER)
                for row in (*more, *fewer)
            }
            assert dict(zip(zip(*(column.tolist() for column in concerned[:3])), concerned.tag.tolist())) == expected
            now += later
            tally.expire(now)
            twin = Counter({row: count for row, count in twin.items() if row[3] > now})
            assert len(tally) == len(twin)
            if renumbered:
                used = sorted({id for row in twin for id in row[:3]})
                table, back_table = np.full(301, -1), np.full(301, -1)
                table[used] = np.arange(len(used))
                back_table[: len(used)] = used
                tally.renumber(table)
                tally.renumber(back_table)
