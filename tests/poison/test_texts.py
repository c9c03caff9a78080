"""Texts of queries and rules that are large, deep or dense: each is refused with a sentence, or let in, and meanwhile
others register, and are served as ever.

`texts.json` has them: a name, the route that they are sent to, the text in parts (a part with a number is repeated, and
`#0`, `#1` in it are how often it was there before, and one more), what is told, and whether it is quick. `before` has
requests that make the ground ready. They have a second of processor time.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.poison import ALL
from tests.poison.meanwhile import asked_meanwhile
from tests.poison.strict import strict

TEXTS = json.loads((Path(__file__).parent / "texts.json").read_text(encoding="utf-8"))
HEALTHY = "SELECT ?s FROM STREAM <http://csparql.test/streams/s> [RANGE 2s] {{ ?s <urn:p> {} }}"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with strict(tmp_path_factory.mktemp("poison"), milliseconds=1000, memory=256 << 20) as client:
        assert client.put("/streams/s?clock=event").status_code == 201
        yield client


def written(parts: list) -> str:
    """The text that some parts are."""
    return "".join(
        part
        if isinstance(part, str)
        else "".join(part[0].replace("#0", str(number)).replace("#1", str(number + 1)) for number in range(part[1]))
        for part in parts
    )


def sent(client, method: str, route: str, parts: list):
    text = written(parts)
    if "?triple=" in route:
        route = route.replace("?triple=", f"?triple={quote(text)}")
        return client.open(route, method=method)
    types = {"/graphs": "text/turtle", "/streams": "text/turtle"}
    kind = next((media_type for start, media_type in types.items() if route.startswith(start)), "text/plain")
    return client.open(route, method=method, data=text, content_type=kind)


@pytest.mark.parametrize("text", [one for one in TEXTS if ALL or one["quick"]], ids=lambda text: text["name"])
def test_a_text_that_needs_too_much(client, text: dict) -> None:
    for before in text.get("before", ()):
        assert sent(client, *before).status_code in (200, 201, 202, 204)
    numbers = itertools.count()

    def register() -> None:
        number = next(numbers)
        assert client.put(f"/queries/healthy{number}", data=HEALTHY.format(number)).status_code == 201
        assert client.delete(f"/queries/healthy{number}").status_code == 204
        assert client.get("/health").status_code == 200

    told = asked_meanwhile(lambda: sent(client, text["method"], text["route"], text["text"]), register)
    code, words = found(told.json)
    assert code == text["told"][0] and words.startswith(text["told"][1])
    assert told.status_code < 500
    if text["method"] == "PUT" and told.status_code == 201:
        assert client.delete(text["route"]).status_code == 204


def found(body: dict) -> tuple[str, str]:
    """The code and the sentence of what is told: of a problem, or of the first mistake that a check has found."""
    if "ok" in body:
        body = (
            {"code": mistake["code"], "detail": mistake["message"]}
            if (mistake := next(iter(body["errors"]), None))
            else {}
        )
    return body.get("code", "ok"), body.get("detail", "")


def test_a_tenth_is_quick() -> None:
    assert sum(one["quick"] for one in TEXTS) >= len(TEXTS) / 10
    names = [one["name"] for one in TEXTS]
    assert len(names) == len(set(names))
