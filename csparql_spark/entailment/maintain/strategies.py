"""The table of strategies: what each can do, and the choice of one for rules and a way the facts move.

    windows that slide together ──▶ expiration    what goes is known by its tag
    windows that jump, a little ──▶ expiration    what goes is deleted, what still follows is derived again
    windows that jump           ──▶ recompute     all is derived anew, which is quicker once much is another

    choice = choose(rules, Movement(together=True))
    choice.strategy.name, choice.because            # "expiration", "its windows slide together: …"
    facts = choice.strategy.make(dictionary, rules)

Whoever asks for another strategy gets it, unless it cannot do what is needed: `refusal` says so in a sentence, and is
for the moment at which somebody asks. Where rules have become others since, `choose` goes on as if nobody had asked,
and its reason says that. Invariant: whichever is chosen, the closed facts and their tags are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from csparql_spark.entailment.maintain.counting import Counting, RecursiveRules, check_countable
from csparql_spark.entailment.maintain.deletion import DeleteRederive
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.entailment.maintain.recompute import Recompute
from csparql_spark.entailment.maintain.strategy import Materialization
from csparql_spark.language.rules.rule import Rule
from csparql_spark.rdf.dictionary import TermDictionary

AUTO = "auto"
LITTLE = 0.01  # of a window: from such a share on, it was measured, deriving anew is quicker than taking back


@dataclass(frozen=True)
class Movement:
    """How the facts under a closure move from one instant to the next: as those of windows that slide together, or not;
    and then, which share of them is another, about."""

    together: bool
    share: float = 1.0


@dataclass(frozen=True)
class Strategy:
    """A way to maintain a closure: its name, how a materialization is made, and what it looks at before."""

    name: str
    make: Callable[[TermDictionary, Iterable[Rule]], Materialization]
    check: Callable[[Sequence[Rule]], None] = lambda rules: (
        None
    )  # raises RecursiveRules for those that it cannot maintain


@dataclass(frozen=True)
class Choice:
    strategy: Strategy
    because: str


STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Strategy("expiration", Expiration),
        Strategy("delete-rederive", DeleteRederive),
        Strategy("counting", Counting, check_countable),
        Strategy("recompute", Recompute),
    )
}
NAMES = (AUTO, *STRATEGIES)


def check_name(name: str) -> str:
    """The name of a strategy, or of the automatic choice. Raises ValueError for another text."""
    if name not in NAMES:
        raise ValueError(f"there is no maintenance {name!r}: choose one of {', '.join(NAMES)}")
    return name


def refusal(wanted: str, rules: Sequence[Rule]) -> str | None:
    """Why a strategy cannot maintain closures under these rules; None if it can, or if it is to be chosen."""
    if wanted != AUTO:
        try:
            STRATEGIES[wanted].check(rules)
        except RecursiveRules as error:
            return str(error)
    return None


def choose(rules: Sequence[Rule], movement: Movement, wanted: str = AUTO) -> Choice:
    """The strategy for closures under rules, as they are written, over facts that move so."""
    if wanted == AUTO:
        return _best(movement)
    because = refusal(wanted, rules)
    if because is None:
        return Choice(STRATEGIES[wanted], "the setting maintenance asks for it")
    best = _best(movement)
    return Choice(best.strategy, f"{because}, so it is chosen automatically: {best.because}")


def _best(movement: Movement) -> Choice:
    if movement.together:
        return Choice(STRATEGIES["expiration"], "its windows slide together: what expires is known by its tag")
    if movement.share < LITTLE:
        return Choice(
            STRATEGIES["expiration"],
            f"less than {LITTLE:.0%} of its windows is replaced at an instant: "
            "what goes is deleted, and what still follows is derived again",
        )
    return Choice(
        STRATEGIES["recompute"],
        "its windows do not slide together, and of what they hold about "
        f"{movement.share:.0%} is replaced at an instant: to derive everything anew is quicker than to take "
        "that back",
    )
