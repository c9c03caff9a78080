"""Pruning: of many rules, those that can have a part in what is asked.

    asked = [Atom("?x", "<urn:isIn>", "?y")]                # the triple patterns of all registered queries
    prune([transitive_is_in, subclass_rules, types_of_everything], asked)          # (transitive_is_in,)

A rule is needed when its head may be a triple that matches a pattern which is asked, by a query or by the body of a
rule that is needed. What is kept derives every triple that matches an asked pattern, with its tag; of other triples it
may derive fewer than all the rules do. Conclusions that nobody needs are taken out of heads.

A variable matches anything: rules with variable predicates need everything and are needed for everything, so specialise
(`schema`) before you prune. Work: that of reading the rules, since each head is needed once (see `meetings`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from csparql_spark.entailment.rules.meetings import Junction, junctions, kinds
from csparql_spark.language.rules.rule import Atom, Rule, is_variable

Substitution = dict[str, str]


def prune(rules: Iterable[Rule], asked: Iterable[Atom]) -> tuple[Rule, ...]:
    """The rules that are needed for what is asked, in their order, with the conclusions that are needed."""
    rules = tuple(rules)
    asked = tuple(dict.fromkeys(asked))
    needed: list[set[int]] = [set() for _ in rules]  # the places of the needed atoms in each rule's head
    heads = kinds(atom for rule in rules for atom in rule.head)
    patterns = kinds((*asked, *(atom for rule in rules for atom in rule.body)))
    left: dict[Junction, dict[tuple[int, int], Atom]] = {}  # the heads that nobody has needed yet
    for number, rule in enumerate(rules):
        for place, atom in enumerate(rule.head):
            for junction in junctions(atom, patterns):
                left.setdefault(junction, {})[number, place] = atom
    waiting = list(asked)
    reached = set(waiting)
    while waiting:
        pattern = waiting.pop()
        for junction in junctions(pattern, heads, turned=True):
            for (number, place), atom in list(left.get(junction, {}).items()):
                if not may_match(atom, pattern):
                    continue
                if not needed[number]:
                    new = [other for other in rules[number].body if other not in reached]
                    reached.update(new)
                    waiting.extend(new)
                needed[number].add(place)
                for other in junctions(atom, patterns):
                    left[other].pop((number, place), None)
    return tuple(
        rule
        if len(places) == len(rule.head)
        else replace(rule, head=tuple(atom for place, atom in enumerate(rule.head) if place in places))
        for rule, places in zip(rules, needed)
        if places
    )


def may_match(first: Atom, second: Atom) -> bool:
    """Whether some triple matches both patterns; a variable of one has nothing to do with one of the same name of the
    other."""
    return unified(first, Atom(*(f"{node}'" if is_variable(node) else node for node in second.nodes))) is not None


def unified(first: Atom, second: Atom) -> Substitution | None:
    """What makes the two atoms one, or None: nodes for variables, which may be variables with a node of their own.

    Variables of the second become nodes of the first where there is a choice.
    """
    found: Substitution = {}
    for one, other in zip(first.nodes, second.nodes):
        one, other = final(one, found), final(other, found)
        if one == other:
            continue
        if is_variable(other):
            found[other] = one
        elif is_variable(one):
            found[one] = other
        else:
            return None
    return found


def final(node: str, substitution: Substitution) -> str:
    """What a node is in the end."""
    while node in substitution:
        node = substitution[node]
    return node
