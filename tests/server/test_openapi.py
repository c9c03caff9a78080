"""The description of the interface, against the routes, and against thousands of odd requests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import jsonschema_rs
import numpy as np
import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from csparql_spark.answers.bindings import Result
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.http.problems import CATALOGUE
from csparql_spark.server.openapi import DOCUMENT
from csparql_spark.server.settings import Settings
from csparql_spark.server.subscribers.changes import WholeParts, change_envelopes
from csparql_spark.store import StoredAnswer
from tests.server.playing import BASE, TEXT, Engine, record

DESCRIBED = json.loads(DOCUMENT.read_text(encoding="utf-8"))
EXAMPLES = 6  # for each operation
METHODS = {"get", "put", "post", "delete", "patch"}
# What a segment is called in routes, and in the description.
SEGMENTS = {
    "streams": "stream",
    "queries": "query",
    "rules": "rules",
    "observers": "observer",
    "console": "name",
    "problems": "code",
}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]


def routed(app: Flask) -> set[tuple[str, str]]:
    """The operations that there are, with paths as the description writes them."""
    found = set()
    for rule in app.url_map.iter_rules():
        steps = rule.rule.split("/")
        path = "/".join(
            f"{{{SEGMENTS[steps[place - 1]]}}}" if step.startswith("<") else step for place, step in enumerate(steps)
        )
        found |= {(path, method.lower()) for method in rule.methods if method.lower() in METHODS}
    return found


def test_every_route_is_described_and_the_other_way_round(backend: Backend) -> None:
    described = {(path, method) for path, item in DESCRIBED["paths"].items() for method in item.keys() & METHODS}
    assert described == routed(create_app(backend))


def test_it_is_served_with_the_address_of_this_server(client) -> None:
    told = client.get("/openapi.json")
    assert told.content_type == "application/json"
    assert told.json == DESCRIBED | {"servers": [{"url": BASE}]}


def test_every_operation_is_told_apart() -> None:
    operations = [operation for item in DESCRIBED["paths"].values() for operation in item.values()]
    ids = [operation["operationId"] for operation in operations]
    assert len(set(ids)) == len(ids)
    assert {tag for operation in operations for tag in operation["tags"]} == {tag["name"] for tag in DESCRIBED["tags"]}
    for operation in operations:
        assert operation["summary"] and "responses" in operation


def test_every_status_of_a_problem_is_described() -> None:
    described = {
        int(code)
        for item in DESCRIBED["paths"].values()
        for operation in item.values()
        for code in operation["responses"]
    }
    # 405 is of what is not described; 431 comes before it is known what is asked.
    assert {status for status, _, _ in CATALOGUE.values()} - described == {405, 431}


def test_the_parameters_of_paths_are_declared() -> None:
    for path, item in DESCRIBED["paths"].items():
        for method, operation in item.items():
            given = [
                parameter
                if "$ref" not in parameter
                else DESCRIBED["components"]["parameters"][parameter["$ref"].rpartition("/")[2]]
                for parameter in operation.get("parameters", ())
            ]
            told = {one["name"] for one in given if one["in"] == "path"}
            assert told == set(re.findall(r"{(\w+)}", path)), (path, method)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """Its subscribers hear a sign of life all the time, so that nobody waits for the next one."""
    kept = Settings(data=tmp_path_factory.mktemp("house"), base_url=BASE, heartbeat_seconds=0.01, forget_seconds=3600.0)
    with Backend(kept) as backend:
        yield backend


@pytest.fixture
def api(house: Backend) -> schemathesis.BaseSchema:
    """The interface of a house in which names that are easily guessed are taken, whatever happened before."""
    app, engine = create_app(house), Engine(house)
    client = app.test_client()
    made = [
        client.put("/streams/s?clock=event"),
        client.put("/streams/0"),
        client.put("/queries/q", data=TEXT),
        client.put("/queries/0", data="CONSTRUCT { ?s ?p ?o } FROM STREAM <streams/s> [RANGE 2s] { ?s ?p ?o }"),
        client.put("/graphs?graph=urn:g", data="<urn:a> <urn:p> 1 .", content_type="text/turtle"),
        client.put("/rules/0", data="[r: (?a <urn:p> ?b) -> (?b <urn:p> ?a)]"),
    ]
    assert {response.status_code for response in made} <= {200, 201, 409}, [response.text for response in made]
    if made[2].status_code == 201:
        engine.count(made[2].json["id"], *range(1000, 9000, 1000))
    if made[3].status_code == 201:
        engine.answer(made[3].json["id"], 1000, Result.graph("<urn:a> <urn:p> <urn:b> .\n"))
    return schemathesis.openapi.from_wsgi("/openapi.json", app)


def test_changes_are_as_they_are_described() -> None:
    """Every member that is sent is named, and what is sent is of its type."""
    schema = {"$ref": "#/components/schemas/Change", "components": DESCRIBED["components"]}
    part = {**schema, "$ref": "#/components/schemas/ChangedRows"}
    begin = {**schema, "$ref": "#/components/schemas/Envelope"}
    seen, seen_whole = set[str](), set[str]()
    for frame, change in told_changes():
        jsonschema_rs.validator_for(begin).validate(frame)
        seen_whole |= frame.keys()
        jsonschema_rs.validator_for(schema).validate(change)
        seen |= change.keys()
        for name in change.keys() & {"added", "removed", "until"}:
            if isinstance(change[name], dict):
                jsonschema_rs.validator_for(part).validate(change[name])
                seen |= change[name].keys()
    named = [DESCRIBED["components"]["schemas"][name]["properties"] for name in ("Change", "ChangedRows")]
    assert seen == set().union(*named)
    assert seen_whole == DESCRIBED["components"]["schemas"]["Envelope"]["properties"].keys()


def told_changes() -> Iterator[tuple[dict, dict]]:
    """Keyframes, and what has changed since."""

    def rows(names: str, end: int) -> Result:
        made = Result.bindings(("n",), [[f'"{name}"' for name in names]])
        return made.holding(np.full(len(names), end))

    histories = [
        (TEXT, [rows("ab", 5000), rows("bc", 7000)]),
        (f"{TEXT} ORDER BY ?n", [rows("ab", 5000), rows("bc", 7000)]),
        (TEXT, [Result.boolean(True), Result.boolean(False).holding(np.array([5000]))]),
        (TEXT, [Result.graph("<urn:a> <urn:p> 1 .\n"), Result.graph("")]),
    ]
    for text, answers in histories:
        parts = [[StoredAnswer(1, at, 0, len(one), one.to_bytes())] for at, one in enumerate(answers, 1)]
        frame, change = change_envelopes(record(1, text=text), map(WholeParts, parts), every=False)
        yield json.loads(b"".join(frame)), json.loads(b"".join(change))


OPERATIONS = [(path, method) for path, item in DESCRIBED["paths"].items() for method in item]


# Names that are there, and some that are not.
KNOWN = {
    "query": ("q", "0", "nix"),
    "stream": ("s", "0", "nix"),
    "rules": ("0", "rdfs", "nix"),
    "observer": ("0",),
    "code": ("not-found", "nix"),
    "name": ("x.js",),
}


# Where only the path could be odd, most of what is made up is another path.
ATTACKS = [
    (path, method, mode)
    for path, method in OPERATIONS
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or "requestBody" in DESCRIBED["paths"][path][method]
]


@pytest.mark.parametrize(
    "path, method, mode", ATTACKS, ids=[f"{method} {path} {mode.value}" for path, method, mode in ATTACKS]
)
def test_no_request_gets_what_is_not_described(api, path: str, method: str, mode: GenerationMode) -> None:
    operation = api[path][method.upper()]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data(), st.integers(0, 3))
    def attack(data: st.DataObject, known: int) -> None:
        case = data.draw(operation.as_strategy(generation_mode=mode))
        for name in case.path_parameters or ():
            if known:
                case.path_parameters[name] = KNOWN[name][known % len(KNOWN[name])]
        case.call_and_validate(checks=CHECKS)

    try:
        attack()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE, "nothing fits the description"
