"""What each builtin says, worked out by hand, for those of the product and those of its twin."""

from __future__ import annotations

import pytest

from csparql_spark.entailment.evaluate import builtins
from csparql_spark.language.rules.builtins import BUILTINS
from csparql_spark.language.rules.rule import Guard
from tests.entailment import twin_guards
from tests.entailment.worked import RDFS, XSD, guard, integer, term


def literal(value: str, datatype: str) -> str:
    return f'"{value}"^^<{XSD}{datatype}>'


@pytest.mark.parametrize(
    "name, arguments, holds",
    [
        ("equal", (integer(1), literal("1.0", "decimal")), True),
        ("equal", (integer(1), literal("1e0", "double")), True),
        ("equal", ('"a"', '"a"@en'), False),
        ("equal", (literal("NaN", "double"), literal("NaN", "double")), True),  # the same term
        ("notEqual", (integer("01"), integer(1)), False),
        ("notEqual", (term("a"), term("b")), True),
        ("lessThan", (integer(9), integer(10)), True),
        ("lessThan", (integer(10), integer(10)), False),
        ("lessThan", ('"a"', '"b"'), False),  # strings are not ordered
        (
            "lessThan",
            (literal("2026-01-01T01:00:00+02:00", "dateTime"), literal("2026-01-01T00:00:00Z", "dateTime")),
            True,
        ),
        ("lessThan", (literal("2026-01-01T00:00:00", "dateTime"), literal("2026-01-02T00:00:00Z", "dateTime")), False),
        ("lessThan", (literal("2026-01-01", "date"), literal("2026-01-02", "date")), True),
        ("lessThan", (literal("2026-01-01", "date"), literal("2026-01-02T00:00:00", "dateTime")), False),
        ("lessThan", (literal("2026-13-01", "date"), literal("2027-01-02", "date")), False),
        ("le", (literal("09:30:00Z", "time"), literal("11:30:00+02:00", "time")), True),
        ("lessThan", (literal("300", "unsignedByte"), integer(301)), False),  # no unsignedByte
        ("greaterThan", (literal("1.5", "decimal"), integer(1)), True),
        ("greaterThan", (literal("x", "integer"), integer(1)), False),  # no number
        ("greaterThan", (literal("INF", "double"), integer(10**400)), True),  # which no double can hold
        ("le", (integer(10), integer(10)), True),
        ("ge", (integer(9), integer(10)), False),
        ("isLiteral", ('"a"',), True),
        ("isLiteral", (term("a"),), False),
        ("notLiteral", ("_:b",), True),
        ("isBNode", ("_:b",), True),
        ("notBNode", ("_:b",), False),
        ("isDType", (integer(5), term("xsd:integer")), True),
        ("isDType", (integer(5), term("xsd:decimal")), True),  # derived from it
        ("isDType", (literal("5", "decimal"), term("xsd:integer")), False),
        ("isDType", (literal("300", "byte"), term("xsd:byte")), False),
        ("isDType", (literal("-3", "byte"), term("xsd:long")), True),
        ("isDType", (literal("x", "boolean"), term("xsd:boolean")), False),
        ("isDType", (literal("true", "boolean"), term("xsd:boolean")), True),
        ("isDType", (literal("anything", "anyURI"), term("xsd:anyURI")), True),
        ("isDType", (literal("x", "integer"), f"<{RDFS}Literal>"), False),
        ("isDType", ('"a"', term("xsd:string")), True),
        ("isDType", ('"a"@en', f"<{RDFS}Literal>"), True),
        ("isDType", (term("a"), term("xsd:string")), False),
        ("notDType", (term("a"), term("xsd:string")), True),
        ("regex", ('"Berlin"', '"B.*n"'), True),
        ("regex", ('"Berlin"', '"B"'), False),  # the whole form
        ("regex", (term("Berlin"), '".*"'), False),
    ],
)
def test_tests(name: str, arguments: tuple[str, ...], holds: bool) -> None:
    assert builtins.TESTS[name](*arguments) is holds
    assert twin_guards.TESTS[name](*arguments) is holds


@pytest.mark.parametrize(
    "name, arguments, made",
    [
        ("sum", (integer(1), integer(2)), integer(3)),
        ("sum", (integer(1), literal("2.50", "decimal")), literal("3.5", "decimal")),
        ("sum", (literal("0.5", "decimal"), literal("0.5", "decimal")), literal("1", "decimal")),
        ("sum", (integer(1), literal("2", "float")), literal("3.0", "double")),
        ("sum", (integer(1), '"2"'), None),
        ("difference", (integer(1), integer(2)), integer(-1)),
        ("product", (literal("-INF", "double"), integer(2)), literal("-INF", "double")),
        ("quotient", (integer(-7), integer(2)), integer(-3)),
        ("quotient", (integer(7), integer(0)), None),
        ("quotient", (literal("1", "decimal"), integer(8)), literal("0.125", "decimal")),
        ("addOne", (integer(41),), integer(42)),
        ("min", (integer(1), literal("1.0", "decimal")), integer(1)),  # the first where both are equal
        ("max", (integer(1), integer(2)), integer(2)),
        ("max", (integer(1), term("a")), None),
        ("strConcat", ('"a"@en', integer(5), term("b")), '"a5urn:b"'),
        ("uriConcat", ('"urn:"', '"b"'), term("b")),
        ("uriConcat", ('"no scheme"',), None),
        ("strConcat", ('"' + "a" * 50_000 + '"',) * 2, '"' + "a" * 100_000 + '"'),
        ("strConcat", ('"' + "a" * 50_000 + '"',) * 2 + ('"b"',), None),
        ("uriConcat", ('"urn:"', '"' + "a" * 99_997 + '"'), None),
    ],
)
def test_makers(name: str, arguments: tuple[str, ...], made: str | None) -> None:
    assert builtins.MAKERS[name](*arguments) == made
    assert twin_guards.MAKERS[name](*arguments) == made


def test_all_of_the_language_are_there() -> None:
    for tables in builtins, twin_guards:
        assert {name for name, builtin in BUILTINS.items() if builtin.makes} == set(tables.MAKERS)
        assert {name for name, builtin in BUILTINS.items() if not builtin.makes} == set(tables.TESTS)


@pytest.mark.parametrize(
    "broken, says",
    [
        (guard("lessThan", "?x", "?z"), r"lessThan\(\?x, \?z\) uses \?x before it is bound"),
        (guard("lessthan", '"1"', '"2"'), "There is no builtin lessthan. Known are addOne, diff"),
    ],
)
def test_a_guard_that_cannot_be_read(broken: Guard, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        builtins.passed(broken, {})


def test_what_a_maker_made_is_bound_or_compared() -> None:
    for tables in builtins, twin_guards:
        assert tables.passed(guard("addOne", integer(1), "?z"), {}) == {"?z": integer(2)}
        assert tables.passed(guard("addOne", integer(1), "?z"), {"?z": integer(2)}) == {"?z": integer(2)}
        assert tables.passed(guard("addOne", integer(1), "?z"), {"?z": integer(3)}) is None
        assert tables.passed(guard("addOne", '"x"', "?z"), {}) is None


def test_a_text_that_is_doubled_from_rule_to_rule_ends_somewhere() -> None:
    """Rules that are not recursive, and end: but forty of them would make a text of terabytes."""
    text, lengths = '"a"', []
    while text is not None and len(lengths) < 40:
        lengths.append(len(text) - 2)
        text = builtins.MAKERS["strConcat"](text, text)
    assert lengths == [2**power for power in range(17)]
