"""owlrl and reasonable: OWL RL and RDFS over an rdflib graph, or its triples, from the beginning at each slide.

Each is imported by its own class alone: it is installed when it is first needed, and so may the other not be yet.
"""

from __future__ import annotations

from importlib import import_module

import numpy as np
from rdflib import OWL, RDF, Graph, URIRef

from bench.peers.installing import PYPI
from bench.peers.job import Cannot, Job
from bench.peers.rows import visible
from bench.peers.tabular import Window

Triples = list[tuple[URIRef, URIRef, URIRef]]


class _Reasoner:
    def prepare(self, job: Job) -> None:
        if job.kind not in ("closure", "rdfs"):
            raise Cannot("it reasons, and asks nothing")
        self._job, self._window = job, Window(job)
        self._terms = [URIRef(term[1:-1]) for term in job.terms]
        self._place = {term: number for number, term in enumerate(self._terms)}

    def _triples(self, added: np.ndarray) -> Triples:
        terms, job = self._terms, self._job
        rows = np.concatenate([job.background, np.stack(self._window.moved(added), axis=1)])
        said = [(terms[s], terms[p], terms[o]) for s, p, o in rows.tolist()]
        if job.kind == "closure":
            said.append((terms[job.names["isIn"]], RDF.type, OWL.TransitiveProperty))
        return said

    def rows(self, answer: Triples | Graph) -> np.ndarray:
        place, job = self._place, self._job
        known = np.array(
            [(place[s], place[p], place[o]) for s, p, o in set(answer) if s in place and p in place and o in place]
        ).reshape(-1, 3)
        if job.kind == "closure":
            known = known[known[:, 1] == job.names["isIn"]]
        return visible(known, job)

    def close(self) -> None:
        self._terms = []


class Reasonable(_Reasoner):
    version = PYPI["reasonable"]

    def __init__(self) -> None:
        self._library = import_module("reasonable")

    def ready(self, added: np.ndarray, removed: np.ndarray) -> Triples:
        return self._triples(added)

    def slide(self, given: Triples) -> Triples:
        reasoner = self._library.PyReasoner()
        reasoner.from_graph(given)
        return reasoner.reason()


class OwlRl(_Reasoner):
    version = PYPI["owlrl"]

    def __init__(self) -> None:
        self._library = import_module("owlrl")

    def ready(self, added: np.ndarray, removed: np.ndarray) -> Graph:
        graph = Graph()
        for triple in self._triples(added):
            graph.add(triple)
        return graph

    def slide(self, given: Graph) -> Graph:
        library = self._library
        semantics = library.OWLRL_Semantics if self._job.kind == "closure" else library.RDFS_Semantics
        library.DeductiveClosure(semantics).expand(given)
        return given
