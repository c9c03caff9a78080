from __future__ import annotations

from collections import Counter
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import bag_difference as module
from csparql_spark.answers.bag_difference import difference, unshared
from csparql_spark.answers.bindings import Result
from tests.examples import examples

cells = st.none() | st.sampled_from(['"a"', '"b"', "<urn:a>", "_:x"])
rows = st.lists(st.tuples(cells, cells), max_size=12)
lines = st.lists(st.sampled_from([f"<urn:{name}> <urn:p> <urn:o> .\n" for name in "abcdef"]), unique=True).map(sorted)


def table(*rows: tuple) -> Result:
    return Result.bindings(("x", "y"), list(zip(*rows)) or [[], []])


def shown(answer: Result) -> list[tuple]:
    return [(row.get("x"), row.get("y")) for row in answer.table.rows()]


def test_rows_are_a_bag() -> None:
    now, before = table(("1", "2"), ("1", "2"), ("1", "2"), ("3", None)), table(("1", "2"), ("3", "4"))
    assert shown(difference(now, before)) == [("1", "2"), ("1", "2"), ("3", None)]
    assert shown(difference(before, now)) == [("3", "4")]


def test_what_is_left_keeps_its_order() -> None:
    now = table(("9", None), ("1", None), ("5", None), ("1", None), ("7", None))
    assert shown(difference(now, table(("1", None), ("5", None)))) == [("9", None), ("1", None), ("7", None)]


def test_an_unbound_cell_is_like_another_and_like_no_term() -> None:
    assert shown(difference(table((None, "1"), ("1", None)), table((None, "1")))) == [("1", None)]
    assert shown(difference(table((None, "null"), (None, "")), table((None, None)))) == [(None, "null"), (None, "")]


def test_cells_do_not_run_together() -> None:
    assert shown(difference(table(("a", "bc")), table(("ab", "c")))) == [("a", "bc")]


def test_against_nothing_all_is_new() -> None:
    now = table(("1", "2"), ("1", "2"))
    assert difference(now, None) == difference(now, table()) == now
    assert difference(table(), now) == difference(now, now) == table()


def test_rows_without_columns() -> None:
    def times(count: int) -> Result:
        return Result.bindings((), [], count)

    assert difference(times(3), times(1)) == times(2)
    assert difference(times(1), times(3)) == difference(times(0), times(0)) == times(0)


def test_graphs_are_sets_of_triples() -> None:
    a, b, c = (f"<urn:{name}> <urn:p> <urn:o> .\n" for name in "abc")
    assert difference(Result.graph(a + b), Result.graph(b + c)) == Result.graph(a)
    assert difference(Result.graph(a), Result.graph("")) == difference(Result.graph(a), None) == Result.graph(a)
    assert difference(Result.graph(""), Result.graph(a)) == Result.graph("")


def test_line_ends_inside_of_terms_part_nothing() -> None:
    """N-Triples writes line feeds as \\n; other characters that Python takes for line ends may stand in a literal."""
    first, second = (f'<urn:a> <urn:p> "x{end}y" .\n' for end in ("\u2028", "\x0b"))
    assert difference(Result.graph(first + second), Result.graph(second)) == Result.graph(first)


@given(rows, rows)
@settings(max_examples=examples(300), deadline=None)
def test_tables_are_what_counters_say(now: list[tuple], before: list[tuple]) -> None:
    changed = difference(table(*now), table(*before))
    assert changed.table.variables == ("x", "y")
    assert Counter(shown(changed)) == Counter(now) - Counter(before)
    places = iter(now)
    assert all(row in places for row in shown(changed))  # in the order of the answer
    assert Result.from_bytes(changed.to_bytes()) == changed


@given(lines, lines)
@settings(max_examples=examples(100), deadline=None)
def test_graphs_are_what_sets_say(now: list[str], before: list[str]) -> None:
    changed = difference(Result.graph("".join(now)), Result.graph("".join(before)))
    assert changed == Result.graph("".join(line for line in now if line not in set(before)))


@pytest.mark.parametrize("count", [1, 5_000])
def test_many_rows(count: int) -> None:
    now, before = (
        table(*((f'"{i}"', f'"{i % 7}"') for i in range(count))),
        table(*((f'"{i}"', f'"{i % 7}"') for i in range(0, count, 2))),
    )
    assert shown(difference(now, before)) == [(f'"{i}"', f'"{i % 7}"') for i in range(1, count, 2)]


def test_of_equal_rows_those_that_hold_as_long_were_there_and_then_those_that_hold_longest() -> None:
    def holding(*untils: int) -> Result:
        return table(*[("1", None)] * len(untils)).holding(np.array(untils))

    assert difference(holding(9, 5), holding(5)).until.tolist() == [9]
    assert difference(holding(9, 5), holding(7)).until.tolist() == [5]
    assert difference(holding(9, 5, 3), holding(5, 4)).until.tolist() == [3]
    assert difference(holding(9), holding(7, 5)).until.tolist() == []
    assert difference(holding(7, 5), holding(9)).until.tolist() == [5]


bags = st.lists(st.tuples(st.integers(-1, 2), st.sampled_from([-1, 0, 1, 1 << 40])), max_size=30)


@given(bags, bags)
@settings(max_examples=examples(200), deadline=None)
def test_unshared_rows_are_those_of_the_bags(mine: list[tuple], theirs: list[tuple]) -> None:
    columns = [[np.array([row[place] for row in rows], dtype=np.int64) for place in (0, 1)] for rows in (mine, theirs)]
    found = unshared(*columns)
    for rows, others, places in zip((mine, theirs), (theirs, mine), found):
        assert Counter(rows[place] for place in places.tolist()) == Counter(rows) - Counter(others)
        assert (np.diff(places) > 0).all()


@given(*[st.lists(st.tuples(*[st.integers(-1, 2)] * 2), max_size=9)] * 2)
def test_rows_are_compared_one_by_one_or_by_columns(mine: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> None:
    left, right = ([np.array([row[place] for row in rows], np.int64) for place in (0, 1)] for rows in (mine, theirs))
    one_by_one = [places.tolist() for places in unshared(left, right)]
    with mock.patch.object(module, "FEW", -1):
        assert [places.tolist() for places in unshared(left, right)] == one_by_one
