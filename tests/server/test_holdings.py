"""What responses hold is one sum: beyond it 503, and what is done is given back."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Bindings, Result
from csparql_spark.server.backend import Backend
from csparql_spark.server.http import holdings
from csparql_spark.server.http.holdings import LARGE, Holdings
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.subscribers import instants
from csparql_spark.server.subscribers.subscription import FIRST, Subscription
from tests.server.playing import BASE, Engine, registered


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3 * LARGE))))
def test_the_sum_is_bounded_and_everything_comes_back(deeds: list[tuple[bool, int]]) -> None:
    most = 8 * LARGE
    shelf, held = Holdings(most), []
    for takes, size in deeds:
        if takes:
            room = most // holdings.SMALL_PART if size <= LARGE else most - most // holdings.SMALL_PART
            before = sum(one for one, _ in held if (one > LARGE) == (size > LARGE))
            try:
                held.append((size, shelf.take(size)))
                assert not before or before + size <= room
            except Problem as problem:
                assert (problem.status, problem.code) == (503, "busy")
                assert before and before + size > room
        elif held:
            held.pop(size % len(held))[1].release()
        assert shelf.taken == sum(one for one, _ in held)
    for _, one in held:
        one.release()
        one.release()
    assert shelf.taken == 0


def test_memory_is_given_back_after_much_and_not_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[int] = []
    monkeypatch.setattr(holdings, "release_memory", lambda: released.append(1))
    shelf = Holdings()
    for _ in range(10):
        shelf.take(holdings.MUCH).release()
    assert len(released) == 1
    shelf = Holdings()
    for _ in range(10):
        shelf.take(1000).release()
    assert len(released) == 1


def large(rows: int = 20_000) -> Result:
    terms = pa.array(sorted(f"<http://example.org/{n:08d}>" for n in range(rows)))
    ids = np.arange(rows, dtype=np.int32)
    return Result.from_table(Bindings.from_ids(("s", "n"), terms, [ids, ids], in_order=True))


def test_who_reads_much_is_told_to_come_later_while_others_do(client, backend: Backend, engine: Engine) -> None:
    query = registered(client)
    engine.answer(query, 1000, large())
    engine.count(query, 2000)
    backend.holdings.most = 2 << 20
    first = client.get("/queries/q/answers?at=1000", buffered=False)  # it holds what is written piece by piece
    assert first.status_code == 200 and backend.holdings.taken > LARGE
    assert "Content-Length" not in first.headers
    for refused in ("?at=1000", "?from=0"):
        told = client.get(f"/queries/q/answers{refused}")
        assert (told.status_code, told.json["code"], told.headers["Retry-After"]) == (503, "busy", "1")
        assert "that all who read may hold are taken" in told.json["detail"]
    assert client.get("/queries/q/answers").json["at"] == 2000, "small answers find room"
    table = json.loads(b"".join(first.iter_encoded()))
    assert len(table["results"]["bindings"]) == 20_000 and table["at"] == 1000
    first.close()
    assert backend.holdings.taken == 0
    with client.get("/queries/q/answers?from=0") as both:
        assert len(both.json) == 2
    assert backend.holdings.taken == 0


def test_a_reader_who_goes_away_holds_nothing(client, backend: Backend, engine: Engine) -> None:
    engine.answer(registered(client), 1000, large())
    for asked in ("?at=1000", "?from=0", "?at=1000&format=xml"):
        response = client.get(f"/queries/q/answers{asked}", buffered=False)
        next(response.iter_encoded())
        assert backend.holdings.taken
        response.close()
        assert backend.holdings.taken == 0
    assert client.get("/queries/q/answers?at=1000&format=ttl").status_code == 406 and backend.holdings.taken == 0
    assert client.get("/queries/q/answers?at=5").status_code == 404 and backend.holdings.taken == 0


def test_a_graph_is_sent_as_it_is_taken(client, backend: Backend) -> None:
    lines = "".join(f"<urn:{n}> <urn:p> <urn:o> .\n" for n in range(30_000))
    assert client.put("/graphs?graph=urn:g", data=lines, content_type="application/n-triples").status_code == 201
    response = client.get("/graphs?graph=urn:g&format=nt", buffered=False)
    assert backend.holdings.taken and "Content-Length" not in response.headers
    assert sorted(b"".join(response.iter_encoded()).decode().splitlines()) == sorted(lines.splitlines())
    response.close()
    assert backend.holdings.taken == 0


def test_what_is_too_large_for_an_event_is_a_gap(
    client, backend: Backend, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its bytes in the store, or by its text, which has each term as often as there are rows with it."""
    monkeypatch.setattr(instants, "MOST_TOLD", 4000)
    query = registered(client)
    term = f'"{"x" * 1000}"'
    often = Result.bindings(("s",), [[term] * 5])
    assert len(often.to_bytes()) < 4000
    engine.count(query, 1000)
    engine.answer(query, 2000, large(500))
    engine.answer(query, 3000, often)
    engine.count(query, 4000)
    backend.threads.fanout.look()
    subscription = Subscription(backend.threads.fanout, ["q"], FIRST)
    events = b"".join(subscription.more()).decode()
    subscription.close()
    told = [json.loads(line.removeprefix("data: ")) for line in events.splitlines() if line.startswith("data: ")]
    assert [one.get("at") for one in told] == [1000, None, None, 4000]
    assert [(one["reason"], one["first"], one["last"], one["after"]) for one in told[1:3]] == [
        ("large", 2000, 2000, 1000),
        ("large", 3000, 3000, 2000),
    ]
    assert len(client.get("/queries/q/answers?at=3000").json["results"]["bindings"]) == 5
    assert [one["at"] for one in client.get("/queries/q/answers?from=0").json] == [1000, 2000, 3000, 4000]


