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
from csparql_spark.language.rules.rule import Atom, Rule, is_variable


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
    readers = _Readers(rules)
    for rule in among:
        reached, waiting = set(), [rule]
        while waiting and rule not in reached:
            for head in waiting.pop().head:
                for atom, other in readers.near(head):
                    if other not in reached and _meet(head, atom):
                        reached.add(other)
                        waiting.append(other)
        if rule in reached:
            yield rule


class _Readers:
    """The atoms of rules' bodies by their predicate and object: of thousands of rules, few concern one atom."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._atoms: dict[str | None, dict[str | None, list[tuple[Atom, Rule]]]] = {}  # None: a variable
        for rule in rules:
            for atom in rule.body:
                objects = self._atoms.setdefault(_constant(atom.predicate), {})
                objects.setdefault(_constant(atom.object), []).append((atom, rule))

    def near(self, head: Atom) -> Iterator[tuple[Atom, Rule]]:
        """All that the head might meet, and some more."""
        for objects in _at(self._atoms, head.predicate):
            for atoms in _at(objects, head.object):
                yield from atoms


def _at(index: dict, node: str) -> list:
    return list(index.values()) if is_variable(node) else [index[key] for key in (node, None) if key in index]


def _constant(node: str) -> str | None:
    return None if is_variable(node) else node


def _meet(one: Atom, other: Atom) -> bool:
    """Whether a triple may match both."""
    return all(is_variable(a) or is_variable(b) or a == b for a, b in zip(one.nodes, other.nodes))


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
