"""Preparing: from the rules of a regime to those that are run over the stream, for one background and what is asked.

    rules ─▶ close the background ─▶ work the schema into the rules ─▶ leave out what nobody asks

The background is closed once, under all rules; what is left of the rules then concerns the stream. That presumes that
the stream says nothing about the schema. `presumes` tells, so that the presumption can be checked: where it is wrong,
the rules are run as they are.

    facts = closed(rules, dictionary, background)
    prepared = prepare(rules, dictionary, facts, asked=[Atom("?x", TYPE, "<urn:C>")])
    prepared.rules                                 # what is run
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np

from csparql_spark.entailment.evaluate.bounds import TooMuchDerived, is_bounded
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.entailment.rules import closed_backgrounds
from csparql_spark.entailment.rules.closed_backgrounds import ClosedBackground, Columns
from csparql_spark.entailment.rules.pruning import prune
from csparql_spark.entailment.rules.schema import TYPE, WORDS, specialise
from csparql_spark.language.rules.rule import Atom, Rule
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.tags import ALWAYS

MOST_SCHEMA = 5_000  # triples of a schema that are worked into rules; of a larger one, rules ask at each slide


@dataclass(frozen=True)
class Prepared:
    rules: tuple[Rule, ...]
    background: Columns  # closed under all rules
    predicates: frozenset[str]  # what is presumed not to be said by the stream: with these predicates,
    classes: frozenset[str]  # and of these classes

    def presumes(self, dictionary: TermDictionary, p: np.ndarray, o: np.ndarray) -> bool:
        """Whether triples with these predicates and objects are what was presumed: none of them about the schema."""
        spoken = _among(p, self.predicates, dictionary)
        if self.classes and (type_id := dictionary.find(TYPE)) is not None:
            typed = p == type_id
            spoken |= bool(typed.any()) and _among(o[typed], self.classes, dictionary)
        return not spoken


def closed(rules: Iterable[Rule], dictionary: TermDictionary, background: Columns) -> Columns:
    """The background with all that follows from it."""
    facts = Expiration(dictionary, rules)
    s, p, o = (np.asarray(column, dtype=np.int64) for column in background)
    facts.insert(s, p, o, np.full(len(s), ALWAYS))
    return facts.visible(ALWAYS - 1)[:3]


def closed_once(name: Hashable, rules: Iterable[Rule], dictionary: TermDictionary, background: Columns) -> Columns:
    """The closed background, from what others have closed under the same name (see `closed_backgrounds`). Where they
    have found it too much, so it is for whoever has a limit, too."""
    found = closed_backgrounds.known(name)
    if found is None:
        if is_bounded() and (reason := closed_backgrounds.failure(name)) is not None:
            raise TooMuchDerived(reason)
        found = ClosedBackground.of(closed(rules, dictionary, background), dictionary)
        closed_backgrounds.keep(name, found)
    return found.columns(dictionary)


def as_they_are(rules: tuple[Rule, ...], facts: Columns) -> Prepared:
    """All rules, for a stream that may say anything. `facts`: the closed background."""
    return Prepared(rules, facts, frozenset(), frozenset())


def prepare(
    rules: tuple[Rule, ...], dictionary: TermDictionary, facts: Columns, asked: Iterable[Atom] | None
) -> Prepared:
    """The rules for a closed background and for what is asked (None: everything)."""
    schema = _schema(facts, dictionary)
    predicates: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    if len(schema) <= MOST_SCHEMA:
        special = specialise(rules, schema)
        rules, predicates, classes = special.rules, special.assumed, special.assumed_classes
    return Prepared(rules if asked is None else prune(rules, asked), facts, predicates, classes)


def _schema(facts: Columns, dictionary: TermDictionary) -> list[tuple[str, str, str]]:
    """The triples of a graph that are about the schema."""
    s, p, o = facts
    words = np.array([id for word in WORDS if (id := dictionary.find(word)) is not None], dtype=np.int64)
    about = np.isin(p, words)
    if (type_id := dictionary.find(TYPE)) is not None:
        about |= (p == type_id) & np.isin(o, words)
    return list(zip(*(dictionary.decode(column[about]) for column in (s, p, o)), strict=True))


def _among(ids: np.ndarray, terms: Iterable[str], dictionary: TermDictionary) -> bool:
    wanted = [id for term in terms if (id := dictionary.find(term)) is not None]
    return bool(len(wanted)) and bool(np.isin(ids, wanted).any())
