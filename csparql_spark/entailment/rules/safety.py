"""Which rules have a meaning, and which depend on themselves.

Rules must not use what nothing binds, and must not be able to go on making new terms for ever. A rule makes new terms
when what a maker computes stands in its head; what is computed only to be looked at, by other guards, is gone after the
match. A rule is recursive when what it derives might, by way of other rules or none, match its own body again.

    (?p a :Property) strConcat(?p, ?text) regex(?text, 'urn:_.*') -> (?p a :Member)     makes no terms
    (?x :age ?n) addOne(?n, ?m) -> (?x :next ?m)                                        makes them, and is not recursive
    (?x :age ?n) addOne(?n, ?m) -> (?x :age ?m)                                         might never end: refused

    check((rule,))                           # raises UnsafeRules, whose text says what to do
    list(recursive(rules, among=rules))      # the recursive ones
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from csparql_spark.entailment.evaluate.builtins import MAKERS
from csparql_spark.entailment.evaluate.guards import INVENTORS
from csparql_spark.entailment.rules.meetings import Junction, junctions, kinds, on_cycles
from csparql_spark.language.rules.rule import Rule, is_variable


class UnsafeRules(ValueError):
    """Rules that use a variable that nothing binds, or that could make new terms for ever."""


def check(rules: Sequence[Rule]) -> None:
    for rule in rules:
        _check_bound(rule)
    _check_finite(rules)


def _check_bound(rule: Rule) -> None:
    known = set(rule.variables)
    for guard in rule.guards:
        given = guard.arguments[:-1] if guard.name in MAKERS else guard.arguments
        for node in given:
            if is_variable(node) and node not in known:
                raise UnsafeRules(
                    f"In the rule {rule}, {guard} uses {node} before it is bound: bind it in an atom, "
                    f"or in a guard before this one."
                )
        known.update(guard.variables)
    for atom in rule.head:
        for node in atom.variables:
            if node not in known:
                raise UnsafeRules(
                    f"The head of the rule {rule} uses {node}, which its body does not bind: use it in the body too."
                )


def _check_finite(rules: Sequence[Rule]) -> None:
    """Refuse rules that make terms from what they themselves, by whatever way, have made."""
    makers = [rule for rule in rules if _invents(rule)]
    for maker in recursive(rules, makers):
        raise UnsafeRules(
            f"The rule {maker} makes new terms with {_invents(maker)}, and what it derives can match its "
            f"own body again, so that it might never end: give what it derives a predicate of its own."
        )


def recursive(rules: Sequence[Rule], among: Iterable[Rule]) -> Iterator[Rule]:
    """Those of some of the rules that may be fed, by whatever way, with what they derive."""
    numbers = {rule: number for number, rule in enumerate(dict.fromkeys(rules))}
    circular = on_cycles(_feeding(list(numbers)))
    return (rule for rule in among if numbers.get(rule) in circular)


def _feeding(rules: Sequence[Rule]) -> list[list[int]]:
    """For each rule by its number, and for each junction after them, where what is derived goes on to."""
    heads = kinds(atom for rule in rules for atom in rule.head)
    bodies = kinds(atom for rule in rules for atom in rule.body)
    edges: list[list[int]] = [[] for _ in rules]
    numbers: dict[Junction, int] = {}
    for number, rule in enumerate(rules):
        for place in {place for atom in rule.head for place in junctions(atom, bodies)}:
            if place not in numbers:
                numbers[place] = len(edges)
                edges.append([])
            edges[number].append(numbers[place])
    for number, rule in enumerate(rules):
        for place in {place for atom in rule.body for place in junctions(atom, heads, turned=True)}:
            if place in numbers:
                edges[numbers[place]].append(number)
    return edges


def _invents(rule: Rule) -> str | None:
    """The builtin that makes a term of the head: at once, or handed on by builtins that choose among their arguments.
    Builtins that compute from what was made make terms themselves."""
    known = set(rule.variables)
    maker: dict[str, str] = {}  # by the variable that is made
    for guard in rule.guards:
        made = guard.arguments[-1]
        if guard.name in MAKERS and is_variable(made) and made not in known:
            chosen = [maker[node] for node in guard.arguments[:-1] if node in maker]
            if guard.name in INVENTORS:
                maker[made] = guard.name
            elif chosen:
                maker[made] = chosen[0]
        known.update(guard.variables)
    return next((maker[node] for atom in rule.head for node in atom.variables if node in maker), None)
