"""Expressions over columns: quick ways say what Oxigraph says, and nothing is asked twice."""

from __future__ import annotations

import dataclasses
import itertools
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from csparql_spark.answers import computing as module
from csparql_spark.answers import plain_numbers
from csparql_spark.answers.aggregates import AGGREGATES
from csparql_spark.answers.algebra import Aggregate
from csparql_spark.answers.computing import COMPARISONS, Comparison, Computing, Expression
from csparql_spark.answers.grouping import Grouping
from csparql_spark.answers.patterns import Constant
from csparql_spark.answers.plain_numbers import DECIMAL, DOUBLE, INTEGER, OTHER, Plain
from csparql_spark.answers.tables import Table
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.windows.content import Content
from tests.examples import examples

XSD = "http://www.w3.org/2001/XMLSchema#"
NAMES = ("?x", "?y")


def typed(text: str, kind: str) -> str:
    return f'"{text}"^^<{XSD}{kind}>'


texts = st.one_of(
    st.integers(-(10**15), 10**15).map(str),
    st.integers(-3, 3).map(str),
    st.sampled_from(["01", "+1", "-0", "x", "", "1e", "1.0", "1.50", ".5", "5.", "0.1"]),
    st.decimals(-(10**9), 10**9, places=3).map(lambda value: f"{value:f}"),
    st.floats().map(repr),
    st.sampled_from(["1E2", "1e-300", "NaN", "INF", "-INF", "-0.0", "123456789.123456789"]),
)
terms = st.one_of(
    st.builds(typed, texts, st.sampled_from(["integer", "decimal", "double", "float", "byte", "string", "dateTime"])),
    st.builds(typed, st.integers(-9, 9).map(str), st.sampled_from(["integer", "decimal", "double"])),
    st.sampled_from(["<urn:a>", "_:b", '"a"', '"1"@en', typed("true", "boolean")]),
)


def compared(sign: str, left: str, right: str, quick: bool = True) -> Expression:
    names = tuple(dict.fromkeys(side for side in (left, right) if side[0] == "?"))
    pieces = ("(", *(f"<f:term>({side})" if side[0] == "?" else side for side in (left, sign, right)), ")")
    return Expression(pieces, names, Comparison(sign, left, right) if quick else None)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(terms, min_size=1, max_size=6), st.sampled_from(sorted(COMPARISONS)), terms)
def test_comparisons_say_what_oxigraph_says(cells: list[str], sign: str, constant: str) -> None:
    if constant.startswith("_:"):
        constant = "<urn:b>"
    content = Content()
    computing = Computing(content)
    ids = np.append(content.dictionary.encode(cells), -1)
    both = np.array(list(itertools.product(ids, ids)))
    columns = {"?x": both[:, 0].copy(), "?y": both[:, 1].copy()}
    for left, right in (("?x", "?y"), ("?x", constant), (constant, "?y"), ("?x", "?x")):
        quick, slow = (computing.test(compared(sign, left, right, how), columns, len(both)) for how in (True, False))
        assert quick.tolist() == slow.tolist(), (sign, left, right)


@pytest.mark.parametrize("few", (0, 1000))  # all are read at once; one by one
def test_only_plain_numbers_are_plain(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_numbers, "FEW", few)
    content = Content()
    wanted = {
        typed("5", "integer"): INTEGER,
        typed("-15", "integer"): INTEGER,
        typed("1.5", "decimal"): DECIMAL,
        typed("3", "decimal"): DECIMAL,
        typed("1.5", "double"): DOUBLE,
        typed("1e2", "double"): DOUBLE,
        typed("1" * 16, "integer"): OTHER,
        typed("1.1234567", "decimal"): OTHER,
        typed("5", "byte"): OTHER,
        typed("5.0", "integer"): OTHER,
        typed("1e2", "decimal"): OTHER,
        typed("1e300", "double"): OTHER,
        typed("NaN", "double"): OTHER,
        typed("1", "float"): OTHER,
        "<urn:a>": OTHER,
        '"1"': OTHER,
        typed("12345678901.12345", "decimal"): OTHER,
        typed("5\\n", "integer"): OTHER,
        typed("+5", "integer"): OTHER,
        typed("-0", "integer"): INTEGER,
        typed("٣", "integer"): OTHER,
        typed(".5", "decimal"): OTHER,
    }
    plain = Plain(content.dictionary)
    assert plain.of(np.array([-1, -1]))[0].tolist() == [OTHER, OTHER]  # nothing has an id yet
    ids = content.dictionary.encode(wanted)
    kinds, values = plain.of(np.append(ids, -1))
    assert dict(zip(wanted, kinds.tolist())) == wanted and kinds[-1] == OTHER
    assert values[:6].tolist() == [5, -15, 1.5, 3, 1.5, 100]
    assert plain.of(np.empty(0, dtype=np.int64))[0].tolist() == []
    later = content.dictionary.encode([typed(str(n), "integer") for n in range(5000)])
    assert plain.of(later)[1].tolist() == list(range(5000))


class Counting:
    """A store that counts the queries and the rows that it is asked."""

    def __init__(self, computing: Computing) -> None:
        self._store, self.rows = computing._store, []
        computing._store = self

    def query(self, text: str, **options: object) -> object:
        self.rows.append(text.count("\n") + 1)
        return self._store.query(text, **options)


SUM = Expression(("<f:id>(", "<f:term>(?x)", "+", "<f:term>(?y)", ")"), NAMES)


