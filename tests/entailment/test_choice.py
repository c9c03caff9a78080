"""Which strategy is chosen, and what is said of it."""

from __future__ import annotations

import pytest

from csparql_spark.entailment.maintain.strategies import (
    AUTO,
    BY_TAGS,
    COUNT,
    NAMES,
    STEPS,
    STRATEGIES,
    TAGGED,
    Choice,
    Movement,
    choose,
    refusal,
)
from csparql_spark.language.rules.rule import Atom, Rule

P, Q = "<urn:p>", "<urn:q>"
COPY = Rule((Atom("?x", Q, "?y"),), (Atom("?x", P, "?y"),))
IS_IN = Rule((Atom("?x", P, "?z"),), (Atom("?x", P, "?y"), Atom("?y", P, "?z")))
SLIDE, LITTLE, MUCH = (BY_TAGS, Movement(None, 0.001), Movement(None, 0.5))


def test_the_table_has_four_strategies_and_the_automatic_choice() -> None:
    assert NAMES == ("auto", "expiration", "delete-rederive", "counting", "recompute")
    assert [name for name, one in STRATEGIES.items() if one.name != name] == []


@pytest.mark.parametrize(
    "movement, name, because",
    [
        (SLIDE, "expiration", "its windows slide together: what expires is known by its tag"),
        (Movement(STEPS), "expiration", TAGGED[STEPS]),
        (Movement(COUNT), "expiration", TAGGED[COUNT]),
        (
            LITTLE,
            "expiration",
            "one of its windows counts, and less than 1% of them is replaced at an instant: what goes is deleted, and what still "
            "follows is derived again",
        ),
        (
            MUCH,
            "recompute",
            "one of its windows counts, and of what they hold about 50% is replaced at an instant: "
            "to derive everything anew is quicker than to take that back",
        ),
    ],
)
def test_what_is_chosen_by_how_windows_move(movement: Movement, name: str, because: str) -> None:
    for rules in ([COPY], [IS_IN]):
        assert choose(rules, movement) == choose(rules, movement, AUTO) == Choice(STRATEGIES[name], because)


@pytest.mark.parametrize("replaced, background", [(50, 50_001), (1, 1_000_000)])
def test_few_are_taken_back_beside_a_large_background(replaced: int, background: int) -> None:
    assert choose([IS_IN], Movement(None, 0.5, replaced), background=background) == Choice(
        STRATEGIES["expiration"],
        f"one of its windows counts, and lets go of at most {replaced} at an instant, beside a background of more than "
        "50,000 triples: what goes is deleted, and what still follows is derived again",
    )


@pytest.mark.parametrize("replaced, background", [(51, 1_000_000), (None, 1_000_000), (1, 50_000), (1, 0)])
def test_many_beside_a_large_background_and_few_beside_a_small_one_are_derived_anew(
    replaced: int | None, background: int
) -> None:
    assert choose([IS_IN], Movement(None, 0.5, replaced), background=background).strategy.name == "recompute"


@pytest.mark.parametrize("movement", [SLIDE, LITTLE, MUCH])
def test_where_nothing_follows_nothing_is_derived_anew(movement: Movement) -> None:
    taken_out = "one of its windows counts: what goes from that is taken out"
    assert choose([], movement) == Choice(
        STRATEGIES["expiration"], taken_out if movement.clock is None else TAGGED[movement.clock]
    )


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("movement", [SLIDE, LITTLE, MUCH])
def test_who_asks_for_a_strategy_gets_it(name: str, movement: Movement) -> None:
    assert refusal(name, [COPY]) is None
    assert choose([COPY], movement, name) == Choice(STRATEGIES[name], "the setting maintenance asks for it")


def test_a_strategy_that_cannot_do_it_is_refused_and_the_choice_is_automatic_where_it_is_too_late() -> None:
    because = refusal("counting", [COPY, IS_IN])
    assert because == (
        f"counting cannot maintain the rule {IS_IN}, which is recursive: it may be fed with what it derives"
    )
    assert [refusal(name, [COPY, IS_IN]) for name in NAMES if name != "counting"] == [None] * 4
    assert choose([COPY, IS_IN], SLIDE, "counting") == Choice(
        STRATEGIES["expiration"],
        f"{because}, so it is chosen automatically: its windows slide together: what expires is known by its tag",
    )
