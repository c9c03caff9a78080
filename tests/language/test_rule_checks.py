"""Guards in an order in which they can be called, and variables that are bound where they are used."""

from __future__ import annotations

from itertools import permutations

import pytest

from csparql_spark.language import Guard, LanguageError, parse_rules

ONE, TWO = (f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>' for number in (1, 2))


def guards(written: str) -> tuple[Guard, ...]:
    return parse_rules(f"[(?x eg:p ?y) {written} -> (?x eg:q ?y)]").rules[0].guards


def code(written: str, head: str = "(?x eg:q ?y)") -> tuple[str, str]:
    with pytest.raises(LanguageError) as caught:
        parse_rules(f"[(?x eg:p ?y) {written} -> {head}]")
    return caught.value.code, caught.value.offending


def test_guards_that_need_nothing_stay_where_they_are() -> None:
    assert guards("lessThan(?y, 2) isLiteral(?y) notEqual(?x, ?y)") == (
        Guard("lessThan", ("?y", TWO)),
        Guard("isLiteral", ("?y",)),
        Guard("notEqual", ("?x", "?y")),
    )


def test_makers_come_before_what_they_make() -> None:
    chain = ("sum(?y, 1, ?a)", "product(?a, ?y, ?b)", "addOne(?b, ?c)", "lessThan(?c, 2)")
    wanted = (
        Guard("sum", ("?y", ONE, "?a")),
        Guard("product", ("?a", "?y", "?b")),
        Guard("addOne", ("?b", "?c")),
        Guard("lessThan", ("?c", TWO)),
    )
    for order in permutations(chain):
        assert guards(" ".join(order)) == wanted


def test_guards_may_stand_before_the_patterns_that_bind() -> None:
    (rule,) = parse_rules("[lessThan(?y, 2) (?x eg:p ?y) -> (?x eg:q ?y)]").rules
    assert rule.guards == (Guard("lessThan", ("?y", TWO)),)


def test_what_is_bound_already_is_compared() -> None:
    assert guards("sum(?y, 1, ?x)") == (Guard("sum", ("?y", ONE, "?_1")), Guard("equal", ("?_1", "?x")))
    assert guards("sum(?y, 1, 2)") == (Guard("sum", ("?y", ONE, "?_1")), Guard("equal", ("?_1", TWO)))
    assert guards("addOne(?y, ?z) sum(?z, 1, ?z) addOne(?y, ?z)") == (
        Guard("addOne", ("?y", "?z")),
        Guard("sum", ("?z", ONE, "?_1")),
        Guard("equal", ("?_1", "?z")),
        Guard("addOne", ("?y", "?_2")),
        Guard("equal", ("?_2", "?z")),
    )


def test_values_that_are_made_may_be_used_in_the_head() -> None:
    (rule,) = parse_rules("[(?x eg:p ?y) uriConcat('urn:', ?y, ?z) -> (?z eg:q ?y)]").rules
    assert rule.head[0].subject == "?z"


def test_a_literal_as_subject_is_a_warning() -> None:
    file = parse_rules("[(?x eg:p ?y) sum(?y, 1, ?z) -> (?z eg:q ?y) (?x eg:q ?z)]")
    assert file.warnings == ("line 1, column 34: ?z is always a literal, so this is never derived.",)


def test_circles() -> None:
    assert code("addOne(?a, ?b) addOne(?b, ?a)") == ("circular-guards", "?a")
    assert code("addOne(?a, ?a)") == ("circular-guards", "?a")
    assert code("lessThan(?b, 2) addOne(?a, ?b) addOne(?b, ?a)") == ("circular-guards", "?b")


def test_what_nothing_binds_is_told_before_what_follows_from_it() -> None:
    assert code("addOne(?a, ?b) lessThan(?b, 2)") == ("unbound-variable", "?a")
    assert code("lessThan(?b, 2) addOne(?a, ?b)") == ("unbound-variable", "?a")
    assert code("", "(?x eg:q ?z)") == ("unbound-variable", "?z")
    assert code("lessThan(?x, ?z)", "(?x eg:q ?z)") == ("unbound-variable", "?z")
    assert code("isLiteral(?x)", "(?x eg:q ?z)") == ("unbound-variable", "?z")


def test_a_wrong_call_is_told_and_not_what_it_leaves_unbound() -> None:
    assert code("lessThan(?z, 2) sum(?y, ?z)") == ("wrong-arity", "sum(?y, ?z)")
    assert code("lessThan(?z, 2) summ(?y, 1, ?z)") == ("unknown-builtin", "summ")
    assert code("lessThan(?t, 2) now(?t)") == ("refused-builtin", "now")
