"""Rules that need not see what they have derived themselves.

For example:

    absorbs(rule, transitive(rules))         # the place in its body that they need not be matched with, or None
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from csparql_spark.entailment.evaluate.transitivity import is_transitivity
from csparql_spark.language.rules.rule import Rule, is_variable


def transitive(rules: Iterable[Rule]) -> frozenset[str]:
    """The predicates that some rule says are transitive."""
    return frozenset(rule.head[0].predicate for rule in rules if is_transitivity(rule))


def absorbs(rule: Rule, relations: Collection[str]) -> int | None:
    """Whether applying a rule to what it has derived adds nothing, because another rule has added it already. Then the
    result is the place in its body of the atom that what it derives need not be matched with. `relations`: the
    predicates that other rules say are transitive.

    Such a rule replaces a term by another that a transitive relation leads to: from (?a type ?x) and (?x subClassOf ?y)
    to (?a type ?y). Two such steps are one step along the relation, and that there is one is up to another rule, the
    one that says that the relation is transitive. (That rule itself is of this form too, but has nobody to rely on.)
    """
    if len(rule.body) != 2 or len(rule.head) != 1 or rule.guards:
        return None
    head = rule.head[0].nodes
    for place, (atom, relation) in enumerate(zip(rule.body, reversed(rule.body))):
        differing = [pair for pair in zip(atom.nodes, head) if pair[0] != pair[1]]
        if len(differing) != 1 or is_variable(relation.predicate) or rule.head[0].predicate == relation.predicate:
            continue
        (old, new), ends = differing[0], (relation.subject, relation.object)
        alone = is_variable(old) and is_variable(new) and atom.nodes.count(old) == 1 and head.count(new) == 1
        if alone and ends in ((old, new), (new, old)) and relation.predicate in relations:
            return place
    return None
