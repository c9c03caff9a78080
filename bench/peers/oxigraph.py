"""pyoxigraph: a store in memory, whose quads come and go, asked anew at each slide; every solution is read."""

from __future__ import annotations

import numpy as np
import pyoxigraph

from bench.peers.job import Cannot, Job
from bench.peers.rows import group

Quads = list[pyoxigraph.Quad]


class Oxigraph:
    version = pyoxigraph.__version__

    def prepare(self, job: Job) -> None:
        if job.kind == "rdfs":
            raise Cannot("it does not entail")
        self._job, self._store = job, pyoxigraph.Store()
        self._terms = [_term(text) for text in job.terms]
        self._place = {text: number for number, text in enumerate(job.terms)}
        self._store.extend(self._quads(np.concatenate([job.background, job.full])))

    def _quads(self, triples: np.ndarray) -> Quads:
        terms = self._terms
        return [pyoxigraph.Quad(terms[s], terms[p], terms[o]) for s, p, o in triples.tolist()]

    def ready(self, added: np.ndarray, removed: np.ndarray) -> tuple[Quads, Quads]:
        return self._quads(added), self._quads(removed)

    def slide(self, given: tuple[Quads, Quads]) -> list[list[pyoxigraph.QuerySolution]]:
        added, removed = given
        for quad in removed:
            self._store.remove(quad)
        self._store.extend(added)
        return [list(self._store.query(text)) for text in self._job.queries]

    def rows(self, answer: list[list[pyoxigraph.QuerySolution]]) -> np.ndarray:
        job, place = self._job, self._place
        if job.kind == "analytic":
            said = [{name: str(row[name]) for name in ("room", "mean", "most", "n")} for row in answer[0]]
            return np.array([group(row, place) for row in said]).reshape(-1, 4)
        if job.kind == "many":
            return np.array(
                [
                    (number, place[str(row[0])], place[str(row[1])], round(10 * float(row[2].value)))
                    for number, rows in enumerate(answer)
                    for row in rows
                ]
            ).reshape(-1, 4)
        return np.array([[place[str(term)] for term in row] for row in answer[0]]).reshape(-1, job.arity)

    def close(self) -> None:
        self._store.clear()


def _term(text: str) -> pyoxigraph.NamedNode | pyoxigraph.Literal:
    if text.startswith("<"):
        return pyoxigraph.NamedNode(text[1:-1])
    value, datatype = text.split("^^")
    return pyoxigraph.Literal(value.strip('"'), datatype=pyoxigraph.NamedNode(datatype[1:-1]))
