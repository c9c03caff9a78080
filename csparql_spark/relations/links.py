"""One predicate's triples as links, from subjects to objects: what they compose to, packed as they are.

    links = Links(graph, predicate)
    links.after(more)           # more ∘ links: each of `more`, extended by a link that begins where it ends
    links.before(more)          # links ∘ more: each of `more`, extended by a link that ends where it begins

      more        links                    links       more
    a ────▶ b    b ────▶ c               z ────▶ a    a ────▶ b
    a ──────────────────▶ c  after       z ──────────────────▶ b  before

`more` are triples of the same predicate, packed by the same `Packing`; so is what comes out, which is in no order and
may name a triple more than once. Each holds as long as both that it is made of.
"""

from __future__ import annotations

import numpy as np

from csparql_spark.kernel.join import join
from csparql_spark.kernel.limits import UNBOUNDED, Field
from csparql_spark.relations.graph import Keyed, TaggedGraph
from csparql_spark.relations.keys import POS, PSO, Permutation


class Links:
    def __init__(self, graph: TaggedGraph, predicate: int) -> None:
        self._graph, packing = graph, graph.packing
        self._width, self._term = packing.width, packing.masks["o"]
        self._predicate = int(packing.ranks(predicate)) << 2 * packing.width

    def after(self, more: Keyed, fresh: bool = True, most: int = UNBOUNDED) -> Keyed:
        ends, rest = more.keys & self._term, more.keys & ~self._term
        return self._joined(PSO, ends, more._replace(keys=rest), fresh, most)

    def before(self, more: Keyed, fresh: bool = True, most: int = UNBOUNDED) -> Keyed:
        begins, rest = more.keys >> self._width & self._term, self._predicate | more.keys & self._term
        return self._joined(POS, begins, more._replace(keys=rest), fresh, most)

    def _joined(self, order: Permutation, met: np.ndarray, rest: Keyed, fresh: bool, most: int) -> Keyed:
        """The links that have `met` in the second place of an order: the third is put where it belongs in the rest."""
        runs, shifts = self._graph.ordered_by(order), self._graph.packing.shifts
        third = Field(0, self._term, shifts[PSO][order.places[2]])
        low = self._predicate | met << self._width
        keys, tags = join(runs.columns(fresh), low, 1 << self._width, rest.keys, rest.tag, runs.now, most, third)
        return Keyed(keys, tags, self._width)
