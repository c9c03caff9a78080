"""Operators over columns, against the definitions of SPARQL's algebra, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import tables as module
from csparql_spark.answers.matches import TooManyMatches
from csparql_spark.answers.tables import (
    Table,
    compatible,
    distinct,
    joined,
    latest_of,
    left_joined,
    minus,
    numbered,
    united,
)
from csparql_spark.relations.tags import NEVER
from tests.examples import examples

Row = tuple[tuple[tuple[str, int], ...], int | None]  # what is bound, and the tag
NAMES = ("?x", "?y", "?z")


@st.composite
def drawn(draw: Callable, tagged: bool = True) -> Table:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    length = draw(st.integers(0, 6))
    cells = st.lists(st.sampled_from([-1, 0, 1, 2, 1 << 30]), min_size=length, max_size=length)
    columns = {name: np.array(draw(cells), dtype=np.int64) for name in names}
    tag = np.array(draw(st.lists(st.integers(1, 9), min_size=length, max_size=length)), dtype=np.int64)
    return Table(columns, length, tag if tagged else None)


def rows(table: Table, tagged: bool = True) -> list[Row]:
    assert all(len(column) == table.length for column in table.columns.values())
    assert table.tag is None or len(table.tag) == table.length
    return [
        (
            tuple(sorted((name, int(column[place])) for name, column in table.columns.items() if column[place] != -1)),
            int(table.tag[place]) if tagged and table.tag is not None else None,
        )
        for place in range(table.length)
    ]


def pairs(left: Iterable[Row], right: Iterable[Row]) -> Iterable[tuple[Row, Row, dict[str, int]]]:
    for one in left:
        for other in right:
            mine, theirs = dict(one[0]), dict(other[0])
            if all(mine[name] == theirs[name] for name in mine.keys() & theirs.keys()):
                yield one, other, {**mine, **theirs}


def row(bound: dict[str, int], tag: int | None = None) -> Row:
    return tuple(sorted(bound.items())), tag


@settings(max_examples=examples(120), deadline=None)
@given(drawn(), drawn())
def test_join_union_and_minus(left: Table, right: Table) -> None:
    wanted = [row(both, min(one[1], other[1])) for one, other, both in pairs(rows(left), rows(right))]
    assert Counter(rows(joined(left, right))) == Counter(wanted)
    assert rows(united([left, right])) == rows(left) + rows(right)
    mine = rows(left, False)
    gone = {id(one) for one, other, _ in pairs(mine, rows(right)) if dict(one[0]).keys() & dict(other[0]).keys()}
    assert rows(minus(left, right)) == [one for one in mine if id(one) not in gone]
    mine, theirs = compatible(left, right)
    assert len(set(zip(mine.tolist(), theirs.tolist()))) == len(wanted)


@settings(max_examples=examples(120), deadline=None)
@given(drawn(), drawn(), st.booleans())
def test_left_join(left: Table, right: Table, tested: bool) -> None:
    def holds(table: Table) -> np.ndarray:
        return (table.column("?x") == 1) | (table.column("?z") == -1)

    def held(bound: dict[str, int]) -> bool:
        return bound.get("?x") == 1 or "?z" not in bound

    wanted = []
    for one in rows(left, False):
        found = [both for _, _, both in pairs([one], rows(right)) if not tested or held(both)]
        wanted += map(row, found) if found else [one]
    assert Counter(rows(left_joined(left, right, holds if tested else None))) == Counter(wanted)


@settings(max_examples=examples(120), deadline=None)
@given(drawn())
def test_distinct_keeps_the_first_with_the_latest_tag(table: Table) -> None:
    wanted: dict[tuple, int] = {}
    for bound, tag in rows(table):
        wanted[bound] = max(tag, wanted.get(bound, tag))
    assert rows(distinct(table)) == list(wanted.items())
    assert rows(distinct(table.untagged())) == [(bound, None) for bound in wanted]


@settings(max_examples=examples(120), deadline=None)
@given(drawn(), st.lists(st.sampled_from((*NAMES, "?never")), unique=True))
def test_projection_keeps_repetitions(table: Table, names: list[str]) -> None:
    assert rows(table.project(names)) == [
        (tuple(cell for cell in bound if cell[0] in names), tag) for bound, tag in rows(table)
    ]


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(1, 8), st.data())
def test_rows_have_equal_numbers_when_they_are_equal(width: int, data: st.DataObject) -> None:
    cells = st.sampled_from([-1, 0, 1, (1 << 20) - 1, 1 << 25, (1 << 40) - 1])
    table = data.draw(st.lists(st.tuples(*[cells] * width), min_size=1, max_size=12))
    numbers = numbered([np.array([line[place] for line in table], dtype=np.int64) for place in range(width)]).tolist()
    assert len(set(zip(table, numbers))) == len(set(table)) == len(set(numbers))


def test_tables_without_columns() -> None:
    unit, nothing = Table.unit(), Table.none(())
    three = Table({}, 3, np.array([4, 6, 5]))
    assert rows(distinct(three)) == [((), 6)]
    assert distinct(nothing).length == 0
    assert rows(joined(unit, three)) == rows(three)
    assert joined(three, three).length == 9
    assert joined(three, nothing).length == 0 and left_joined(three, nothing).length == 3
    assert minus(three, three).length == 3


def test_a_table_that_would_be_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 20)
    table = Table.of({"?x": np.array([1, 1, 1, 1, 2])}, np.arange(5))
    assert joined(table, table).length == 17
    with pytest.raises(TooManyMatches, match="a table on the way to the answer has more than 20 rows"):
        joined(table, table.project(["?y"]))


def test_the_latest_of_the_rows_of_a_place() -> None:
    assert latest_of(np.array([2, 0, 2]), np.array([5, 3, 7]), 4).tolist() == [3, NEVER, 7, NEVER]
