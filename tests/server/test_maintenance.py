"""The setting `maintenance`: each strategy through the server gives the same answers, explained by name, or refuses."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from csparql_spark.entailment.maintain.strategies import NAMES, STRATEGIES
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings
from tests.server.playing import BASE, Engine

ROOT = Path(__file__).parents[2]
STREAM = f"{BASE}/streams/s"
MINE = "[near: (?a <urn:at> ?p) (?b <urn:at> ?p) notEqual(?a, ?b) -> (?a <urn:near> ?b)]"
RECURSIVE = "[chain: (?a <urn:near> ?b) (?b <urn:near> ?c) -> (?a <urn:near> ?c)]"
HEAD = "REGISTER QUERY q AS SELECT ?a ?b FROM <urn:kb> "
BODY = "USING ENTAILMENT mine WHERE { ?a <urn:near> ?b }"
QUERIES = {
    "slides": f"{HEAD} FROM STREAM <{STREAM}> [RANGE 3s STEP 1s] {BODY}",
    "narrower": f"{HEAD} FROM STREAM <{STREAM}> [RANGE 2s STEP 1s] {BODY}",
    "counts": f"{HEAD} FROM STREAM <{STREAM}> [RANGE TRIPLES 3 STEP 1] {BODY}",
    "both": f"{HEAD} FROM STREAM <{STREAM}> [RANGE TRIPLES 3 STEP 1] FROM STREAM <{STREAM}> [RANGE 1s] {BODY}",
    "little": f"{HEAD} FROM STREAM <{STREAM}> [RANGE TRIPLES 200 STEP 1] "
    f"FROM STREAM <{STREAM}> [RANGE TRIPLES 300 STEP 1] {BODY}",
    "steps": f"{HEAD} FROM STREAM <{STREAM}> [RANGE 3s STEP 1s] FROM STREAM <{STREAM}> [RANGE 4s STEP 2s] {BODY}",
    "named": f"{HEAD} FROM NAMED WINDOW <urn:w> ON <{STREAM}> [RANGE PT2S STEP PT1S] "
    "USING ENTAILMENT mine WHERE { WINDOW <urn:w> { ?a <urn:near> ?b } }",
}
PUSHES = [(("a", 1), ("b", 1), ("c", 2)), (("c", 1),), (("d", 2), ("a", 2)), (), (("b", 2), ("e", 3)), (("e", 1),)]


def played(path: Path, maintenance: str) -> tuple[dict[str, object], dict[str, object]]:
    """What each query says at all its instants, and how its closures are explained."""
    with Backend(Settings(data=path, base_url=BASE, maintenance=maintenance)) as backend:
        client = create_app(backend).test_client()
        assert client.put("/streams/s?clock=event").status_code == 201
        assert (
            client.put(
                "/graphs?graph=urn:kb", data="<urn:z> <urn:at> <urn:1> .", content_type="application/n-triples"
            ).status_code
            == 201
        )
        assert client.put("/rules/mine", data=MINE).status_code == 201
        for name, text in QUERIES.items():
            response = client.put(f"/queries/{name}", data=text.replace("QUERY q", f"QUERY {name}"))
            assert response.status_code == 201, response.text
        for second, triples in enumerate(PUSHES, 1):
            data = "".join(f"<urn:{s}> <urn:at> <urn:{o}> <urn:t:{second * 1000 - 1}> .\n" for s, o in triples)
            client.post(
                "/streams/s",
                data=data + f"<urn:x> <urn:p> <urn:y> <urn:t:{second * 1000}> .\n",
                content_type="application/n-quads",
            )
        Engine(backend).run()
        answers = {name: client.get(f"/queries/{name}/answers?limit=100").json for name in QUERIES}
        return answers, {name: client.get(f"/queries/{name}/explain").json["closures"] for name in QUERIES}


def test_each_strategy_gives_the_same_answers_and_is_named(tmp_path: Path) -> None:
    wanted, explained = played(tmp_path / "auto", "auto")
    for answers in wanted.values():
        assert len(answers) > 3 and any(answer["results"]["results"]["bindings"] for answer in answers)
    slides = "its windows slide together: what expires is known by its tag"
    own = f"all queries of its group whose default graph has one window, of any RANGE, over <{STREAM}>"
    named = f"all queries of its group with a named window over <{STREAM}>, of any RANGE"
    assert explained["slides"] == [{"window": None, "strategy": "expiration", "because": slides, "shared_by": own}]
    assert explained["named"] == [{"window": "urn:w", "strategy": "expiration", "because": slides, "shared_by": named}]
    assert {name: one[0]["shared_by"] for name, one in explained.items() if name != "named"} == {
        "slides": own,
        "narrower": own,
        "steps": "all queries of its group whose default graph has windows, of any RANGE, over "
        f"<{STREAM}> (as of every 2 s) and <{STREAM}> (1 s shorter)",
    } | dict.fromkeys(("counts", "both", "little"), "no other query: it counts what came since its registration")
    assert {name: one[0]["strategy"] for name, one in explained.items()} == {
        "slides": "expiration",
        "narrower": "expiration",
        "counts": "expiration",
        "both": "recompute",
        "little": "expiration",
        "steps": "expiration",
        "named": "expiration",
    }
    for strategy in STRATEGIES:
        answers, explained = played(tmp_path / strategy, strategy)
        assert answers == wanted, strategy
        assert all(
            one
            == {
                "window": "urn:w" if name == "named" else None,
                "strategy": strategy,
                "because": "the setting maintenance asks for it",
                "shared_by": one["shared_by"],
            }
            for name, (one,) in explained.items()
        )


def test_a_query_without_closures_has_none_to_explain(client) -> None:
    client.put("/streams/s")
    asked = {"plain": "", "entails": "USING ENTAILMENT rdfs"}
    for name, entailment in asked.items():
        text = f"SELECT ?s FROM STREAM <{STREAM}> [RANGE 2s STEP 1s] {entailment} WHERE {{ ?s ?p ?o }}"
        assert client.put(f"/queries/{name}", data=text).status_code == 201
    told = {name: client.get(f"/queries/{name}/explain").json["closures"] for name in asked}
    assert told["plain"] == [] and [one["strategy"] for one in told["entails"]] == ["expiration"]


@pytest.fixture
def counting(settings: Settings) -> Settings:
    return dataclasses.replace(settings, maintenance="counting")


def test_what_a_strategy_cannot_maintain_is_refused_at_registration(counting: Settings) -> None:
    with Backend(counting) as backend:
        client = create_app(backend).test_client()
        client.put("/streams/s")
        client.put("/rules/mine", data=RECURSIVE)
        text = f"REGISTER QUERY q AS SELECT ?a FROM STREAM <{STREAM}> [RANGE 3s STEP 1s] {BODY}"
        response = client.put("/queries/q", data=text)
        assert (response.status_code, response.json["code"]) == (422, "not-supported")
        rule = "[chain: (?a <urn:near> ?b) (?b <urn:near> ?c) -> (?a <urn:near> ?c)]"
        because = f"counting cannot maintain the rule {rule}, which is recursive: it may be fed with what it derives"
        assert response.json["detail"] == f"C{because[1:]}: set maintenance to another strategy, or to auto."
        assert client.get("/queries/q").status_code == 404
        # What becomes recursive later is maintained all the same, and explained.
        client.put("/rules/mine", data=MINE)
        assert client.put("/queries/q", data=text).status_code == 201
        assert client.get("/queries/q/explain").json["closures"][0]["strategy"] == "counting"
        assert client.put("/rules/mine", data=RECURSIVE).status_code == 200
        assert client.get("/queries/q/explain").json["closures"] == [
            {
                "window": None,
                "strategy": "expiration",
                "because": f"{because}, so it is chosen automatically: its windows "
                "slide together: what expires is known by its tag",
                "shared_by": f"all queries of its group whose default graph has one window, of any RANGE, over <{STREAM}>",
            }
        ]


def test_the_names_that_the_setting_takes_are_those_of_the_table() -> None:
    assert [Settings.of({"maintenance": name}).maintenance for name in NAMES] == list(NAMES)


def test_the_names_that_the_texts_tell_are_those_of_the_table() -> None:
    (meaning,) = [field.metadata["meaning"] for field in dataclasses.fields(Settings) if field.name == "maintenance"]
    assert tuple(re.findall(r"`([\w-]+)`", meaning.partition(".")[0])) == NAMES
    described = json.loads((ROOT / "server" / "openapi.json").read_text(encoding="utf-8"))
    answer = described["paths"]["/queries/{query}/explain"]["get"]["responses"]["200"]["content"]["application/json"]
    closure = answer["schema"]["properties"]["closures"]["items"]["properties"]
    assert closure["strategy"]["enum"] == list(STRATEGIES)
    document = (ROOT / "docs" / "entailment.md").read_text(encoding="utf-8")
    table = document.partition("| strategy |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE) == list(STRATEGIES)
