"""The table of builtins: that it says the same as the manual, and that the parser goes by it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from csparql_spark.language import LanguageError, parse_rules
from csparql_spark.language.rules.builtins import BUILTINS, REFUSED, Builtin, nearest

MANUAL = Path(__file__).resolve().parents[2] / "docs" / "rules.md"


def call(builtin: Builtin, number: int) -> str:
    inputs = ["?y"] * (number - builtin.makes)
    return f"[(?x eg:p ?y) {builtin.name}({' '.join([*inputs, '?z'] if builtin.makes else inputs)}) -> (?x eg:q ?y)]"


@pytest.mark.parametrize("builtin", BUILTINS.values(), ids=BUILTINS)
def test_arity(builtin: Builtin) -> None:
    for number in range(1, 6):
        text = call(builtin, number)
        if number == len(builtin.parameters) or (builtin.repeats and number > len(builtin.parameters)):
            (rule,) = parse_rules(text).rules
            assert (rule.guards[0].name, len(rule.guards[0].arguments)) == (builtin.name, number)
        else:
            with pytest.raises(LanguageError) as caught:
                parse_rules(text)
            assert (caught.value.code, builtin.shape in str(caught.value)) == ("wrong-arity", True)


@pytest.mark.parametrize("builtin", BUILTINS.values(), ids=BUILTINS)
def test_which_constants_are_taken(builtin: Builtin) -> None:
    for place, name in enumerate(builtin.parameters):
        if builtin.makes and place == len(builtin.parameters) - 1:
            continue
        for term, refused in (("eg:a", place in builtin.literals), ("'1'", place in builtin.iris)):
            arguments = [
                "?z" if builtin.makes and other == builtin.parameters[-1] else "?y" for other in builtin.parameters
            ]
            arguments[place] = term
            text = f"[(?x eg:p ?y) {builtin.name}({', '.join(arguments)}) -> (?x eg:q ?y)]"
            if refused:
                with pytest.raises(LanguageError) as caught:
                    parse_rules(text)
                assert caught.value.code == "never-holds", name
            else:
                assert len(parse_rules(text).rules) == 1


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_why(name: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse_rules(f"[(?x eg:p ?y) {name}(?x ?y) -> (?x eg:q ?y)]")
    error = caught.value
    assert (error.code, error.offending, error.message) == ("refused-builtin", name, REFUSED[name].reason)
    assert error.hint == REFUSED[name].hint and error.hint


def test_nothing_is_both_known_and_refused() -> None:
    assert not BUILTINS.keys() & REFUSED.keys()


@pytest.mark.parametrize(
    "wrong, right",
    [
        ("lessthan", "lessThan"),
        ("GREATERTHAN", "greaterThan"),
        ("lt", "lessThan"),
        ("noVallue", "noValue"),
        ("isUri", "notLiteral"),
        ("concat", "strConcat"),
        ("xyzzy", None),
    ],
)
def test_nearest(wrong: str, right: str | None) -> None:
    assert nearest(wrong) == right


def test_the_manual_lists_the_same() -> None:
    text = MANUAL.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+\([^`]*\))` \| (test|maker) \| (.*) \|$", text, re.MULTILINE)
    assert rows == [
        (builtin.shape, "maker" if builtin.makes else "test", builtin.meaning) for builtin in BUILTINS.values()
    ]
    refused = text.split("## What is refused")[1]
    assert [name for name in REFUSED if f"`{name}`" not in refused] == []
