"""Regimes: what a query may write after USING ENTAILMENT, and the rules that it means.

A regime is the name of a rule set of the house (in any case: `rdfs`, `RDFS`), the name of a user's rule set, or the IRI
under which the W3C knows a regime. Several are one: all their rules together.

    rules_of(("rdfs", "mine"), {"mine": "[(?a :isIn ?b) (?b :isIn ?c) -> (?a :isIn ?c)]"})
    known("http://www.w3.org/ns/entailment/RDFS", ())          # 'rdfs-full'
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from csparql_spark.entailment.rules.sets import NAMES, RuleSetError, rule_set
from csparql_spark.language import RuleFile, parse_rules
from csparql_spark.language.rules.rule import Rule

W3C = "http://www.w3.org/ns/entailment/"
_OF_THE_W3C = {f"{W3C}RDFS": "rdfs-full", f"{W3C}RDF": "rdf-full"}


def known(name: str, users: Collection[str]) -> str:
    """The rule set that a name means. Raises `RuleSetError`, which says what there is."""
    if name in users:
        return name
    if name in _OF_THE_W3C:
        return _OF_THE_W3C[name]
    if name.lower() in NAMES:
        return name.lower()
    there = ", ".join([*NAMES, *sorted(users)])
    raise RuleSetError(f"there is no rule set {name!r}: there are {there}; PUT /rules/{{name}} brings others")


def rules_of(names: Collection[str], texts: Mapping[str, str]) -> tuple[Rule, ...]:
    """The rules of all these regimes; `texts` are the users' rule files by name, which were let in before."""
    files = _Stored(texts)
    found = [rule for name in names for rule in rule_set(known(name, files), files)]
    return tuple(dict.fromkeys(found))


class _Stored(Mapping[str, RuleFile]):
    """Users' rule files, each read when it is needed: one that cannot be read is no concern of those who do not ask."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def __getitem__(self, name: str) -> RuleFile:
        return stored(self._texts[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


@lru_cache(maxsize=64)
def stored(text: str) -> RuleFile:
    """The rule file of a text that was let in, perhaps by a server that let in other patterns (see its warnings)."""
    return parse_rules(text, stored=True)
