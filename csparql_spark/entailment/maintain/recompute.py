"""Recompute: after a change, everything is derived anew when somebody looks.

It remembers only what was stated. With it the other strategies are compared, in tests and in benchmarks; it is the best
of them where each change concerns most of the facts.

    facts = Recompute(dictionary, rules)
    facts.insert(s, p, o, tag)
    facts.visible(after=0)                  # derives
    facts.visible(after=5)                  # does not: nothing has changed
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from csparql_spark.entailment.evaluate.fixpoint import saturate
from csparql_spark.entailment.evaluate.program import Program
from csparql_spark.entailment.maintain.explicit import ExplicitFacts
from csparql_spark.language.rules.rule import Rule
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.graph import Facts, TaggedGraph
from csparql_spark.relations.keys import distinct


class Recompute:
    def __init__(self, dictionary: TermDictionary, rules: Iterable[Rule] = ()) -> None:
        self._program = Program(rules, dictionary)
        self._explicit = ExplicitFacts()
        self._closed: TaggedGraph | None = None

    def insert(self, s: np.ndarray, p: np.ndarray, o: np.ndarray, tag: np.ndarray) -> None:
        self._closed = None
        self._explicit.add(s, p, o, tag)

    load_closed = insert

    def remove(self, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> None:
        self._closed = None
        self._explicit.remove(s, p, o)

    def expire(self, upto: int) -> None:
        self._closed = None
        self._explicit.expire(upto)

    def add_rules(self, rules: Iterable[Rule]) -> None:
        self._program = Program((*self._program.rules, *rules), self._program.dictionary)
        self._closed = None

    def remove_rules(self, rules: Iterable[Rule]) -> None:
        self._program = self._program.without(rules)
        self._closed = None

    def visible(self, after: int) -> Facts:
        if self._closed is None:
            self._closed = TaggedGraph()
            saturate(self._closed, self._program, [self._explicit.facts(), *self._program.axioms()])
        return self._closed.facts(after)

    def terms(self) -> np.ndarray:
        return distinct(np.sort(np.concatenate([self._explicit.terms(), self._program.terms()])))

    def renumber(self, table: np.ndarray) -> None:
        self._explicit.renumber(table)
        self._program = Program(self._program.rules, self._program.dictionary)
        self._closed = None
