"""The W3C's tests of RDF and RDFS entailment, through registered queries: the premise is pushed into a stream, and the
query asks for the conclusion under the regime, whose blank nodes are variables of its body."""

from __future__ import annotations

import pytest

from tests.entailment.test_w3c import FOLDER, SKIPPED, W3C, cases, graph
from tests.server.playing import Engine

REGIMES = {"RDF": "http://www.w3.org/ns/entailment/RDF", "RDFS": "http://www.w3.org/ns/entailment/RDFS"}
CASES = [case for case in cases() if case["entailmentRegime"] in REGIMES]
QUERY = "REGISTER QUERY q AS ASK FROM STREAM <streams/s> [RANGE 10s STEP 10s] USING ENTAILMENT <{}> WHERE {{ {} }}"
LATER = "<urn:z> <urn:z> <urn:z> <urn:t:10001> .\n"
N_QUADS = {"Content-Type": "application/n-quads"}


def test_the_suite_is_there() -> None:
    if not FOLDER.exists():
        pytest.skip(f"{W3C} is absent: the W3C's tests of entailment were not run")
    assert len([case for case in CASES if case["id"] not in SKIPPED]) == 25


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_entailment(client, engine: Engine, case: dict[str, str]) -> None:
    if case["id"] in SKIPPED:
        pytest.skip(f"{case['id']} {SKIPPED[case['id']]}")
    premise = "".join(f"{' '.join(triple)} <urn:t:5000> .\n" for triple in sorted(graph(case["action"])))
    conclusion = " . ".join(" ".join(triple) for triple in sorted(graph(case["result"])))
    made = [
        client.put("/streams/s?clock=event"),
        client.put("/queries/q", data=QUERY.format(REGIMES[case["entailmentRegime"]], conclusion)),
        client.post("/streams/s", data=premise + LATER, headers=N_QUADS),
    ]
    assert [response.status_code for response in made] == [201, 201, 200], [response.text for response in made]
    engine.run()
    found = client.get("/queries/q/answers?at=10000&format=json")
    assert found.status_code == 200, client.get("/queries/q").text
    assert found.json["boolean"] is (case["type"] == "PositiveEntailmentTest")
