"""Delete and rederive: how facts, or rules, are taken back from a closed graph.

1. Everything that may rest on what is taken back is deleted.
2. What is still stated, or follows in one step from what was left, is put back, and with it what follows from that.

How much is deleted in the first step decides what it costs. A derivation whose tag is earlier than the fact's cannot be
why the fact holds so long, and a fact that is stated with its tag needs no derivation. With tags, one knows; without
them (`blind`) every fact that has been derived from a deleted one is deleted, as in the paper of Volz, Staab and Motik.

    doomed = overdeleted(graph, program, explicit, seeds, blind=False)
    rederive(graph, program, explicit, doomed)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from csparql_spark.entailment.evaluate.fixpoint import saturate
from csparql_spark.entailment.evaluate.program import Program
from csparql_spark.entailment.maintain.explicit import ExplicitFacts
from csparql_spark.relations.graph import Block, Facts, TaggedGraph
from csparql_spark.relations.tags import NEVER


def overdeleted(
    graph: TaggedGraph, program: Program, explicit: ExplicitFacts, seeds: Iterable[Block], blind: bool
) -> Facts:
    """The facts of a closed graph that may hold only thanks to what is taken back. `seeds`: facts that did, with the
    tags that they had thereby. What is taken back is not among the explicit facts and the rules any more."""
    doomed = TaggedGraph(graph.now)
    graph.settle()
    delta = doomed.add(_suspects(graph, explicit, seeds, blind))
    while delta.size:
        delta = doomed.add(_suspects(graph, explicit, program.consequences(graph, delta), blind))
    return doomed.facts()


def _suspects(graph: TaggedGraph, explicit: ExplicitFacts, derived: Iterable[Block], blind: bool) -> list[Block]:
    found = []
    for s, p, o, tag in derived:
        holds = graph.tags_of(s, p, o)
        rows = np.flatnonzero(holds > NEVER if blind else holds == tag)
        s, o, holds = s[rows], o[rows], holds[rows]
        p = p if isinstance(p, int) else p[rows]
        stated = explicit.tags_of(s, p, o) == holds
        if stated.any():
            rows = np.flatnonzero(~stated)
            s, o, holds = s[rows], o[rows], holds[rows]
            p = p if isinstance(p, int) else p[rows]
        found.append((s, p, o, holds))
    return found


def rederive(graph: TaggedGraph, program: Program, explicit: ExplicitFacts, doomed: Facts) -> None:
    """Remove the doomed facts from the graph, but for those that still hold, with the tags that they still have."""
    if not doomed.size:
        return
    s, p, o, _ = doomed
    graph.remove(s, p, o)
    stated = Facts(s, p, o, explicit.tags_of(s, p, o))
    saturate(graph, program, [stated.where(stated.tag > NEVER), *program.derivations(graph, doomed)])
