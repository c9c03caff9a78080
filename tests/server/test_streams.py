"""Streams: made, described, deleted."""

from __future__ import annotations

import json
import threading

import pytest

from csparql_spark.server.backend import Backend
from tests.server.playing import BASE, registered

TEMP = {
    "iri": f"{BASE}/streams/temp",
    "name": "temp",
    "url": f"{BASE}/streams/temp",
    "clock": "arrival",
    "delay": 0,
    "producer": None,
}


def described(response) -> dict[str, object]:
    told = response.json
    assert told.pop("created") > 1_600_000_000_000
    return told


def test_a_stream_is_made_once(client, backend: Backend) -> None:
    first = client.put("/streams/temp")
    assert (first.status_code, first.headers["Location"], described(first)) == (201, f"{BASE}/streams/temp", TEMP)
    again = client.put("/streams/temp")
    assert (again.status_code, again.headers["Location"], described(again)) == (200, f"{BASE}/streams/temp", TEMP)
    assert backend.stores.log.tail() == 1


def test_an_iri_is_taken_as_it_is(client) -> None:
    iri = "http://ex.org/a%20b/c?d=e&f#g"
    encoded = "http%3A%2F%2Fex.org%2Fa%2520b%2Fc%3Fd%3De%26f%23g"
    made = client.put(f"/streams/{encoded}")
    assert made.status_code == 201
    assert described(made) == {
        "iri": iri,
        "name": iri,
        "url": f"{BASE}/streams/{encoded}",
        "clock": "arrival",
        "delay": 0,
        "producer": None,
    }
    assert client.get(f"/streams/{encoded}").json["iri"] == iri


@pytest.mark.parametrize(
    "path", ["http%3A%2F%2Fex.org%2Ftemp", "http://ex.org/temp", "http:/ex.org/temp", "http%3A//ex.org%2ftemp"]
)
def test_an_iri_may_be_pasted(client, path: str) -> None:
    assert client.put(f"/streams/{path}").json["iri"] == "http://ex.org/temp"
    assert client.get("/streams/http%3A%2F%2Fex.org%2Ftemp").status_code == 200


def test_an_iri_below_the_base_is_the_plain_name(client) -> None:
    assert client.put("/streams/http%3A%2F%2Fcsparql.test%2Fstreams%2Ftemp").json["name"] == "temp"
    assert client.put("/streams/temp").status_code == 200


def test_the_iri_does_not_depend_on_the_host_header(client) -> None:
    assert client.put("/streams/temp", headers={"Host": "localhost:1"}).json["iri"] == f"{BASE}/streams/temp"


@pytest.mark.parametrize(
    "delay, expected", [("5s", 5000), (250, 250), ("250", 250), ("PT1.5S", 1500), ("2 min", 120_000), ("0s", 0), (0, 0)]
)
def test_the_clock_is_chosen_in_the_body(client, delay: object, expected: int) -> None:
    made = client.put("/streams/temp", json={"clock": "event", "delay": delay})
    assert (made.json["clock"], made.json["delay"]) == ("event", expected)


def test_the_clock_is_chosen_in_the_url(client) -> None:
    made = client.put("/streams/temp?clock=event&delay=2s")
    assert (made.json["clock"], made.json["delay"]) == ("event", 2000)


@pytest.mark.parametrize("asked", [{"query_string": "clock=event&delay=2"}, {"json": {"clock": "event", "delay": "2"}}])
def test_a_delay_without_a_unit_is_said_back(client, asked: dict[str, object]) -> None:
    for status in (201, 200):
        made = client.put("/streams/temp", **asked)
        assert (made.status_code, made.json["delay"]) == (status, 2)
        assert made.json["warnings"] == [
            "The delay 2 has no unit, and is taken for 2 ms. Write 2s if seconds are meant."
        ]
    assert "warnings" not in client.get("/streams/temp").json
    for clear in ("2ms", 2):
        assert "warnings" not in client.put("/streams/temp", json={"clock": "event", "delay": clear}).json


def test_the_content_type_of_settings_does_not_matter(client) -> None:
    made = client.put("/streams/temp", data='{"clock": "event"}', content_type="application/x-www-form-urlencoded")
    assert made.json["clock"] == "event"


def test_streams_are_listed_in_order(client) -> None:
    for name in ("b", "a", "http%3A%2F%2Fex.org%2Fc"):
        client.put(f"/streams/{name}")
    assert [stream["name"] for stream in client.get("/streams").json["streams"]] == ["b", "a", "http://ex.org/c"]


