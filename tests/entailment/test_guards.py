"""Guards over columns say what the naive twin says of each row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.entailment.evaluate.builtins import MAKERS, TESTS
from csparql_spark.entailment.evaluate.guards import BLANK, IRI, LITERAL, BoundGuard, Terms
from csparql_spark.language.rules.rule import Guard
from csparql_spark.rdf.dictionary import TermDictionary
from tests.entailment.twin_guards import passed
from tests.examples import examples

XSD = "http://www.w3.org/2001/XMLSchema#"
TERMS = [
    "<urn:a>",
    "<urn:b>",
    "_:c",
    '"a"',
    '"b"@en',
    '"1"',
    *(
        f'"{lexical}"^^<{XSD}{type_}>'
        for lexical, type_ in (
            ("1", "integer"),
            ("01", "integer"),
            ("2", "int"),
            ("1.0", "decimal"),
            ("2.5", "decimal"),
            ("1e0", "double"),
            ("NaN", "double"),
            ("x", "integer"),
            ("2024-01-01T00:00:00Z", "dateTime"),
            ("2024-01-01T01:00:00+01:00", "dateTime"),
            ("2024-01-01T00:00:00", "dateTime"),
        )
    ),
]
ARITIES = {
    **dict.fromkeys([*TESTS, *MAKERS], 2),
    **dict.fromkeys(["isLiteral", "notLiteral", "isBNode", "notBNode", "addOne"], 1),
}
VARIABLES = ["?x", "?y"]
rows = st.lists(st.tuples(st.sampled_from(TERMS), st.sampled_from(TERMS)), max_size=8)


@st.composite
def guards(draw: st.DrawFn) -> Guard:
    name = draw(st.sampled_from([*TESTS, *MAKERS]))
    node = st.sampled_from(VARIABLES * 5 + TERMS)
    given = [draw(node) for _ in range(ARITIES[name])]
    if name in ("strConcat", "uriConcat"):
        given = draw(st.lists(node, max_size=3))
    if name == "regex":
        given[1] = draw(st.sampled_from(['"a"', '".*"', '"[0-9]"', '"[^a]|\\\\d+"', '"(a|b){0,2}"']))
    if name in MAKERS:
        given.append(draw(st.sampled_from(["?z", "?y", *TERMS])))
    return Guard(name, tuple(given))


@given(guards(), rows, rows)
@settings(max_examples=examples(300), deadline=None)
def test_as_row_by_row(guard: Guard, first: list[tuple[str, str]], second: list[tuple[str, str]]) -> None:
    dictionary = TermDictionary()
    bound = BoundGuard(guard, Terms(dictionary))
    for rows in first, second:  # the second time, some answers are known
        expected = [
            (place, binding)
            for place, row in enumerate(rows)
            if (binding := passed(guard, dict(zip(VARIABLES, row)))) is not None
        ]
        columns = {name: dictionary.encode([row[place] for row in rows]) for place, name in enumerate(VARIABLES)}
        passing, kept = bound.apply(columns, len(rows))
        passing = list(range(len(rows))) if passing is None else passing.tolist()
        assert passing == [place for place, _ in expected]
        decoded = {name: dictionary.decode(column) for name, column in kept.items()}
        assert [{name: decoded[name][i] for name in binding} for i, (_, binding) in enumerate(expected)] == [
            binding for _, binding in expected
        ]
        assert all(len(column) == len(expected) for column in kept.values())


def test_each_distinct_question_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setitem(TESTS, "lessThan", lambda *terms: asked.append(terms) or True)
    dictionary = TermDictionary()
    ids = dictionary.encode(TERMS)
    terms = Terms(dictionary)
    one, two = BoundGuard(Guard("lessThan", ("?x", '"1"')), terms), BoundGuard(Guard("lessThan", ("?x", "?y")), terms)
    for _ in range(2):
        one.apply({"?x": np.repeat(ids[:3], 100)}, 300)
    assert sorted(asked) == [(term, '"1"') for term in sorted(TERMS[:3])]
    asked.clear()
    two.apply({"?x": np.repeat(ids[:3], 100), "?y": np.tile(ids[:2], 150)}, 300)
    assert sorted(asked) == sorted((x, y) for x in TERMS[:3] for y in TERMS[:2])


def test_equal_terms_are_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TESTS, "notEqual", None)
    dictionary = TermDictionary()
    x, y = dictionary.encode(["<urn:a>", '"1"', "<urn:a>"]), dictionary.encode(["<urn:b>", '"1"', '"1"'])
    passing, _ = BoundGuard(Guard("notEqual", ("?x", "?y")), Terms(dictionary)).apply({"?x": x, "?y": y}, 3)
    assert passing.tolist() == [0, 2]


def test_kinds_of_terms() -> None:
    dictionary = TermDictionary()
    terms = Terms(dictionary)
    assert terms.kinds(dictionary.encode(["<urn:a>", '"1"', "<urn:a>"])).tolist() == [IRI, LITERAL, IRI]
    assert terms.kinds(dictionary.encode(["_:c", '"1"'])).tolist() == [BLANK, LITERAL]


def test_what_is_no_builtin() -> None:
    with pytest.raises(ValueError, match="There is no builtin older. Known are addOne, difference, equal, "):
        BoundGuard(Guard("older", ("?x",)), Terms(TermDictionary()))
