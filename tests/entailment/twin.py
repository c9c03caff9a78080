"""The naive twin: the closure of tagged facts under rules, written to be read, and believed.

A fact has a tag, the instant at which it stops holding. A derived fact holds as long as all its premises do, and
thanks to the derivation that holds longest: its tag is the maximum over its derivations of the minimum over the
premises of each. A rule with an empty body holds always.

    isin = Rule((Atom("?a", "<urn:isIn>", "?c"),), (Atom("?a", "<urn:isIn>", "?b"), Atom("?b", "<urn:isIn>", "?c")))
    closure([isin], {("<urn:a>", "<urn:isIn>", "<urn:b>"): 11, ("<urn:b>", "<urn:isIn>", "<urn:c>"): 12})

All evaluators are compared with this one. It shares no code with them but rules as objects and the parts of a term;
what its guards say stands in `twin_guards`. Every rule is applied to everything until nothing becomes better: a
thousand facts are fine, a million are not. Rules that make terms without end have no closure, and no answer.

A head that would have a literal as subject, or anything but an IRI as predicate, is no triple, and is not produced.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from csparql_spark.language.rules.rule import Atom, Rule
from tests.entailment.twin_guards import passed

Triple = tuple[str, str, str]
Binding = dict[str, str]

ALWAYS = 2**63 - 1  # the tag of what never expires


def closure(rules: Iterable[Rule], facts: Mapping[Triple, int]) -> dict[Triple, int]:
    """The facts and all that follows from them, each with its tag."""
    rules, closed = tuple(rules), dict(facts)
    grown = True
    while grown:
        grown, known = False, Lookup(closed)
        for rule in rules:
            for binding in list(matches(rule, known)):
                tag = min([closed[instance(atom, binding, rule)] for atom in rule.body], default=ALWAYS)
                for atom in rule.head:
                    triple = instance(atom, binding, rule)
                    if is_triple(triple) and (triple not in closed or closed[triple] < tag):
                        closed[triple], grown = tag, True
    return closed


class Lookup:
    """Triples by their predicate, and by each of their other terms."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.all = list(triples)
        self.having: dict[str, list[Triple]] = defaultdict(list)
        for triple in self.all:
            for term in set(triple):
                self.having[term].append(triple)

    def extended(self, atom: Atom, binding: Binding) -> Iterator[Binding]:
        """The binding, extended in each way that makes the atom one of the triples."""
        wanted = [binding.get(node, node) for node in atom.nodes]
        terms = [node for node in wanted if node[0] != "?"]
        for triple in min((self.having[term] for term in terms), key=len, default=self.all):
            new = dict(binding)
            for node, term in zip(wanted, triple):
                if node[0] == "?":
                    node = new.setdefault(node, term)
                if node != term:
                    break
            else:
                yield new


def matches(rule: Rule, known: Lookup) -> Iterator[Binding]:
    """All ways to match the rule's body: its atoms in some triples, and then its guards, in their order."""

    def after(place: int, binding: Binding) -> Iterator[Binding]:
        if place < len(rule.body):
            for new in known.extended(rule.body[place], binding):
                yield from after(place + 1, new)
            return
        for guard in rule.guards:
            binding = passed(guard, binding)
            if binding is None:
                return
        yield binding

    return after(0, {})


def instance(atom: Atom, binding: Binding, rule: Rule) -> Triple:
    for node in atom.nodes:
        if node[0] == "?" and node not in binding:
            raise ValueError(f"The head of {rule} uses {node}, which its body does not bind.")
    subject, predicate, object_ = (binding.get(node, node) for node in atom.nodes)
    return subject, predicate, object_


def is_triple(triple: Triple) -> bool:
    return triple[0][0] != '"' and triple[1][0] == "<"
