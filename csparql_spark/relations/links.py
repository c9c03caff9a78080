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

from csparql_spark.kernel.join import join
from csparql_spark.kernel.limits import UNBOUNDED, Field
from csparql_spark.relations.graph import Keyed, TaggedGraph
from csparql_spark.relations.keys import POS, PSO


class Links:
    def __init__(self, graph: TaggedGraph, predicate: int) -> None:
        self._graph, packing = graph, graph.packing
        self._width, self._term = packing.width, packing.masks["o"]
        self._predicate = int(packing.ranks(predicate)) << 2 * packing.width

    def after(self, more: Keyed, fresh: bool = True, most: int = UNBOUNDED) -> Keyed:
        keys = more.keys
        low = self._predicate | (keys & self._term) << self._width
        runs = self._graph.ordered_by(PSO)
        found = join(
            runs.columns(fresh),
            low,
            1 << self._width,
            keys & ~self._term,
            more.tag,
            runs.now,
            most,
            Field(0, self._term, 0),
        )
        return Keyed(*found, self._width)

    def before(self, more: Keyed, fresh: bool = True, most: int = UNBOUNDED) -> Keyed:
        keys = more.keys
        low = self._predicate | (keys >> self._width & self._term) << self._width
        runs = self._graph.ordered_by(POS)
        found = join(
            runs.columns(fresh),
            low,
            1 << self._width,
            self._predicate | keys & self._term,
            more.tag,
            runs.now,
            most,
            Field(0, self._term, self._width),
        )
        return Keyed(*found, self._width)
