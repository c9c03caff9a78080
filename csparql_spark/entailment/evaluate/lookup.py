"""Triples to be looked up by their terms, and the ways to match a rule's body in them, one binding after the other.

    known = Lookup(triples)
    for binding in matches(rule, known):                    # {"?x": "<urn:a>", …}
        ...

For few triples: a schema, or those that may have a part in one derivation. Over columns it is `joins` that matches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from csparql_spark.entailment.evaluate.builtins import Binding, passed
from csparql_spark.language.rules.rule import Atom, Rule, is_variable

Triple = tuple[str, str, str]


class Lookup:
    """Triples by the term in each of their three places."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.all = list(triples)
        self.places: dict[tuple[int, str], list[Triple]] = defaultdict(list)
        for triple in self.all:
            for place, term in enumerate(triple):
                self.places[place, term].append(triple)

    def candidates(self, pattern: Triple) -> Sequence[Triple]:
        """Triples that have the pattern's rarest term in its place: all that match the pattern are among them."""
        lists = [self.places.get((place, node), ()) for place, node in enumerate(pattern) if not is_variable(node)]
        return min(lists, key=len, default=self.all)

    def extended(self, atom: Atom, binding: Binding) -> Iterator[Binding]:
        """The binding, extended in each way that makes the atom one of the triples."""
        subject, predicate, object_ = atom.nodes
        pattern = binding.get(subject, subject), binding.get(predicate, predicate), binding.get(object_, object_)
        for triple in self.candidates(pattern):
            new = dict(binding)
            if all(
                new.setdefault(node, term) == term if is_variable(node) else node == term
                for node, term in zip(pattern, triple)
            ):
                yield new


def matches(rule: Rule, known: Lookup) -> Iterator[Binding]:
    """All ways to match the rule's body: its atoms in some triples, and then its guards, in their order."""
    bindings: list[Binding] = [{}]
    for atom in rule.body:
        bindings = [new for binding in bindings for new in known.extended(atom, binding)]
    for binding in bindings:
        found: Binding | None = binding
        for guard in rule.guards:
            if found is not None:
                found = passed(guard, found)
        if found is not None:
            yield found


def is_triple(triple: Triple) -> bool:
    return not triple[0].startswith('"') and triple[1].startswith("<")
