"""An answer held as an earlier one and what has changed since: it is the answer, and survives being written."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import last_answer as module
from csparql_spark.answers.bindings import CorruptAnswer, Result
from csparql_spark.answers.last_answer import Change, LastAnswer, packed, unpacked
from tests.examples import examples

cells = st.sampled_from([None, "<urn:a>", "<urn:b>", '"c"'])
rows = st.lists(st.tuples(cells, cells, st.integers(1, 4)), max_size=8)


def answer(rows: list[tuple], timed: bool) -> Result:
    """Rows in the order of an answer: by their terms, what is unbound first; of equal ones the longest first."""
    rows = sorted(rows, key=lambda row: [*((cell is not None, cell or "") for cell in row[:-1]), -row[-1]])
    made = Result.bindings(("x", "y"), [[row[0] for row in rows], [row[1] for row in rows]])
    return made.holding(np.array([row[-1] for row in rows], dtype=np.int64)) if timed else made


@given(st.lists(rows, min_size=1, max_size=8), st.booleans())
@settings(max_examples=examples(100), deadline=None)
def test_it_is_the_answer_after_each_change(turns: list[list[tuple]], timed: bool) -> None:
    """Rows hold for one to four instants from when they are there."""
    turns = [[(*cells, at + left) for *cells, left in turn] for at, turn in enumerate(turns)]
    answers = [answer(turn, timed) for turn in turns]
    bags = [Counter(row if timed else (*row[:-1], 0) for row in turn) for turn in turns]
    before = LastAnswer(answers[0].to_bytes())
    for at, (now, then_bag, bag) in enumerate(zip(answers[1:], bags, bags[1:]), 1):
        gone = [row for row in (then_bag - bag).elements() if not timed or row[-1] > at]
        before.change(at, answer(gone, timed), answer([*(bag - then_bag).elements()], timed))
        assert before.answer() == now
        assert before.answer().to_bytes() == now.to_bytes()
    assert LastAnswer(before.whole, unpacked(packed(before.changes))).answer() == answers[-1]


def test_a_row_that_holds_longer_has_gone_and_come() -> None:
    before = LastAnswer(answer([("<urn:a>", None, 3), ("<urn:a>", None, 5)], True).to_bytes())
    before.change(1, answer([("<urn:a>", None, 3)], True), answer([("<urn:a>", None, 9)], True))
    assert before.answer() == answer([("<urn:a>", None, 5), ("<urn:a>", None, 9)], True)


def test_it_is_worn_when_changes_are_more_than_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, nothing, one = (answer([("<urn:a>", None, n) for n in range(count)], False) for count in (3, 0, 1))
    before = LastAnswer(whole.to_bytes())
    assert not before.worn
    for _ in range(3):
        before.change(1, nothing, one)
        assert not before.worn
    assert not LastAnswer(before.whole, before.changes).worn
    before.change(1, one, nothing)
    assert before.worn and LastAnswer(before.whole, before.changes).worn
    monkeypatch.setattr(module, "MOST", 2)
    assert LastAnswer(whole.to_bytes(), before.changes[:3]).worn


def test_a_row_whose_time_is_over_goes_without_being_told() -> None:
    before = LastAnswer(answer([("<urn:a>", None, 3), ("<urn:b>", None, 5)], True).to_bytes())
    before.change(3, answer([], True), answer([], True))
    assert before.answer() == answer([("<urn:b>", None, 5)], True)


@pytest.mark.parametrize("cut", [1, 8, 15])
def test_what_was_cut_off_is_no_change(cut: int) -> None:
    payload = packed([Change(-7, b"12345", b"678")])
    assert list(unpacked(payload)) == [Change(-7, b"12345", b"678")]
    with pytest.raises(CorruptAnswer, match="changes of an answer are damaged"):
        list(unpacked(payload[:-cut]))
