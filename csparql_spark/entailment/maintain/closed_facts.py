"""What is held by the strategies that keep a closed graph beside what was stated, and how it is looked at.

For example:

    class SemiNaive(ClosedFacts):
        ...                             # has a program, the explicit facts, and the graph that they are closed in
    facts.visible(after=12)
"""

from __future__ import annotations

import numpy as np

from csparql_spark.entailment.evaluate.program import Program
from csparql_spark.entailment.maintain.explicit import ExplicitFacts
from csparql_spark.entailment.maintain.strategy import Materialization
from csparql_spark.kernel.sort import distinct, ordered
from csparql_spark.relations.graph import Facts, TaggedGraph
from csparql_spark.relations.moving import Moving


class ClosedFacts:
    _program: Program
    _explicit: ExplicitFacts
    _graph: TaggedGraph
    moving: Moving

    def succeed(self, other: Materialization) -> bool:
        if not isinstance(other, ClosedFacts):
            return False
        other.moving.become(self._graph)
        self.moving = other.moving
        return True

    def visible(self, after: int) -> Facts:
        return self._graph.facts(after)

    def terms(self) -> np.ndarray:
        return distinct(ordered(np.concatenate([self._graph.terms(), self._program.terms()])))