def test_each_combination_is_asked_once() -> None:
    content = Content()
    computing = Computing(content)
    numbers = content.dictionary.encode([typed(str(n), "integer") for n in range(10)])
    word = content.dictionary.encode(["<urn:a>"])[0]
    store = Counting(computing)
    x = np.array([*numbers[[1, 1, 2, 1]], word, -1])
    y = np.array([*numbers[[2, 2, 1, 5]], numbers[1], numbers[1]])
    found = computing.term(SUM, {"?x": x, "?y": y}, 6)
    assert content.dictionary.decode(found[:4]) == [typed(n, "integer") for n in "3336"]
    assert found[4:].tolist() == [-1, -1]
    assert store.rows == [5]
    computing.term(SUM, {"?x": x[::-1], "?y": y[::-1]}, 6)
    computing.term(SUM, {"?x": x[:2], "?y": y[2:4]}, 2)
    assert store.rows == [5, 1]
    assert computing.term(SUM, {"?x": x}, 6).tolist() == [-1] * 6  # ?y is bound nowhere
    assert computing.term(SUM, {"?x": x[:0], "?y": x[:0]}, 0).tolist() == []


def test_constants_and_variables_are_not_asked() -> None:
    content = Content()
    computing = Computing(content)
    store = Counting(computing)
    ids = content.dictionary.encode(["<urn:a>", "<urn:b>"])
    assert computing.term(Expression(("COALESCE(?x)",), ("?x",)), {"?x": ids}, 2).tolist() == ids.tolist()
    assert computing.term(Expression((Constant('"k"'),), ()), {}, 2).tolist() == [2, 2]
    assert computing.test(compared(">", "?x", typed("1", "integer")), {"?x": np.empty(0, np.int64)}, 0).tolist() == []
    assert store.rows == []
    assert computing.test(Expression(("(", "1 < 2", ")"), ()), {}, 3).tolist() == [True] * 3
    assert store.rows == [1]


def test_what_is_kept_is_bounded_and_forgotten_with_the_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RESULTS", 100)
    monkeypatch.setattr(module, "AT_ONCE", 64)
    content = Content()
    computing = Computing(content)
    double = Expression(("<f:id>(", "<f:term>(?x)", "*", "2", ")"), ("?x",))
    ids = content.dictionary.encode([typed(str(n), "integer") for n in range(3000)])
    for first in range(0, 3000, 150):
        found = computing.term(double, {"?x": ids[first : first + 150]}, 150)
        assert content.dictionary.decode(found) == [typed(str(2 * n), "integer") for n in range(first, first + 150)]
        assert all(kept.runs.rows <= 300 for kept in computing._results.values())
    content.add(0, 1, Chunk.from_triples([("<urn:a>", "<urn:b>", typed("7", "integer"))], [100]))
    content.add(0, 1, Chunk.from_triples([("<urn:a>", "<urn:b>", typed("8", "integer"))], [1] * 1))
    content.forget({0: 50})
    assert content.dictionary.generation == 1
    ids = content.dictionary.encode([typed("7", "integer")])
    assert content.dictionary.decode(computing.term(double, {"?x": ids}, 1)) == [typed("14", "integer")]


def test_a_base_and_names_that_are_taken() -> None:
    content = Content()
    computing = Computing(content)
    ids = content.dictionary.encode(['"a"'])
    expression = Expression(("<f:id>(", "IRI(", "<f:term>(?row)", ")", ")"), ("?row",), base="http://b/")
    assert content.dictionary.decode(computing.term(expression, {"?row": ids}, 1)) == ["<http://b/a>"]
    assert computing.term(dataclasses.replace(expression, base=None), {"?row": ids}, 1).tolist() == [-1]


@settings(max_examples=examples(120), deadline=None)
@given(
    st.lists(
        st.lists(st.one_of(terms, st.builds(typed, st.integers(-99, 99).map(str), st.just("integer"))), max_size=5),
        min_size=1,
        max_size=3,
    ),
    st.booleans(),
    st.integers(0, 999),
)
@example([[typed("9223372036854.775807", "decimal")]], False, 0)
@example([[typed("999999999999.999", "decimal")]], False, 0)  # more digits than millionths have bits in a double
@example([[typed("2251799813.685247", "decimal")] * 3, [typed("2251799813.685248", "decimal")] * 3], False, 0)
@example([[typed("0.1", "double"), typed("0.1", "decimal"), typed("3", "integer")] * 4], False, 0)
def test_aggregates_of_columns_are_those_of_bags(groups: list[list[str]], distinct: bool, seed: int) -> None:
    content = Content()
    rows = [(group, term) for group, bag in enumerate(groups) for term in bag]
    Random(seed).shuffle(rows)
    keys = content.dictionary.encode([f"<urn:g{n}>" for n in range(len(groups))])
    ids = content.dictionary.encode([term for _, term in rows])
    table = Table({"?g": keys[[group for group, _ in rows]] if rows else ids, "?v": ids}, len(rows), None)
    value = Expression(("COALESCE(?v)",), ("?v",))
    functions = ["sum", "avg", "min", "max", "sample", "group_concat", "count"]
    grouping = Grouping(Computing(content), content.dictionary)
    found = grouping.grouped(table, ("?g",), [Aggregate(f"?{name}", name, value, distinct) for name in functions])
    said = {}
    for place, key in enumerate(found.columns["?g"].tolist()):
        cells = [int(found.columns[f"?{name}"][place]) for name in functions]
        said[key] = [None if cell < 0 else content.dictionary.decode(np.array([cell]))[0] for cell in cells]
    for key, bag in zip(keys.tolist(), groups):
        counts = {term: 1 if distinct else bag.count(term) for term in bag}
        if bag:
            wanted = [AGGREGATES[name](counts, " ") for name in functions[:-1]]
            assert said.pop(key) == [*wanted, typed(str(sum(counts.values())), "integer")], bag
    assert said == {}
