"""The W3C's tests of simple, RDF and RDFS entailment: a graph entails another when the other, its blank nodes being
variables, is found in the closure of the first."""

from __future__ import annotations

import json
from pathlib import Path

import pyoxigraph as ox
import pytest

from csparql_spark.entailment.rules.sets import rule_set
from csparql_spark.language.rules.rule import Atom
from tests.entailment.twin import ALWAYS, Lookup, Triple, closure

W3C = Path(__file__).resolve().parents[3] / "shared" / "w3c"
FOLDER = W3C / "rdf-mt"

CONTRADICTION = "says that the premise is (not) contradictory: contradictions are not looked for"
VALUES = "needs two spellings of a value to be one term: here two literals are the same when their strings are"
SKIPPED = {
    "datatypes-intensional-xsd-integer-decimal-compatible": CONTRADICTION,
    "datatypes-non-well-formed-literal-1": CONTRADICTION,
    "datatypes-non-well-formed-literal-2": CONTRADICTION,
    "datatypes-semantic-equivalence-within-type-1": VALUES,
    "datatypes-semantic-equivalence-within-type-2": VALUES,
    "datatypes-semantic-equivalence-between-datatypes": VALUES,
    "datatypes-range-clash": CONTRADICTION,
    "datatypes-test010": CONTRADICTION,
    "rdfs-entailment-test001": CONTRADICTION,
    "rdfs-entailment-test002": CONTRADICTION,
    "rdfs-subClassOf-a-Property-test001": CONTRADICTION,
    "xmlsch-02-whitespace-facet-2": CONTRADICTION,
    "xmlsch-02-whitespace-facet-4": CONTRADICTION,
    "literal-type": "needs a literal as the subject of a triple, which RDF does not have",
    "float-round-same": VALUES,
    "float-infinity": VALUES,
    "double-round-same": VALUES,
    "double-infinity": VALUES,
}
REGIMES = {"simple": (), "RDF": rule_set("rdf-full"), "RDFS": rule_set("rdfs-full")}


def cases() -> list[dict[str, object]]:
    if not FOLDER.exists():
        return []
    tests = json.loads((W3C / "index.json").read_text(encoding="utf-8"))
    return [test for test in tests if test["folder"] == "rdf-mt"]


def test_the_suite_is_there() -> None:
    if not FOLDER.exists():
        pytest.skip(f"{FOLDER} is absent: the W3C's tests of entailment were not run")
    assert len(cases()) == 48 and {case["id"] for case in cases()} >= set(SKIPPED)
    assert all(case["id"] in SKIPPED for case in cases() if isinstance(case["result"], dict))


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_entailment(case: dict[str, str]) -> None:
    if case["id"] in SKIPPED:
        pytest.skip(f"{case['id']} {SKIPPED[case['id']]}")
    closed = closure(REGIMES[case["entailmentRegime"]], dict.fromkeys(graph(case["action"]), ALWAYS))
    assert found(graph(case["result"]), closed) is (case["type"] == "PositiveEntailmentTest")


def graph(file: str) -> set[Triple]:
    quads = ox.parse(path=FOLDER / file, base_iri=f"http://example.org/{file}")
    return {(str(quad.subject), str(quad.predicate), str(quad.object)) for quad in quads}


def found(conclusion: set[Triple], closed: dict[Triple, int]) -> bool:
    """Whether the blank nodes of the conclusion can be replaced so that all its triples are there."""
    atoms = [Atom(*(f"?{term[2:]}" if term.startswith("_:") else term for term in triple)) for triple in conclusion]
    known, bindings = Lookup(closed), [{}]
    for atom in sorted(atoms, key=lambda atom: len(atom.variables)):
        bindings = [new for binding in bindings for new in known.extended(atom, binding)]
    return bool(bindings)


def test_a_blank_node_stands_for_one_thing() -> None:
    p, q = "<urn:p>", "<urn:q>"
    closed = dict.fromkeys([("<urn:a>", p, '"1"'), ("<urn:a>", q, '"2"'), ("<urn:a>", q, '"1"')], ALWAYS)
    assert found({("_:x", p, "_:y"), ("_:x", q, "_:y")}, closed)
    assert not found({("_:x", p, "_:y"), ("_:y", q, "_:z")}, closed)
    assert not found({("_:x", p, '"2"')}, closed)
