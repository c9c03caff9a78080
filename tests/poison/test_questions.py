"""Questions that need too much: each is refused with a sentence, and the server answers the next as ever.

`questions.json` has them: a name, a text, and whether it is quick. They are asked of 300 triples, with a second of
processor time and 256 MiB. The quick ones are always tried, the others
where POISON=all is in the environment, as in `make faults`.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings

QUESTIONS = json.loads((Path(__file__).parent / "questions.json").read_text(encoding="utf-8"))
ALL = os.environ.get("POISON") == "all"
HEALTHY = "SELECT ?s { ?s <urn:p> 7 }"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("CSPARQL_SPARK_MOST_MILLISECONDS", "1000")
    settings = Settings(
        data=tmp_path_factory.mktemp("poison"), base_url="http://csparql.test", question_memory=256 << 20
    )
    with Backend(settings) as backend:
        client = create_app(backend).test_client()
        graph = "".join(f"<urn:s{i}> <urn:p> {i} .\n" for i in range(300))
        assert (
            client.put("/graphs?graph=urn:kb", data=graph, headers={"Content-Type": "text/turtle"}).status_code == 201
        )
        yield client
    patch.undo()


def asked(client, text: str):
    return client.post("/sparql", data=text, content_type="application/sparql-query")


def healthy(client) -> bool:
    return asked(client, HEALTHY).json["results"]["bindings"] == [{"s": {"type": "uri", "value": "urn:s7"}}]


def own_memory() -> int:
    """KiB of this process that are nobody else's, the most that there ever were."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])


@pytest.mark.parametrize(
    "question", [one for one in QUESTIONS if ALL or one["quick"]], ids=lambda question: question["name"]
)
def test_a_question_that_needs_too_much(client, question: dict) -> None:
    assert healthy(client)
    before = own_memory()
    told: list = []
    asking = threading.Thread(target=lambda: told.append(asked(client, question["text"])))
    asking.start()
    while asking.is_alive():  # the others notice nothing of it
        assert healthy(client)
        assert client.get("/health").status_code == 200
        asking.join(0.1)
    (refused,) = told
    assert (refused.status_code, refused.json["code"]) in {
        (422, "too-much"),
        (422, "too-many-rows"),
        (413, "too-large"),
    }
    assert refused.json["detail"].startswith("The question cannot be answered: ")
    assert own_memory() - before < 100 << 10
    assert healthy(client)


def test_a_tenth_is_quick() -> None:
    assert sum(one["quick"] for one in QUESTIONS) >= len(QUESTIONS) / 10
    names = [one["name"] for one in QUESTIONS]
    assert len(names) == len(set(names))
