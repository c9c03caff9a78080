"""The table of strategies: what each can do, and the choice of one for rules and a way the facts move.

    what goes is known beforehand ──▶ expiration    by its tag, nothing else need be looked at
    windows that jump, a little   ──▶ expiration    what goes is deleted, what still follows is derived again
    windows that jump, a lot      ──▶ recompute     all is derived anew, which is quicker once much is another
    … over a large background     ──▶ expiration    to derive anew costs what the background holds, at each instant

    choice = choose(rules, BY_TAGS)
    choice = choose(rules, Movement(None, 0.5, replaced=2), background=80_000)
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
FEW = 50  # elements: so many are taken back, whatever rests on them, in less time than
LARGE = 50_000  # triples of a background, and what follows from them, are walked through


# On which clock it is known beforehand when facts go, and why:
INSTANTS, STEPS, COUNT = "instants", "steps", "count"
TAGGED = {
    INSTANTS: "its windows slide together: what expires is known by its tag",
    STEPS: "its windows slide, each as of its own last step: at which step an element enters and at which it leaves is "
    "known when it comes, so what expires is known by its tag",
    COUNT: "its only window counts: how many elements later one leaves is known when it comes, so what expires is "
    "known by its tag, which is its number",
}


@dataclass(frozen=True)
class Movement:
    """How the facts under a closure move from one instant to the next: by tags on a clock (of `TAGGED`), or not; and
    then, which share of them is another, about, and how many elements windows that count let go of, at most (None:
    that is not known)."""

    clock: str | None
    share: float = 1.0
    replaced: int | None = None


BY_TAGS = Movement(INSTANTS)


@dataclass(frozen=True)
class Strategy:
    """A way to maintain a closure: its name, how a materialization is made, and what it looks at before, which raises
    RecursiveRules for those that it cannot maintain."""

    name: str
    make: Callable[[TermDictionary, Iterable[Rule]], Materialization]
    check: Callable[[Sequence[Rule]], None] = lambda rules: None


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


def choose(rules: Sequence[Rule], movement: Movement, wanted: str = AUTO, background: int = 0) -> Choice:
    """The strategy for closures under rules, as they are written, over facts that move so, beside a background of so
    many triples."""
    if wanted == AUTO:
        return _best(rules, movement, background)
    because = refusal(wanted, rules)
    if because is None:
        return Choice(STRATEGIES[wanted], "the setting maintenance asks for it")
    best = _best(rules, movement, background)
    return Choice(best.strategy, f"{because}, so it is chosen automatically: {best.because}")


def _best(rules: Sequence[Rule], movement: Movement, background: int) -> Choice:
    if movement.clock is not None:
        return Choice(STRATEGIES["expiration"], TAGGED[movement.clock])
    if not rules:
        return Choice(STRATEGIES["expiration"], "one of its windows counts: what goes from that is taken out")
    if movement.share < LITTLE:
        return Choice(
            STRATEGIES["expiration"],
            f"one of its windows counts, and less than {LITTLE:.0%} of them is replaced at an instant: "
            "what goes is deleted, and what still follows is derived again",
        )
    if background > LARGE and movement.replaced is not None and movement.replaced <= FEW:
        return Choice(
            STRATEGIES["expiration"],
            f"one of its windows counts, and lets go of at most {movement.replaced:,} at an instant, beside a "
            f"background of more than {LARGE:,} triples: what goes is deleted, and what still follows is derived again",
        )
    return Choice(
        STRATEGIES["recompute"],
        "one of its windows counts, and of what they hold about "
        f"{movement.share:.0%} is replaced at an instant: to derive everything anew is quicker than to take "
        "that back",
    )