def test_a_description_counts_what_is_kept(client, backend: Backend) -> None:
    registered(client)
    stamped = b'<urn:a> <urn:n> "1" <urn:t:1000> .\n<urn:a> <urn:n> "2" <urn:t:3000> .\n'
    client.post("/streams/s", data=stamped, content_type="application/n-quads")
    client.post("/streams/s", data=b"<urn:a> <urn:n> <urn:b> <urn:t:2000> .", content_type="application/n-quads")
    told = described(client.get("/streams/s"))
    newest = told["newest"]
    assert newest.pop("at") > 1_600_000_000_000
    assert told == {
        "iri": f"{BASE}/streams/s",
        "name": "s",
        "url": f"{BASE}/streams/s",
        "clock": "event",
        "delay": 0,
        "producer": None,
        "kept": {"chunks": 2, "triples": 3},
        "newest": {"seq": 4, "first": 2000, "last": 2000, "triples": 1},
        "queries": ["q"],
    }


def test_a_new_stream_has_nothing(client) -> None:
    client.put("/streams/temp")
    told = client.get("/streams/temp").json
    assert (told["kept"], told["newest"], told["queries"]) == ({"chunks": 0, "triples": 0}, None, [])


def test_what_came_and_is_kept_no_longer_is_told(client, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    now = backend.stores.writer.clock.now()
    monkeypatch.setattr(backend.stores.writer.clock, "now", lambda: now)
    client.put("/streams/temp")
    client.put("/streams/silent")
    client.post("/streams/temp", data="<urn:a> <urn:n> <urn:b> .", content_type="text/turtle")
    assert "forgotten" not in client.get("/streams/temp").json
    now += 1000
    client.put("/streams/other")
    backend.stores.retention.advance(backend.stores.log.tail())
    assert backend.stores.retention.forget(keep_log=0, reach=0, keep_answers=1) == 1
    told = client.get("/streams/temp").json
    assert (told["newest"], told["kept"]["chunks"], told["forgotten"]) == (None, 0, True)
    for name in ("silent", "other"):
        assert "forgotten" not in client.get(f"/streams/{name}").json


def test_deleting(client, backend: Backend) -> None:
    client.put("/streams/temp")
    gone = client.delete("/streams/temp")
    assert (gone.status_code, gone.data) == (204, b"")
    assert "Content-Type" not in gone.headers
    assert client.get("/streams/temp").status_code == 404
    assert [entry.kind for entry in backend.stores.log.read(0, backend.stores.log.tail())] == ["stream", "drop"]


def test_a_stream_that_is_read_stays_until_its_readers_are_gone(client) -> None:
    registered(client)
    assert client.delete("/streams/s").json["queries"] == ["q"]
    assert client.get("/streams/s").status_code == 200
    client.delete("/queries/q")
    assert client.delete("/streams/s").status_code == 204


def test_a_name_may_be_used_again_with_another_clock(client) -> None:
    client.put("/streams/temp")
    client.delete("/streams/temp")
    assert client.put("/streams/temp?clock=event").status_code == 201


def test_of_many_who_make_a_stream_one_does(client, backend: Backend) -> None:
    """All are told the same stream; the log has one entry."""
    app, told = client.application, []

    def make(clock: str) -> None:
        response = app.test_client().put(f"/streams/temp?clock={clock}")
        told.append((response.status_code, response.json.get("clock")))

    threads = [threading.Thread(target=make, args=(clock,)) for clock in ["arrival", "event"] * 8]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [clock for status, clock in told if status == 201]
    assert sorted(told) == sorted([(201, winner)] + [(200, winner)] * 7 + [(409, winner)] * 8)
    assert backend.stores.log.tail() == 1


def test_deleting_and_registering_at_once_leaves_no_query_without_its_stream(client, backend: Backend) -> None:
    app, text = client.application, "REGISTER QUERY q AS SELECT ?s FROM STREAM <streams/s> [RANGE 1h] { ?s ?p ?o }"
    client.put("/streams/s?clock=event")

    def play(number: int) -> None:
        own = app.test_client()
        own.put("/streams/s?clock=event")
        if number % 2:
            own.delete("/streams/s")
        else:
            own.put(f"/queries/q{number}", data=text.replace("QUERY q ", f"QUERY q{number} "))

    threads = [threading.Thread(target=play, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    streams, readers = set(), {}
    for entry in backend.stores.log.read(0, backend.stores.log.tail()):
        if entry.kind == "stream":
            streams.add(entry.subject)
        elif entry.kind == "drop":
            assert entry.subject not in readers.values()
            streams.discard(entry.subject)
        elif entry.kind == "register":
            assert json.loads(entry.payload)["text"].startswith("REGISTER")
            assert f"{BASE}/streams/s" in streams
            readers[entry.subject] = f"{BASE}/streams/s"
