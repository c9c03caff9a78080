"""Each rule set that ships, through a registered query: what it says of an ontology in the background and of data in
the stream, as somebody has worked it out by hand. A set without such an answer fails."""

from __future__ import annotations

import pytest

from csparql_spark.entailment.rules.regimes import W3C
from csparql_spark.entailment.rules.sets import NAMES
from csparql_spark.language.rules.terms import RULE_SETS
from tests.server.playing import Engine

ONTOLOGY = """
@prefix : <urn:> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Car rdfs:subClassOf :Vehicle . :Vehicle rdfs:subClassOf :Thing .
:drives rdfs:domain :Driver ; rdfs:range :Vehicle ; rdfs:subPropertyOf :uses ; owl:inverseOf :drivenBy .
:isIn a owl:TransitiveProperty .
"""
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
STREAM = f"""
<urn:ann> <urn:drives> <urn:taxi> <urn:t:1000> .
<urn:van> <{RDF}type> <urn:Car> <urn:t:2000> .
<urn:taxi> <urn:isIn> <urn:garage> <urn:t:3000> .
<urn:garage> <urn:isIn> <urn:rome> <urn:t:4000> .
<urn:box> <{RDF}_1> <urn:apple> <urn:t:5000> .
"""
LATER = "<urn:z> <urn:z> <urn:z> <urn:t:10001> .\n"
QUERY = """REGISTER QUERY q AS SELECT ?s ?p ?o FROM STREAM <streams/s> [RANGE 10s STEP 10s] FROM <urn:kb>
USING ENTAILMENT {} WHERE {{ VALUES ?s {{ <urn:ann> <urn:taxi> <urn:van> <urn:box> <urn:drives> }} ?s ?p ?o }}"""

STATED = """ann drives taxi; van a Car; taxi isIn garage; box rdf:_1 apple;
    drives rdfs:domain Driver; drives rdfs:range Vehicle; drives rdfs:subPropertyOf uses;
    drives owl:inverseOf drivenBy"""
USED = "drives a rdf:Property"
RHO_DF = "ann uses taxi; ann a Driver; taxi a Vehicle; taxi a Thing; van a Vehicle; van a Thing"
THINGS = """ann a rdfs:Resource; taxi a rdfs:Resource; van a rdfs:Resource; box a rdfs:Resource; drives a rdfs:Resource;
    drives rdfs:subPropertyOf drives"""
ANSWERS = {
    "rho-df": (STATED, RHO_DF),
    "rdf-full": (STATED, USED),
    "rdfs": (STATED, USED, RHO_DF, THINGS),
    # rdf:_1 is a property that is used, so it is one of those that say what is a member.
    "rdfs-full": (STATED, USED, RHO_DF, THINGS, "box rdfs:member apple"),
    # What is a sub-property of itself is equivalent to itself.
    "owl-horst": (
        STATED,
        USED,
        RHO_DF,
        THINGS,
        "taxi drivenBy ann; taxi isIn rome",
        "drives owl:equivalentProperty drives",
    ),
}
PREFIXES = {"rdf": RDF, "rdfs": "http://www.w3.org/2000/01/rdf-schema#", "owl": "http://www.w3.org/2002/07/owl#"}


def iri(word: str) -> str:
    prefix, colon, name = ("rdf:type" if word == "a" else word).partition(":")
    return PREFIXES[prefix] + name if colon else f"urn:{word}"


def expected(name: str) -> list[tuple[str, ...]]:
    assert name in ANSWERS, f"the rule set {name} has no test: work out by hand what it says here"
    triples = [tuple(map(iri, part.split())) for text in ANSWERS[name] for part in text.split(";")]
    assert len(set(triples)) == len(triples)
    return sorted(triples)


def answered(client, engine: Engine, regime: str) -> list[tuple[str, ...]]:
    """The answer of a query with the regime, at the end of its first window."""
    made = [
        client.put("/streams/s?clock=event"),
        client.put("/graphs?graph=urn:kb", data=ONTOLOGY, headers={"Content-Type": "text/turtle"}),
        client.put("/queries/q", data=QUERY.format(regime)),
        *(
            client.post("/streams/s", data=data, headers={"Content-Type": "application/n-quads"})
            for data in (STREAM, LATER)
        ),
    ]
    told = [response.text for response in made]
    assert [response.status_code for response in made] == [201, 201, 201, 200, 200], told
    engine.run()
    assert client.get("/queries/q").json["status"] == "running"
    found = client.get("/queries/q/answers?at=10000&format=json")
    assert found.status_code == 200, found.text
    return sorted(tuple(row[name]["value"] for name in "spo") for row in found.json["results"]["bindings"])


@pytest.mark.parametrize("name", NAMES)
def test_a_set_of_the_house(client, engine: Engine, name: str) -> None:
    assert answered(client, engine, name) == expected(name)


@pytest.mark.parametrize("iri, ours", [(f"{W3C}RDF", "rdf-full"), (f"{W3C}RDFS", "rdfs-full")])
def test_a_regime_of_the_w3c(client, engine: Engine, iri: str, ours: str) -> None:
    assert answered(client, engine, f"<{iri}>") == expected(ours)


@pytest.mark.parametrize("name, ours", RULE_SETS.items())
def test_a_set_that_a_users_file_includes(client, engine: Engine, name: str, ours: str) -> None:
    assert client.put("/rules/lab", data=f"@include <{name}>.\n").status_code == 201
    assert answered(client, engine, "lab") == expected(ours)


def test_two_sets_are_one(client, engine: Engine) -> None:
    both = {*expected("rho-df"), *expected("rdf-full")}
    assert answered(client, engine, "rho-df, rdf-full") == sorted(both)


def test_no_answer_is_left_over() -> None:
    assert set(ANSWERS) == set(NAMES)
