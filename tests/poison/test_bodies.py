"""Bodies that are made to hurt: each is taken, or refused with a sentence, and others push meanwhile.

`bodies.json` has them: a name, what makes the body (`recipes.py`), and whether it is quick.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.poison import ALL
from tests.poison.meanwhile import asked_meanwhile
from tests.poison.recipes import document
from tests.poison.strict import strict

BODIES = json.loads((Path(__file__).parent / "bodies.json").read_text(encoding="utf-8"))
MOST = 300 << 10  # KiB that the process that serves may grow by
REFUSED = {(400, "bad-rdf"), (422, "too-much"), (413, "too-large"), (400, "bad-body")}


@pytest.fixture(scope="module")
def client(tmp_path_factory) -> Iterator:
    with strict(tmp_path_factory.mktemp("poison"), milliseconds=3000, memory=512 << 20) as client:
        assert client.put("/streams/healthy").status_code == client.put("/streams/ill").status_code == 201
        assert pushed(client)
        yield client


def pushed(client) -> bool:
    body = client.post("/streams/healthy", data="<urn:a> <urn:p> 1 .", content_type="text/turtle").json
    return body["accepted"] == 1


@pytest.mark.parametrize("body", [one for one in BODIES if ALL or one["quick"]], ids=lambda body: body["name"])
def test_a_body_that_is_made_to_hurt(client, body: dict) -> None:
    sent = document(body["body"])

    def check() -> None:
        assert pushed(client) and client.get("/health").status_code == 200

    reply = asked_meanwhile(
        lambda: client.post("/streams/ill", data=sent.content, headers=sent.headers),
        check,
        MOST + (len(sent.content) >> 10),  # the client is in this process, too, and has a copy of the body
    )
    assert reply.status_code == 200 or (reply.status_code, reply.json["code"]) in REFUSED, reply.text
    if reply.status_code != 200:
        assert reply.json["detail"].endswith(".") and len(reply.json["detail"]) < 1000


def test_a_graph_is_read_in_the_same_way(client) -> None:
    told = put(client, ["repeated", "application/ld+json", 1_000_000, '\\"', "", '"'])
    assert (told.status_code, told.json["code"]) == (400, "bad-rdf")
    told = put(client, ["scoped", 300])
    assert told.status_code == 201 and told.json["triples"] == 600


def put(client, recipe: list):
    graph = document(recipe)
    return client.put("/graphs?graph=urn:g", data=graph.content, headers=graph.headers)


def test_a_tenth_is_quick() -> None:
    assert sum(one["quick"] for one in BODIES) >= len(BODIES) / 10
    names = [one["name"] for one in BODIES]
    assert len(names) == len(set(names))
