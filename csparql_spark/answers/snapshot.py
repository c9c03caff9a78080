"""The snapshot evaluator: an Oxigraph store that is kept in step with a window, and asked at each instant.

Oxigraph sees names, not terms: the triple (3, 1, 4) of ids is stored as `<i:3> <i:1> <i:4>`. A basic graph pattern only
asks which terms are equal, and equal terms have equal ids, so the solutions are exact; and our terms come back as they
were sent, while Oxigraph by itself would turn "01"^^xsd:integer into "1".

Rows are put in the order of their terms, so that an answer is a function of the window's graph alone, and not of the
order in which its triples came.

    snapshot = Snapshot(plan, content)
    snapshot.move(s, p, o)
    snapshot.select(limit=1_000_000)
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from csparql_spark.answers.bindings import Answer, Bindings
from csparql_spark.answers.plan import Plan
from csparql_spark.answers.relevant import is_variable, relevant
from csparql_spark.relations.rows import Triples
from csparql_spark.windows.content import Content


class TooManyRows(Exception):
    """An answer is larger than what a query may give at one instant."""


class Snapshot:
    """A plan, and the triples of a moving window that can matter to it."""

    def __init__(self, plan: Plan, content: Content) -> None:
        self.plan = plan
        self._content = content
        self._generation = content.generation
        self._store = ox.Store()
        self._held: Triples | None = Triples.none()
        self._query: str | None = None
        self.version = 0            # grows when what is held changes

    def move(self, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> None:
        """Look at the graph of these triples from now on. It costs what changed of what matters."""
        triples = Triples.of(*relevant(self.plan, self._content.dictionary, s, p, o))
        if self._held is None or self._generation != self._content.generation:
            self._generation = self._content.generation
            self._store, self._held, self._query = ox.Store(), Triples.none(), None
            self.version += 1
        held, self._held = self._held, None          # unknown, should one of the next steps fail
        gone = held.minus(triples)
        if len(gone) > len(triples):
            self._store.clear()
            held = gone = Triples.none()
            self.version += 1
        new = triples.minus(held)
        if len(gone):
            self._store.update(f"DELETE DATA {{ {_lines(gone).decode()} }}")
        if len(new):
            self._store.load(_lines(new), ox.RdfFormat.N_TRIPLES, lenient=True)
        if len(gone) or len(new):
            self.version += 1
        self._held = triples

    def select(self, *, limit: int) -> Answer:
        """The solutions over the graph; `TooManyRows` if there are more than `limit`."""
        plan = self.plan
        names = list(dict.fromkeys(plan.variables))
        bound = {node for pattern in plan.patterns for node in pattern}
        asked = [name for name in names if f"?{name}" in bound]
        ids = self._solutions(asked, limit)
        if len(ids) > limit:
            raise TooManyRows(f"the answer has more than {limit:,} rows, which is the limit for one instant")
        distinct, place = np.unique(ids, return_inverse=True)
        terms = self._content.dictionary.decode(distinct)
        order = sorted(range(len(terms)), key=terms.__getitem__)
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        ranks = rank[place.reshape(ids.shape)]
        ranks = ranks[np.lexsort(ranks.T[::-1])] if asked else ranks
        shown = dict(zip(asked, ranks.T, strict=True))
        unbound = np.full(len(ids), -1, dtype=np.int32)
        return Answer.from_table(Bindings.from_ids(
            names, pa.array([terms[i] for i in order], pa.string()), [shown.get(name, unbound) for name in names],
            len(ids)))

    def _solutions(self, asked: list[str], limit: int) -> np.ndarray:
        """One row of ids for each solution."""
        if not self.plan.patterns:
            return np.empty((1, 0), dtype=np.int64)          # the empty pattern has one solution, which binds nothing
        if self._query is None:
            self._query = self._written(asked)
        # A column that is always bound keeps solutions countable when nothing is projected.
        text = self._store.query(f"{self._query} LIMIT {limit + 1}").serialize(format=ox.QueryResultsFormat.TSV)
        cells = text.partition(b"\n")[2].translate(None, b"<i:>").split()
        width = max(1, len(asked))
        ids = np.array(cells, dtype="S").astype(np.int64).reshape(-1, width)
        if self.plan.distinct and not asked:
            ids = ids[:1]
        return ids[:, :len(asked)]

    def _written(self, asked: list[str]) -> str:
        """The plan as SPARQL over names."""
        plan, names = self.plan, {}
        for pattern in plan.patterns:
            for node in pattern:
                if node not in names:
                    names[node] = (f"?v{len(names)}" if is_variable(node)
                                   else f"<i:{self._content.dictionary.encode([node])[0]}>")
        shown = " ".join(names[f"?{name}"] for name in asked) or "(<i:0> AS ?one)"
        where = " . ".join(" ".join(names[node] for node in pattern) for pattern in plan.patterns)
        return f"SELECT {'DISTINCT ' if plan.distinct else ''}{shown} WHERE {{ {where} }}"


def _lines(triples: Triples) -> bytes:
    s, p, o = (pa.array(column).cast(pa.string()) for column in (triples.s, triples.p, triples.o))
    lines = pc.binary_join_element_wise("<i:", s, "> <i:", p, "> <i:", o, "> .\n", "")
    return lines.buffers()[2].to_pybytes()
