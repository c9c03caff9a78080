"""Few rows, put in order by hand, are what columns make of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Bindings, Result
from csparql_spark.answers.few_rows import MOST, few_in_order, is_few
from csparql_spark.answers.ordering import in_order
from csparql_spark.answers.ranks import Ranks
from csparql_spark.answers.tables import Table
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.tags import ALWAYS

TERMS = ["<urn:b>", "<urn:a>", '"é"', "_:x", '"10"', '"9"']
cells = st.integers(-1, len(TERMS) - 1)


def dictionary() -> TermDictionary:
    found = TermDictionary()
    found.encode(TERMS)
    return found


@given(
    st.integers(1, 3).flatmap(
        lambda width: st.lists(st.tuples(*[cells] * width, st.sampled_from([-3, 0, 5, 7, ALWAYS])), max_size=12).map(
            lambda rows: (width, rows)
        )
    ),
    st.booleans(),
)
def test_as_columns_say(given_rows: tuple[int, list[tuple[int, ...]]], tagged: bool) -> None:
    width, rows = given_rows
    variables, known = tuple("xyz"[:width]), dictionary()
    *columns, tag = [np.array([row[place] for row in rows], dtype=np.int64) for place in range(width + 1)]
    table = Table({f"?{name}": column for name, column in zip(variables, columns)}, len(rows), tag if tagged else None)
    bindings, until = few_in_order(known, variables, table)
    terms, ranks = Ranks(known).alone(columns)
    ranks, expected = in_order(ranks, table.tag)
    twin = Bindings.from_ids(variables, terms, ranks, len(rows), in_order=True)
    assert bindings == twin
    assert Result("bindings", bindings, until=until).to_bytes() == Result("bindings", twin, until=expected).to_bytes()


def test_a_variable_that_no_row_binds() -> None:
    bindings, _ = few_in_order(dictionary(), ("x", "gone"), Table.of({"?x": np.array([0])}, np.array([3])))
    assert bindings.rows() == [{"x": "<urn:b>"}]


def test_what_is_few() -> None:
    assert is_few(Table.none(["?x"]), ("x",))
    assert not is_few(Table.unit(), ())
    assert not is_few(Table({}, MOST, None), ("x", "y"))
