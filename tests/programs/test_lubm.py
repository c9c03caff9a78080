"""The fourteen queries of LUBM over one university, LUBM(1,0): how many answers they have as they stand, under RDFS,
and under RDFS with the rules that the benchmark's queries need beyond it. The counts are the reference's; those of the
last level are also the ones that the benchmark publishes.

    none      only what is stated
    rdfs      USING ENTAILMENT rdfs, over the ontology and the fifteen departments
    rules     rdfs, and a rule set that is given by name
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pyoxigraph as ox
import pytest

from csparql_spark.answers.bindings import Result
from csparql_spark.asking.one_shot import Question, ask
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.testing import load

LUBM = Path(__file__).resolve().parents[3] / "shared" / "lubm"
LEVELS = {"none": (), "rdfs": ("rdfs",), "rules": ("rdfs", "lubm")}
QUERIES = [f"q{number}" for number in range(1, 15)]
DISTINCT = 100_543  # triples of the data; departments name the same universities

pytestmark = pytest.mark.skipif(not LUBM.exists(), reason=f"{LUBM} is absent: no query of LUBM was run")


@cache
def graphs() -> dict[str, Chunk]:
    """The ontology, and a graph for each department."""
    ontology = ox.parse(path=LUBM / "univ-bench.owl", format=ox.RdfFormat.RDF_XML, base_iri="http://example.org/")
    texts = {"urn:ontology": ox.serialize(ontology, format=ox.RdfFormat.N_TRIPLES).decode()}
    texts |= {f"urn:department:{number}": LUBM / "data" / f"University0_{number}.nt.gz" for number in range(15)}
    return {graph: load(text, base=None, number=number) for number, (graph, text) in enumerate(texts.items())}


@cache
def reference() -> dict[str, dict[str, int]]:
    return json.loads((LUBM / "reference-answers.json").read_text(encoding="utf-8"))


def asked(name: str, level: str) -> Result:
    text = (LUBM / "queries" / f"{name}.rq").read_text(encoding="utf-8")
    rules = {"lubm": (LUBM / "lubm.rules").read_text(encoding="utf-8")}
    return ask(Question(text, graphs(), entailment=LEVELS[level], rules=rules))


@pytest.mark.parametrize("level", list(LEVELS))
@pytest.mark.parametrize("name", QUERIES)
def test_a_query_has_the_answers_of_the_reference(name: str, level: str) -> None:
    assert len(asked(name, level)) == reference()["counts_by_level"][level][name]


def test_the_reference_is_what_the_benchmark_publishes() -> None:
    assert reference()["counts_by_level"]["rules"] == reference()["published_reference_counts"]
    assert sorted(QUERIES) == sorted(reference()["published_reference_counts"])


def test_a_triple_of_two_departments_counts_once() -> None:
    departments = [graph for graph in graphs() if graph != "urn:ontology"]
    answer = ask(Question("SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }", graphs(), default_graphs=departments))
    assert answer.table.rows() == [{"n": f'"{DISTINCT}"^^<http://www.w3.org/2001/XMLSchema#integer>'}]
    assert sum(len(graphs()[graph]) for graph in departments) > DISTINCT
