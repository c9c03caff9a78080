"""Facts by their predicates are those that a look at each of them finds, in their order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.relations import predicates as module
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.predicates import ByPredicate
from tests.examples import examples

triples = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 9), st.integers(1, 5)), max_size=30)


@settings(max_examples=examples(100), deadline=None)
@given(triples, st.booleans(), st.sampled_from([0, 2, 64]))
def test_facts_are_found_by_their_predicates(drawn: list[tuple[int, int, int, int]], in_order: bool, most: int) -> None:
    rows = sorted(drawn, key=lambda row: row[1]) if in_order else drawn
    facts = Facts(*np.array(rows, dtype=np.int64).reshape(-1, 4).T)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST", most)
        came = ByPredicate(facts)
        for predicate in range(5):
            for _ in "ab":
                found = came.of(predicate)
                assert list(zip(*(column.tolist() for column in found))) == [row for row in rows if row[1] == predicate]
        assert came.of("?p") is facts
