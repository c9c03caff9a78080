"""Questions that need too much: each is refused with a sentence, and the server answers the next as ever.

`questions.json` has them: a name, a text, and whether it is quick. They are asked of 300 triples, with a second of
processor time and 256 MiB.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.poison import ALL
from tests.poison.meanwhile import asked_meanwhile
from tests.poison.poison import limits
from tests.poison.strict import strict

QUESTIONS = json.loads((Path(__file__).parent / "questions.json").read_text(encoding="utf-8"))
HEALTHY = "SELECT ?s { ?s <urn:p> 7 }"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with strict(tmp_path_factory.mktemp("poison"), milliseconds=1000, memory=256 << 20) as client:
        graph = "".join(f"<urn:s{i}> <urn:p> {i} .\n" for i in range(300))
        assert (
            client.put("/graphs?graph=urn:kb", data=graph, headers={"Content-Type": "text/turtle"}).status_code == 201
        )
        yield client


def asked(client, text: str):
    return client.post("/sparql", data=text, content_type="application/sparql-query")


def healthy(client) -> bool:
    return asked(client, HEALTHY).json["results"]["bindings"] == [{"s": {"type": "uri", "value": "urn:s7"}}]


@pytest.mark.parametrize(
    "question", [one for one in QUESTIONS if ALL or one["quick"]], ids=lambda question: question["name"]
)
def test_a_question_that_needs_too_much(client, question: dict) -> None:
    def check() -> None:
        assert healthy(client)
        assert client.get("/health").status_code == 200

    refused = asked_meanwhile(lambda: asked(client, question["text"]), check)
    assert (refused.status_code, refused.json["code"]) in {
        (422, "too-much"),
        (422, "too-many-rows"),
        (413, "too-large"),
    }
    assert refused.json["detail"].startswith("The question cannot be answered: ")
    assert limits(refused.json["detail"]), refused.json["detail"]  # it names the one that it has met


def test_a_tenth_is_quick() -> None:
    assert sum(one["quick"] for one in QUESTIONS) >= len(QUESTIONS) / 10
    names = [one["name"] for one in QUESTIONS]
    assert len(names) == len(set(names))
