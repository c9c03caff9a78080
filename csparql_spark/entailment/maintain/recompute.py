"""Recompute: after a change, everything is derived anew when somebody looks.

It remembers only what was stated, and of the background that it is closed. It is the best strategy where a change
concerns more than a little of the facts, and the baseline that the others are compared with.

    facts = Recompute(dictionary, rules)
    facts.insert(s, p, o, tag)
    facts.visible(after=0)                  # derives
    facts.visible(after=5)                  # does not: nothing has changed
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from csparql_spark.entailment.evaluate.fixpoint import saturate
from csparql_spark.entailment.evaluate.program import Program
from csparql_spark.entailment.maintain.explicit import ExplicitFacts
from csparql_spark.language.rules.rule import Rule
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.graph import Facts, TaggedGraph
from csparql_spark.relations.keys import distinct
from csparql_spark.relations.moving import Moving
from csparql_spark.relations.tags import NEVER


class Recompute:
    def __init__(self, dictionary: TermDictionary, rules: Iterable[Rule] = ()) -> None:
        self._program = Program(rules, dictionary)
        self._explicit = ExplicitFacts()
        self._now = NEVER
        self._base = TaggedGraph()  # stated, and nothing follows from it but itself
        self._graph: TaggedGraph | None = None
        self.moving = Derived(self._closed)

    def insert(self, s: np.ndarray, p: np.ndarray, o: np.ndarray, tag: np.ndarray) -> None:
        self._explicit.add(s, p, o, tag)
        self._change()

    def load_closed(self, s: np.ndarray, p: np.ndarray, o: np.ndarray, tag: np.ndarray) -> None:
        """The first closed facts are not joined among themselves when all is derived anew."""
        if not self._base.rows:
            self._base.add([(s, p, o, tag)])
        self.insert(s, p, o, tag)

    def remove(self, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> None:
        self._explicit.remove(s, p, o)
        if (self._base.tags_of(s, p, o) > NEVER).any():
            self._base = TaggedGraph(self._now)  # what was closed has a gap
        self._change()

    def expire(self, upto: int) -> None:
        self._now = max(self._now, upto)
        self._explicit.expire(upto)
        self._base.expire(upto)
        self._change()

    def add_rules(self, rules: Iterable[Rule]) -> None:
        self._program = Program((*self._program.rules, *rules), self._program.dictionary)
        self._base = TaggedGraph(self._now)  # more may follow from it
        self._change()

    def remove_rules(self, rules: Iterable[Rule]) -> None:
        self._program = self._program.without(rules)
        self._change()

    def _change(self) -> None:
        self._graph = None
        self.moving.forget()

    def _closed(self) -> TaggedGraph:
        if self._graph is None:
            graph = TaggedGraph(self._now)
            graph.add([self._base.facts()])
            graph.settle()
            saturate(graph, self._program, [self._explicit.facts(), *self._program.axioms()])
            self._graph = graph
        return self._graph

    def visible(self, after: int) -> Facts:
        return self._closed().facts(after)

    def terms(self) -> np.ndarray:
        return distinct(np.sort(np.concatenate([self._explicit.terms(), self._program.terms()])))

    def renumber(self, table: np.ndarray) -> None:
        self._explicit.renumber(table)
        self._base.renumber(table)
        self._program = Program(self._program.rules, self._program.dictionary)
        self._change()


class Derived(Moving):
    """A graph that is derived when it is looked at: whoever follows it starts anew after each change."""

    def __init__(self, derive: Callable[[], TaggedGraph]) -> None:
        self._derive = derive
        super().__init__()

    @property
    def graph(self) -> TaggedGraph:
        return self._derive()

    @graph.setter
    def graph(self, graph: TaggedGraph) -> None:
        """Nothing is kept: `derive` says what the graph is."""
