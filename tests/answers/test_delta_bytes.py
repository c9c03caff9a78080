"""Changes as bytes: what is read is what was written, and nothing else can be read."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.bindings import CorruptAnswer, Result
from csparql_spark.answers.delta import Delta, delta_of, folded
from csparql_spark.answers.delta_bytes import from_bytes, to_bytes
from csparql_spark.relations.tags import ALWAYS
from tests.examples import examples

WIDE = [f"<urn:{'x' * (number % 7)}{number}>" for number in range(300)]  # more terms than a byte tells
cells = st.one_of(st.sampled_from([None, '"c"', '"é\U0001f600"@en', '""']), st.sampled_from(WIDE))
untils = st.sampled_from([-(1 << 62), 0, 7, 300, 70_000, 1 << 40, ALWAYS])


@st.composite
def tables(draw: st.DrawFn, width: int, listed: bool) -> Result:
    rows = draw(st.lists(st.tuples(*[cells] * width, untils), max_size=12))
    if draw(st.integers(0, 9)) == 0:
        rows += [(*[term] * width, 5) for term in WIDE]
    if not listed:
        rows.sort(key=lambda row: [*((cell is not None, (cell or "").encode()) for cell in row[:-1]), -row[-1]])
    names = [f"né{place}" for place in range(width)]
    made = Result.bindings(names, [[row[place] for row in rows] for place in range(width)], len(rows))
    return made.holding(np.array([row[-1] for row in rows], dtype=np.int64)) if draw(st.booleans()) else made


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Result, Result, bool]:
    """Two answers of one query, and whether they are in an order of their own."""
    kind, listed = draw(st.sampled_from(["table", "table", "table", "graph", "truth"])), draw(st.booleans())
    if kind == "table":
        made = tables(draw(st.integers(0, 3)), listed)
    elif kind == "graph":
        lines = st.lists(st.sampled_from([f"<urn:{name}> <urn:é> <urn:o> .\n" for name in "abcdef"]), unique=True)
        made, listed = lines.map(lambda some: Result.graph("".join(sorted(some)))), False
    else:
        made, listed = st.booleans().map(Result.boolean), False
        made = st.one_of(made, st.tuples(made, untils).map(lambda one: one[0].holding(np.array([one[1]]))))
    return draw(made), draw(made), listed


def told(delta: Delta) -> list[object]:
    """All that a change says."""
    parts = (delta.added, delta.removed, delta.stayed)
    names = {part.table.variables for part in parts if part.table is not None and len(part)}
    lists = (delta.was, delta.added_places, delta.removed_places, delta.stayed_places)
    return [
        delta.kind,
        names,
        delta.truth if delta.truth is None else delta.truth.to_bytes(),
        delta.timed,
        delta.retimed,
        [(part.ntriples, part.table is not None and part.table.rows()) for part in parts],
        [None if part.until is None else part.until.tolist() for part in parts],
        [None if one is None else one.tolist() for one in lists],
    ]


@given(pairs())
@settings(max_examples=examples(400), deadline=None)
def test_what_is_read_is_what_was_written(pair: tuple[Result, Result, bool]) -> None:
    before, now, listed = pair
    delta = delta_of(before, now, listed=listed)
    payload = to_bytes(delta)
    read = from_bytes(payload)
    assert told(read) == told(delta)
    assert to_bytes(read) == payload == to_bytes(delta_of(before, now, listed=listed))
    assert (read.empty, read.changed) == (delta.empty, delta.changed)
    assert folded(before, read).to_bytes() == now.to_bytes()
    if delta.empty:
        assert len(payload) == 3


@given(pairs(), st.data())
@settings(max_examples=examples(600), deadline=None)
def test_nothing_else_is_read(pair: tuple[Result, Result, bool], data: st.DataObject) -> None:
    """Of bytes that somebody has changed either nothing is made, or what has exactly these bytes."""
    payload = bytearray(to_bytes(delta_of(*pair[:2], listed=pair[2])))
    way = data.draw(st.sampled_from(["flip", "cut", "more", "swap"]))
    place = data.draw(st.integers(0, len(payload) - 1))
    if way == "flip":
        payload[place] ^= 1 << data.draw(st.integers(0, 7))
    elif way == "cut":
        del payload[place:]
    elif way == "more":
        payload[place:place] = data.draw(st.binary(min_size=1, max_size=9))
    else:
        other = data.draw(st.integers(0, len(payload) - 1))
        payload[place], payload[other] = payload[other], payload[place]
    try:
        read = from_bytes(bytes(payload))
    except CorruptAnswer:
        return
    assert to_bytes(read) == payload


@given(st.binary(max_size=200))
@settings(max_examples=examples(200), deadline=None)
def test_any_bytes_are_no_change(some: bytes) -> None:
    for payload in (some, b"1D" + some):
        with suppress(CorruptAnswer):
            assert to_bytes(from_bytes(payload)) == payload


def test_an_answer_is_no_change() -> None:
    for answer in (Result.boolean(True), Result.graph(""), Result.bindings(("x",), [["<urn:a>"]])):
        with pytest.raises(CorruptAnswer, match="are not a change of this version"):
            from_bytes(answer.to_bytes())


def test_rows_without_columns_are_not_believed_to_be_many() -> None:
    """Where rows have no bytes of their own, a few of them may say that there are billions."""
    change = bytearray(to_bytes(delta_of(Result.bindings((), [], 0), Result.bindings((), [], 3))))
    assert len(from_bytes(bytes(change)).added) == 3
    change[3:7] = b"\xff\xff\xff\xff"
    with pytest.raises(CorruptAnswer, match="cut off"):
        from_bytes(bytes(change))


def test_a_change_of_few_rows_is_few_bytes() -> None:
    names = [f"<http://example.org/room{number:06d}>" for number in range(1000)]
    before = Result.bindings(("room",), [names]).holding(np.full(1000, 1_700_000_000_000))
    now = Result.bindings(("room",), [names[1:]]).holding(np.full(999, 1_700_000_000_000))
    assert len(to_bytes(delta_of(before, now))) < 120