def test_the_answer_to_a_question_counts_until_it_is_taken(client, backend: Backend) -> None:
    lines = "".join(f"<urn:{n}> <urn:p> <urn:o> .\n" for n in range(40_000))
    client.put("/graphs?graph=urn:g", data=lines, content_type="application/n-triples")
    asked = "/sparql?query=SELECT+?s+{?s+?p+?o}&format=csv"
    response = client.get(asked, buffered=False)
    size = int(response.headers["Content-Length"])
    assert backend.holdings.taken == size
    body = b"".join(response.iter_encoded())
    assert len(body) == size and sorted(body.decode().split()[1:]) == sorted(f"urn:{n}" for n in range(40_000))
    response.close()
    assert backend.holdings.taken == 0


def test_chunks_are_opened_within_what_may_be_held(client, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = f"{BASE}/streams/s"
    client.put("/streams/s?clock=event")
    assert (
        client.put("/queries/q", data=f"SELECT ?s FROM STREAM <{stream}> [RANGE 4s] {{ ?s ?p ?o }}").status_code == 201
    )
    for stamps in ((1000, 2000), (3000, 4000)):
        data = "".join(f"<urn:s> <urn:p> <urn:o> <urn:t:{stamp}> .\n" for stamp in stamps)
        assert client.post("/streams/s", data=data, content_type="application/n-quads").status_code == 200
    monkeypatch.setattr(backend.holdings, "most", holdings.SMALL_PART)
    others = backend.holdings.take(1)
    for path in ("/streams/s/elements", "/queries/q/timeline"):
        refused = client.get(path)
        assert (refused.status_code, refused.json["code"]) == (503, "busy")
    others.release()
    elements = client.get("/streams/s/elements?limit=3").json["elements"]
    assert [element["at"] for element in elements] == [4000, 3000, 2000]
    (seen,) = client.get("/queries/q/timeline?span=4s").json["streams"]
    assert [dot["from"] for dot in seen["elements"]] == [1000, 2000, 3000, 4000]
    assert backend.holdings.taken == 0
