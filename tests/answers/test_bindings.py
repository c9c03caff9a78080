from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Bindings, CorruptAnswer, Result
from tests.examples import examples

TERMS = ["<urn:a>", "_:b", '""', '"x y"', '"é"@en', '"1"^^<urn:d>']
cells = st.none() | st.sampled_from(TERMS)


@st.composite
def tables(draw: st.DrawFn) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    variables = tuple(draw(st.lists(st.sampled_from(["a", "b", "c", "dé"]), max_size=4, unique=True)))
    rows = draw(st.lists(st.fixed_dictionaries(dict.fromkeys(variables, cells)), max_size=8))
    return variables, [{name: term for name, term in row.items() if term is not None} for row in rows]


Table = tuple[tuple[str, ...], list[dict[str, str]]]


@given(tables())
@settings(max_examples=examples(60), deadline=None)
def test_rows_keep_their_order_and_repetitions(table: Table) -> None:
    bindings = Bindings.from_rows(*table)
    assert (bindings.variables, bindings.rows(), len(bindings)) == (*table, len(table[1]))


@given(tables())
@settings(max_examples=examples(60), deadline=None)
def test_bytes_give_the_answer_back(table: Table) -> None:
    answer = Result.from_rows(*table)
    again = Result.from_bytes(answer.to_bytes())
    assert again == answer and again.table.rows() == table[1] and again.table.variables == table[0]
    assert again.to_bytes() == answer.to_bytes() and len(answer) == len(table[1])


@given(tables(), tables())
@settings(max_examples=examples(60), deadline=None)
def test_bytes_are_equal_exactly_for_equal_answers(one: Table, other: Table) -> None:
    same = one == other
    assert (Result.from_rows(*one) == Result.from_rows(*other)) is same
    assert (Result.from_rows(*one).to_bytes() == Result.from_rows(*other).to_bytes()) is same


