"""Recompute: after a change, everything is derived anew when somebody looks.

It remembers what was stated, and of the background that it is closed; for those who follow it also what followed last,
so that they hear what is different now. It is the best strategy where a change concerns more than a little of the
facts, and the baseline that the others are compared with.

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
from csparql_spark.entailment.maintain.strategy import Materialization
from csparql_spark.kernel.sort import distinct, ordered
from csparql_spark.language.rules.rule import Rule
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.changes import Changes
from csparql_spark.relations.graph import Facts, TaggedGraph
from csparql_spark.relations.moving import Mark, Moving
from csparql_spark.relations.tags import NEVER


class Recompute:
    def __init__(self, dictionary: TermDictionary, rules: Iterable[Rule] = ()) -> None:
        self._program = Program(rules, dictionary)
        self._explicit = ExplicitFacts()
        self._now = NEVER
        self._base = TaggedGraph()  # stated, and nothing follows from it but itself
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

    def succeed(self, other: Materialization) -> bool:
        if not isinstance(other, Recompute):
            return False
        other.moving.derive_by(self._closed)
        self.moving = other.moving
        return True

    def _change(self) -> None:
        self.moving.change()

    def _closed(self) -> TaggedGraph:
        graph = TaggedGraph(self._now)
        graph.add([self._base.facts()])
        graph.settle()
        saturate(graph, self._program, [self._explicit.facts(), *self._program.axioms()])
        return graph

    def visible(self, after: int) -> Facts:
        return self.moving.graph.facts(after)

    def terms(self) -> np.ndarray:
        parts = [self._explicit.terms(), self._program.terms(), self.moving.terms()]
        return distinct(ordered(np.concatenate(parts)))

    def renumber(self, table: np.ndarray) -> None:
        self._explicit.renumber(table)
        self._base.renumber(table)
        self.moving.renumber(table)
        self._program = Program(self._program.rules, self._program.dictionary)


class Derived(Moving):
    """A graph that is derived when it is looked at after a change, and then compared with what it was."""

    def __init__(self, derive: Callable[[], TaggedGraph]) -> None:
        self._derive = derive
        self._last: TaggedGraph | None = None
        self._changed = True
        super().__init__()

    @property
    def graph(self) -> TaggedGraph:
        if self._changed or self._last is None:
            last, self._last = self._last, self._derive()
            self._changed = False
            if last is not None:
                self._compare(last, self._last)
        return self._last

    @graph.setter
    def graph(self, graph: TaggedGraph) -> None:
        """`derive` says what the graph is; what is given here is what it was."""
        self._last, self._changed = graph, True

    def derive_by(self, derive: Callable[[], TaggedGraph]) -> None:
        """It is derived in another way from now on."""
        self._derive = derive
        self.change()

    def change(self) -> None:
        """It will be another graph when somebody looks at it."""
        self._changed = True
        if not self._marks:  # nobody wants to know what it was
            self._last = None

    def mark(self, *, expiry: bool = False) -> Mark:
        self._derived()
        return super().mark(expiry=expiry)

    def since(self, mark: Mark) -> Changes | None:
        self._derived()
        return super().since(mark)

    @property
    def place(self) -> int:
        self._derived()
        return super().place

    def _derived(self) -> TaggedGraph:
        """The graph, after what is different in it has been noted."""
        return self.graph

    def _write_calendar(self) -> None:
        """What has expired is found where the graph is compared with what it was."""

    def terms(self) -> np.ndarray:
        """The ids in what was derived last."""
        return np.empty(0, dtype=np.int64) if self._last is None else self._last.terms()

    def renumber(self, table: np.ndarray) -> None:
        if self._last is not None:
            self._last.renumber(table)
        super().renumber(table)
