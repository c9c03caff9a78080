"""The fixpoint: facts are added to a graph, and all that follows from them, step by step.

A step adds facts, and joins those that were new, or hold longer than before, with the rest of the graph; what that
gives waits to be added in its turn, until nothing is new. It is finite because each fact's tag only grows and is one of
those that were put in. What rules derive that absorb (see `absorption`) waits apart, as those rules need not see
it again.

    saturate(graph, program, [(s, p, o, tag)])
"""

from __future__ import annotations

from collections.abc import Iterable

from csparql_spark.entailment.evaluate.bounds import check_facts
from csparql_spark.entailment.evaluate.program import Program
from csparql_spark.relations.graph import Block, Facts, Keyed, TaggedGraph


def saturate(graph: TaggedGraph, program: Program, blocks: Iterable[Block]) -> list[Facts]:
    """Add facts, and what they entail together with what is in the graph, which is closed. Returns all that is new, or
    holds longer than before. Raises `TooMuchDerived`; the graph is of no use then."""
    added: list[Facts] = []
    waiting: dict[int | None, list[Block | Keyed]] = {None: list(blocks)}
    while waiting:
        source = min(waiting, key=program.turn)
        delta = graph.add(waiting.pop(source))
        if delta.size:
            check_facts(graph.rows)
            added.append(delta)
            for source_, block in program.step(graph, delta, source):
                waiting.setdefault(source_, []).append(block)
    graph.settle()
    return added