@given(tables(), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_bytes_do_not_show_how_an_answer_was_made(table: Table, data: st.DataObject) -> None:
    variables, rows = table
    columns = [[row.get(name) for row in rows] for name in variables]
    made = [pa.array(column, pa.string()) for column in columns]
    # Text beneath the nulls, slices of larger arrays, pieces, other types, plain lists.
    hiding = [with_text_beneath_nulls(column) for column in columns]
    sliced = [pa.array(["<urn:z>", None, *column, "<urn:z>"], pa.string())[2:-1] for column in columns]
    cut = data.draw(st.integers(0, len(rows)))
    pieces = [pa.chunked_array([array[:cut], array[cut:]], pa.string()) for array in made]
    others = [
        hiding,
        sliced,
        pieces,
        [array.cast(pa.large_string()) for array in made],
        [array.dictionary_encode() for array in made],
        columns,
    ]
    expected = Result.from_rows(variables, rows).to_bytes()
    for other in others:
        assert Result.bindings(variables, other, len(rows)).to_bytes() == expected


def with_text_beneath_nulls(column: list[str | None]) -> pa.StringArray:
    _, offsets, data = pa.array(["hidden" if cell is None else cell for cell in column], pa.string()).buffers()
    valid = np.packbits(np.array([cell is not None for cell in column], bool), bitorder="little")
    return pa.StringArray.from_buffers(len(column), offsets, data, pa.py_buffer(valid.tobytes()))


def test_a_table_from_ids() -> None:
    terms = pa.array(["<urn:a>", "<urn:b>"])
    bindings = Bindings.from_ids(("x", "y"), terms, [np.array([0, -1, 1]), np.array([1, 1, -1], np.int32)])
    assert bindings.rows() == [{"x": "<urn:a>", "y": "<urn:b>"}, {"y": "<urn:b>"}, {"x": "<urn:b>"}]
    assert Bindings.from_ids((), terms, [], 2).rows() == [{}, {}]


def test_encoded_gives_distinct_terms_and_ids() -> None:
    for table in (
        Bindings(("x", "y"), [["<urn:b>", None], ["<urn:é>", "<urn:b>"]]),
        Bindings.from_ids(
            ("x", "y"),
            pa.array(["<urn:a>", "<urn:b>", "<urn:c>", "<urn:é>"]),
            [np.array([1, -1]), np.array([3, 1])],
            2,
            in_order=True,
        ),
    ):
        terms, ids = table.encoded()
        assert terms.to_pylist() == ["<urn:b>", "<urn:é>"]
        assert [column.tolist() for column in ids] == [[0, -1], [1, 0]]


def test_take() -> None:
    bindings = Bindings(("x",), [["<urn:a>", None, "<urn:b>"]])
    assert bindings.take(np.array([2, 0, 2])).rows() == [{"x": "<urn:b>"}, {"x": "<urn:a>"}, {"x": "<urn:b>"}]
    assert bindings.take(np.array([False, True, True])).rows() == [{}, {"x": "<urn:b>"}]
    assert Bindings((), (), 3).take(np.array([0, 2])).rows() == [{}, {}]


def test_columns_must_fit() -> None:
    for variables, columns, length in (
        (("x",), [], None),
        (("x", "y"), [["<urn:a>"], []], None),
        (("x", "x"), [[], []], None),
        (("x",), [["<urn:a>"]], 2),
    ):
        with pytest.raises(ValueError):
            Bindings(variables, columns, length)


def test_booleans_and_graphs() -> None:
    graph = '<urn:a> <urn:p> "é" .\n<urn:a> <urn:p> _:b .\n'
    for answer, kind, length in (
        (Result.boolean(True), "boolean", 1),
        (Result.boolean(False), "boolean", 1),
        (Result.graph(graph), "graph", 2),
        (Result.graph(""), "graph", 0),
        (Result.bindings((), (), 2), "bindings", 2),
    ):
        assert (answer.kind, len(answer)) == (kind, length)
        assert Result.from_bytes(answer.to_bytes()) == answer
    assert Result.boolean(True) != Result.boolean(False) and Result.graph("") != Result.bindings((), ())
    assert Result.graph(graph) == Result.graph(graph.encode())


def test_an_answer_is_not_a_truth_value() -> None:
    with pytest.raises(TypeError, match="an answer has no truth value"):
        bool(Result.boolean(False))


def test_what_an_answer_does_not_have_is_named() -> None:
    table, truth, graph = (
        Result.from_rows(("x",), [{"x": "<urn:a>"}]),
        Result.boolean(True),
        Result.graph(b"<a> <b> <c> .\n"),
    )
    assert table.solutions is table.table and graph.triples is graph.ntriples
    for answer in truth, graph:
        with pytest.raises(TypeError, match=f"a {answer.kind} answer has no table"):
            assert answer.solutions is None
    for answer in table, truth:
        with pytest.raises(TypeError, match=f"a {answer.kind} answer has no triples"):
            assert answer.triples is None


def test_bytes_that_are_no_answer_are_refused() -> None:
    whole = Result.from_rows(("x",), [{"x": "<urn:a>"}]).to_bytes()
    for bad in (b"", b"2B", b"1?2", b"1?", b"1Bxxxxxxgarbage", whole[:40], whole[: len(whole) // 2], b"0" + whole[1:]):
        with pytest.raises(CorruptAnswer):
            Result.from_bytes(bad)


def test_ids_outside_the_terms_are_refused() -> None:
    whole = Result.from_rows(("x", "y"), [{"x": "<urn:a>", "y": "<urn:b>"}]).to_bytes()
    ids = np.array([0, 1], np.int32).tobytes()
    place = whole.rindex(ids)
    for value, refused in ((1, False), (2, True), (2**31 - 1, True)):
        changed = whole[:place] + np.array([0, value], np.int32).tobytes() + whole[place + len(ids) :]
        if refused:
            with pytest.raises(CorruptAnswer, match="The table of the answer is damaged"):
                Result.from_bytes(changed)
        else:
            assert Result.from_bytes(changed).to_bytes() == whole


def test_rows_may_say_until_when_they_hold() -> None:
    answer = Result.bindings(("s",), [["<urn:a>", "<urn:b>"]])
    holding = answer.holding(np.array([17_000, -5]))
    assert Result.from_bytes(holding.to_bytes()) == holding != answer
    assert Result.from_bytes(holding.to_bytes()).until.tolist() == [17_000, -5]
    assert Result.from_bytes(Result.boolean(True).holding(np.array([3])).to_bytes()).until.tolist() == [3]
    for damaged in (holding.to_bytes()[:12], holding.to_bytes()[:20], answer.holding(np.array([1])).to_bytes()):
        with pytest.raises(CorruptAnswer):
            Result.from_bytes(damaged)


def test_whether_an_answer_is_in_its_order() -> None:
    def table(xs: list[str | None], until: list[int]) -> Result:
        return Result.bindings(("x",), [xs]).holding(np.array(until, dtype=np.int64))

    assert table([None, "<urn:a>", "<urn:a>", "<urn:b>"], [1, 9, 9, 5]).ordered
    assert not table(["<urn:a>", "<urn:a>"], [5, 9]).ordered, "those that hold longest come first"
    assert not table(["<urn:b>", "<urn:a>"], [9, 9]).ordered
    assert not table(["<urn:a>", None], [9, 9]).ordered
    assert Result.bindings((), [], 3).ordered and Result.boolean(True).ordered
    line, other = "<urn:a> <urn:p> <urn:o> .\n", "<urn:b> <urn:p> <urn:o> .\n"
    assert Result.graph(line + other).ordered and Result.graph("").ordered
    assert not Result.graph(other + line).ordered and not Result.graph(line + line).ordered
