"""What changes from one answer to another one, folded into the first, is the second, byte for byte."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import delta as module
from csparql_spark.answers.bindings import CorruptAnswer, Result
from csparql_spark.answers.delta import delta_of, folded
from csparql_spark.relations.tags import ALWAYS
from tests.examples import examples

cells = st.sampled_from([None, "<urn:a>", "<urn:b>", '"c"'])
untils = st.sampled_from([7, 8, 9, ALWAYS])
lines = st.lists(st.sampled_from([f"<urn:{name}> <urn:p> <urn:o> .\n" for name in "abcdef"]), unique=True).map(sorted)


class Row(NamedTuple):
    x: str | None
    y: str | None
    until: int

    @property
    def cells(self) -> tuple[str | None, str | None]:
        return self.x, self.y


rows = st.lists(st.builds(Row, cells, cells, untils), max_size=10)


def answer(rows: list[Row], *, timed: bool = True, listed: bool = False) -> Result:
    if not listed:
        rows = sorted(
            rows, key=lambda row: [*((cell is not None, cell or "") for cell in row.cells), -row.until if timed else 0]
        )
    made = Result.bindings(("x", "y"), [[row.x for row in rows], [row.y for row in rows]])
    return made.holding(np.array([row.until for row in rows], dtype=np.int64)) if timed else made


def told(answer: Result) -> list[Row]:
    until = [None] * len(answer) if answer.until is None else answer.until.tolist()
    return [Row(row.get("x"), row.get("y"), at) for row, at in zip(answer.table.rows(), until, strict=True)]


@given(rows, rows, st.booleans(), st.booleans())
@settings(max_examples=examples(300), deadline=None)
def test_folded_it_is_the_answer(before: list[Row], now: list[Row], timed: bool, times: bool) -> None:
    """Also where until when rows hold is known of one of the two only."""
    first, second = answer(before, timed=timed), answer(now, timed=times)
    delta = delta_of(first, second)
    assert folded(first, delta).to_bytes() == second.to_bytes()
    assert delta.empty == (first.to_bytes() == second.to_bytes())
    assert delta_of(second, second).empty


@given(rows, rows)
@settings(max_examples=examples(300), deadline=None)
def test_as_bags_are_compared_row_by_row(before: list[Row], now: list[Row]) -> None:
    """The twin: counters of rows with their times, and of rows without."""
    delta = delta_of(answer(before), answer(now))
    plain = Counter(row.cells for row in now), Counter(row.cells for row in before)
    assert Counter(row.cells for row in told(delta.added)) == plain[0] - plain[1]
    assert Counter(row.cells for row in told(delta.removed)) == plain[1] - plain[0]
    stayed, was = told(delta.stayed), delta.was.tolist()
    assert all(row.until != until for row, until in zip(stayed, was, strict=True))
    exact = Counter(now) & Counter(before)
    kept = Counter(told(delta.stayed)) + Counter(told(delta.added))
    assert Counter(now) - kept == exact  # who holds as long as before is in no part
    gone = Counter(told(delta.removed)) + Counter(Row(*row.cells, until) for row, until in zip(stayed, was))
    assert Counter(before) - gone == exact


@given(rows, rows, st.booleans(), st.sampled_from([0, 3, 10_000]))
@settings(max_examples=examples(300), deadline=None)
def test_a_list_is_folded_by_places(before: list[Row], now: list[Row], timed: bool, most: int) -> None:
    first, second = answer(before, timed=timed, listed=True), answer(now, timed=timed, listed=True)
    with mock.patch.object(module, "MOST_MOVES", most):
        delta = delta_of(first, second, listed=True)
    assert folded(first, delta).to_bytes() == second.to_bytes()
    # As a client does it: out from behind, then in from the front.
    rows = told(first)
    for place in delta.removed_places[::-1].tolist():
        del rows[place]
    for place, row in zip(delta.added_places.tolist(), told(delta.added), strict=True):
        rows.insert(place, row)
    for place, row in zip(delta.stayed_places.tolist(), told(delta.stayed), strict=True):
        assert rows[place].cells == row.cells
        rows[place] = row
    assert rows == told(second)


def test_of_a_list_as_little_moves_as_can_be() -> None:
    def listed(names: str) -> Result:
        return answer([Row(f'"{name}"', None, 9) for name in names], listed=True)

    delta = delta_of(listed("abcdef"), listed("bcadfe"), listed=True)
    assert len(delta.added) == len(delta.removed) == 2
    delta = delta_of(listed("abcdef"), listed("xbcdef"), listed=True)
    assert (delta.removed_places.tolist(), delta.added_places.tolist()) == ([0], [0])


def test_who_goes_before_the_time_is_revoked() -> None:
    before = answer([Row("<urn:a>", None, 7), Row("<urn:b>", None, 9)])
    delta = delta_of(before, answer([]))
    assert dict(zip([row.x for row in told(delta.removed)], delta.revoked(7).tolist())) == {
        "<urn:a>": False,
        "<urn:b>": True,
    }
    assert not delta_of(answer([Row("<urn:a>", None, 7)], timed=False), answer([])).revoked(0).any()


@given(lines, lines)
@settings(max_examples=examples(50), deadline=None)
def test_of_graphs_triples_come_and_go(before: list[str], now: list[str]) -> None:
    first, second = Result.graph("".join(before)), Result.graph("".join(now))
    delta = delta_of(first, second)
    assert delta.added.ntriples.decode().splitlines(True) == [line for line in now if line not in before]
    assert delta.removed.ntriples.decode().splitlines(True) == [line for line in before if line not in now]
    assert folded(first, delta).to_bytes() == second.to_bytes()


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("now", [True, False])
def test_of_a_truth_value_the_other_one_comes(before: bool, now: bool) -> None:
    first, second = Result.boolean(before), Result.boolean(now)
    assert delta_of(first, second).empty == (before == now)
    assert folded(first, delta_of(first, second)) == second
    longer = second.holding(np.array([9]))
    assert folded(second, delta_of(second, longer)).to_bytes() == longer.to_bytes()


def test_rows_of_no_columns() -> None:
    first, second = Result.bindings((), [], 3), Result.bindings((), [], 1)
    assert len(delta_of(first, second).removed) == 2
    assert folded(first, delta_of(first, second)).to_bytes() == second.to_bytes()


@given(st.lists(rows, min_size=1, max_size=6), st.booleans(), st.lists(st.booleans(), min_size=6, max_size=6))
@settings(max_examples=examples(200), deadline=None)
def test_many_changes_are_folded_in_one_go(history: list[list[Row]], listed: bool, timed: list[bool]) -> None:
    answers = [answer(rows, timed=until, listed=listed) for rows, until in zip(history, timed)]
    deltas = [delta_of(*pair, listed=listed) for pair in pairwise(answers)]
    step = answers[0]
    for count, (delta, now) in enumerate(zip(deltas, answers[1:]), 1):
        step = folded(step, delta)
        assert step.to_bytes() == folded(answers[0], *deltas[:count]).to_bytes() == now.to_bytes()


@given(st.lists(lines, min_size=1, max_size=6))
@settings(max_examples=examples(50), deadline=None)
def test_so_are_those_of_graphs(history: list[list[str]]) -> None:
    answers = [Result.graph("".join(some)) for some in history]
    deltas = [delta_of(*pair) for pair in pairwise(answers)]
    assert folded(answers[0], *deltas).to_bytes() == answers[-1].to_bytes()


@pytest.mark.parametrize("listed", [False, True])
def test_what_is_from_another_answer_is_not_folded(listed: bool) -> None:
    some, other, now = (
        answer([Row(f'"{name}"', None, 9) for name in names], listed=listed) for names in ("abc", "abd", "ab")
    )
    delta = delta_of(other, now, listed=listed)
    with pytest.raises(CorruptAnswer):
        folded(some, delta)
    with pytest.raises(CorruptAnswer):
        folded(Result.boolean(True), delta)
    with pytest.raises(CorruptAnswer):
        folded(Result.bindings(("z",), [["<urn:a>"]]), delta)


def test_of_another_graph_neither() -> None:
    one, other = Result.graph("<urn:a> <urn:p> <urn:o> .\n"), Result.graph("")
    for before, now in ((one, other), (other, one)):
        with pytest.raises(CorruptAnswer):
            folded(now, delta_of(before, now))
