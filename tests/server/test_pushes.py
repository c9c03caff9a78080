"""Pushes: from bytes to a durable entry of the log."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from csparql_spark.disk import Database
from csparql_spark.log import Log
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.server.backend import Backend
from tests.server.playing import BASE

NT = "application/n-triples"
ONE = b'<urn:a> <urn:p> "1" .\n'
STAMPED = b'<urn:a> <urn:p> "1" <urn:t:5000> .\n<urn:a> <urn:p> "2" <urn:t:7000> .\n<urn:a> <urn:p> "3" .\n'
PRODUCERS = Path(__file__).parents[2] / "docs" / "producers.md"
TRIPLES = [("<urn:a>", "<urn:p>", '"1"')]


@pytest.fixture
def stream(client) -> str:
    return client.put("/streams/s").json["iri"]


def pushed(backend: Backend) -> list[Chunk]:
    entries = list(backend.stores.log.read(0, backend.stores.log.tail()))
    for entry in entries:
        if entry.kind == "chunk":
            chunk = Chunk.from_ipc(entry.payload)
            told = (entry.rows, entry.first, entry.last, entry.unstamped)
            assert told == (len(chunk), chunk.first, chunk.last, chunk.unstamped)
    return [Chunk.from_ipc(entry.payload) for entry in entries if entry.kind == "chunk"]


@pytest.mark.parametrize("url", ["/streams/s", "/graphs?graph=urn:g"])
def test_what_curl_says_when_it_is_not_told(client, stream: str, url: str) -> None:
    refused = client.post(url, data=ONE, content_type="application/x-www-form-urlencoded")
    assert (refused.status_code, refused.json["code"]) == (415, "unsupported-format")
    assert refused.json["detail"].endswith(
        " With curl that is -H 'Content-Type: text/turtle'; without it, curl says that it sends a form."
    )
    assert "curl" not in client.post(url, data=ONE, content_type="image/png").json["detail"]


@pytest.mark.parametrize(
    ("body", "meant"),
    [
        (b' {"s": "<urn:a>", "p": "<urn:p>", "o": 1}', "application/x-ndjson"),
        (b'{"@id": "urn:a", "urn:p": 1}\n\n{"@id": "urn:b"}\n', "application/x-ndjson"),
        (b'\xef\xbb\xbf{\n  "room": "kitchen",\n  "celsius": 21.5\n}\n', "application/ld+json"),
        (b'[{"room": "kitchen"},\n{"room": "hall"}]', "application/ld+json"),
        (b"[] <urn:p> 1 .", "text/turtle"),
        (b"[ <urn:p> 1 ] .", "text/turtle"),
        (b"<urn:a> <urn:p> 1 .", "text/turtle"),
    ],
)
def test_json_that_curl_calls_a_form_is_advised_as_json(client, stream: str, body: bytes, meant: str) -> None:
    refused = client.post("/streams/s", data=body, content_type="application/x-www-form-urlencoded")
    assert (refused.status_code, refused.json["code"]) == (415, "unsupported-format")
    told = f" With curl that is -H 'Content-Type: {meant}'; without it, curl says that it sends a form."
    assert told in refused.json["detail"]
    assert ("@context" in refused.json["detail"]) == (meant == "application/ld+json")


def test_a_push_is_logged_and_told(client, stream: str, backend: Backend) -> None:
    response = client.post("/streams/s", data=ONE, content_type=NT)
    entry = backend.stores.log.last(stream, "chunk", backend.stores.log.tail())
    assert response.status_code == 200
    assert response.json == {
        "stream": stream,
        "accepted": 1,
        "seq": 2,
        "at": entry.at,
        "first": None,
        "last": None,
        "warnings": [],
    }
    assert (entry.seq, entry.subject) == (2, stream)
    (chunk,) = pushed(backend)
    assert chunk.triples() == TRIPLES


@pytest.mark.parametrize(
    "media_type, body",
    [
        ("application/n-triples", b'<urn:a> <urn:p> "1" .'),
        ("text/turtle; charset=UTF-8", b'@prefix : <urn:> . :a :p "1" .'),
        ("application/n-quads", b'<urn:a> <urn:p> "1" <urn:g> .'),
        ("application/trig", b'<urn:g> { <urn:a> <urn:p> "1" }'),
        ("application/ld+json", b'{"@id": "urn:a", "urn:p": "1"}'),
        (
            "application/rdf+xml",
            b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:u="urn:">'
            b'<rdf:Description rdf:about="urn:a"><u:p>1</u:p></rdf:Description></rdf:RDF>',
        ),
    ],
)
def test_every_format(client, stream: str, backend: Backend, media_type: str, body: bytes) -> None:
    assert client.post("/streams/s", data=body, content_type=media_type).json["accepted"] == 1
    assert [chunk.triples() for chunk in pushed(backend)] == [TRIPLES]


def test_relative_iris_start_from_the_stream(client, stream: str, backend: Backend) -> None:
    client.post("/streams/s", data=b"<#a> <p> <> .", content_type="text/turtle")
    (chunk,) = pushed(backend)
    assert chunk.triples() == [(f"<{stream}#a>", f"<{BASE}/streams/p>", f"<{stream}>")]


def test_blank_nodes_of_two_pushes_differ(client, stream: str, backend: Backend) -> None:
    for _ in range(2):
        client.post("/streams/s", data=b"_:x <urn:p> _:x .", content_type=NT)
    (first, second) = (chunk.triples()[0] for chunk in pushed(backend))
    assert first[0] == first[2] != second[0] == second[2]


def test_the_arrival_clock_drops_stamps_and_says_so(client, stream: str, backend: Backend) -> None:
    told = client.post("/streams/s", data=STAMPED, content_type="application/n-quads").json
    assert (told["accepted"], told["first"], told["last"]) == (3, None, None)
    assert told["warnings"] == [
        {
            "code": "timestamps-ignored",
            "triples": 2,
            "message": "2 of the triples had a timestamp, and this stream is on the arrival clock: all are stamped with the time of "
            'their arrival. Create a stream with clock "event" to keep timestamps.',
        }
    ]
    (chunk,) = pushed(backend)
    assert chunk.unstamped == 3


def test_the_event_clock_keeps_stamps_and_says_what_had_none(client, backend: Backend) -> None:
    client.put("/streams/e?clock=event")
    told = client.post("/streams/e", data=STAMPED, content_type="application/n-quads").json
    assert (told["accepted"], told["first"], told["last"]) == (3, 5000, 7000)
    assert told["warnings"] == [
        {
            "code": "stamped-on-arrival",
            "triples": 1,
            "message": "1 of the triples had no timestamp, and this stream is on the event clock: they are stamped with the time of "
            "their arrival. The stream's clock moves on to now with them, and what comes with an older timestamp after that "
            "is late: give all triples a timestamp, or none.",
        }
    ]
    (chunk,) = pushed(backend)
    assert (chunk.first, chunk.last, chunk.unstamped) == (5000, 7000, 1)


def test_where_elements_without_a_stamp_move_the_clock_is_said_with_its_delay(client) -> None:
    client.put("/streams/e?clock=event&delay=2s")
    (warning,) = client.post("/streams/e", data=ONE, content_type=NT).json["warnings"]
    assert warning["code"] == "stamped-on-arrival"
    assert "The stream's clock moves on to 2 s before now with them, and what comes with an older" in warning["message"]


def test_json_ld_has_its_timestamp_in_the_name_of_a_graph(client, backend: Backend) -> None:
    """As docs/producers.md has it: `t` of a document is data."""
    client.put("/streams/e?clock=event")
    (line,) = (line for line in PRODUCERS.read_text("utf-8").splitlines() if '"@id": "urn:t:' in line)
    told = client.post("/streams/e", data=line, content_type="application/ld+json").json
    assert (told["first"], told["last"], told["warnings"]) == (1_700_000_000_000, 1_700_000_000_000, [])
    data = {"@context": {"@vocab": "http://ex.org/"}, "@id": "urn:a", "t": 1_700_000_000_000}
    told = client.post("/streams/e", json=data, content_type="application/ld+json").json
    assert (told["accepted"], told["first"]) == (1, None)


def test_seconds_that_were_taken_for_milliseconds_are_told_once(client, backend: Backend) -> None:
    """seconds ──┐ as milliseconds                                  as seconds ┌── now
    1970 ────────┴─────────────────────────────────────────────────────────────┴──▶"""
    client.put("/streams/e?clock=event")
    now = backend.stores.now() // 1000

    def told(*stamps: object, stream: str = "e") -> list[dict[str, object]]:
        lines = "".join(
            json.dumps({"s": "<urn:a>", "p": "<urn:p>", "o": n, "t": t}) + "\n" for n, t in enumerate(stamps)
        )
        return client.post(f"/streams/{stream}", data=lines, content_type="application/x-ndjson").json["warnings"]

    (warning,) = told(now * 1000, now, now - 60)
    assert (warning["code"], warning["triples"]) == ("stamps-in-seconds", 2)
    assert re.fullmatch(
        rf"The timestamp {now} is 1970-01-2\dT[\d:.]+Z: if these are seconds, write milliseconds: {now}000\.",
        warning["message"],
    )
    assert told(now * 1000, "1970-06-01T00:00:00Z", 0, 5000, now // 2) == []
    client.put("/streams/arrival")
    assert [warning["code"] for warning in told(now, stream="arrival")] == ["timestamps-ignored"]


@pytest.mark.parametrize("body", [b"\n", b"  \n# nothing\n", b"\xef\xbb\xbf", b"@prefix : <urn:> ."])
def test_a_push_without_triples_is_no_entry(client, stream: str, backend: Backend, body: bytes) -> None:
    response = client.post("/streams/s", data=body, content_type="text/turtle")
    assert response.status_code == 200
    assert response.json == {
        "stream": stream,
        "accepted": 0,
        "seq": None,
        "at": None,
        "first": None,
        "last": None,
        "warnings": [],
    }
    assert backend.stores.log.tail() == 1


@pytest.mark.parametrize("more", [b"", b" " * (64 << 10)])  # also where it is read apart
@pytest.mark.parametrize("media_type", ["application/ld+json", "application/x-ndjson"])
def test_keys_that_nothing_maps_are_told(client, stream: str, backend: Backend, media_type: str, more: bytes) -> None:
    body = b'{"@id": "urn:a", "urn:p": "1", "celsius": 21.5, "name": {"first": "x"}}' + more
    told = client.post("/streams/s", data=body, content_type=media_type).json
    assert told["accepted"] == 1
    assert told["warnings"] == [
        {
            "code": "keys-left-out",
            "keys": 2,
            "message": "2 of the keys could not be read as IRIs, and what they say was left out: where they stand there is no "
            '@context, which says what JSON\'s names mean. Write one into it, as "@context": {"@vocab": '
            '"http://example.org/"}, or use IRIs as keys.',
        }
    ]
    assert [chunk.triples() for chunk in pushed(backend)] == [TRIPLES]


@pytest.mark.parametrize("more", [b"", b" " * (64 << 10)])
@pytest.mark.parametrize("media_type", ["application/ld+json", "application/x-ndjson"])
def test_a_push_of_which_nothing_is_left_is_none(
    client, stream: str, backend: Backend, media_type: str, more: bytes
) -> None:
    response = client.post("/streams/s", data=b'{"@id": "urn:a", "celsius": 21.5}' + more, content_type=media_type)
    assert (response.status_code, response.json["type"].rpartition("/")[2]) == (400, "bad-rdf")
    assert response.json["detail"].startswith("Nothing is left of the body: 1 of the keys could not be read as IRIs")
    mended = '{"@context": {"@vocab": "http://example.org/"}, "@id": "urn:a", "celsius": 21.5}'
    assert response.json["detail"].endswith(
        f"or use IRIs as keys. With one it would be: {mended}. Nothing of this push was kept."
    )
    assert backend.stores.log.tail() == 1
    assert client.post("/streams/s", data=mended, content_type=media_type).json["accepted"] == 1


def words_of(command: str) -> list[str]:
    """As bash reads them."""
    return subprocess.check_output(["bash", "-c", f"printf '%s\\0' {command}"], text=True).split("\0")[:-1]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash reads the line, and is not here")
@pytest.mark.parametrize(
    "media_type, advice",
    [
        ("application/json", "JSON is read as JSON-LD (application/ld+json), with an @context"),
        ("Application/JSON; charset=utf-8", "or as NDJSON (application/x-ndjson)"),
        ("text/csv", "write each as a triple, a line of NDJSON (application/x-ndjson)."),
        ("text/tab-separated-values", "write each as a triple, a line of NDJSON (application/x-ndjson)."),
    ],
)
def test_what_is_no_rdf_is_refused_with_a_line_that_works(
    client, stream: str, backend: Backend, media_type: str, advice: str
) -> None:
    refused = client.post("/streams/s", data=b"room,celsius\nlab,21.5\n", content_type=media_type)
    assert (refused.status_code, refused.json["code"]) == (415, "unsupported-format")
    assert advice in refused.json["detail"]
    # As it is read by programs, and as it stands in the JSON that curl prints.
    for detail in (refused.json["detail"], json.dumps(refused.json["detail"])[1:-1]):
        curl, *_, url, header, kind, data, body = words_of(detail.partition(" With curl that is: ")[2])
        assert (curl, url, header, data) == ("curl", stream, "-H", "--data-binary")
        told = client.post(url.removeprefix(BASE), data=body, content_type=kind.removeprefix("Content-Type: "))
        assert told.json["accepted"] == 1
    graph = client.post("/graphs?graph=urn:g", data=b"x", content_type=media_type)
    assert graph.status_code == 415 and "curl" not in graph.json["detail"]


@pytest.mark.parametrize("media_type", ["application/ld+json", "application/x-ndjson"])
def test_plain_json_is_refused_with_itself_as_it_would_be_read(client, stream: str, media_type: str) -> None:
    refused = client.post("/streams/s", data=b'{"room": "lab", "celsius": 21.5}', content_type=media_type)
    assert refused.status_code == 400
    body = refused.json["detail"].partition(" With one it would be: ")[2].partition(". Nothing of this push")[0]
    assert body == '{"@context": {"@vocab": "http://example.org/"}, "room": "lab", "celsius": 21.5}'
    assert client.post("/streams/s", data=body, content_type=media_type).json["accepted"] == 2


def test_a_push_into_a_stream_that_became_another_one(client, backend: Backend) -> None:
    """What the web process remembers of a stream does not outlive the stream."""
    client.put("/streams/s")
    client.post("/streams/s", data=STAMPED, content_type="application/n-quads")
    client.delete("/streams/s")
    assert client.post("/streams/s", data=ONE, content_type=NT).status_code == 404
    assert client.post("/streams/s", data=b"# nothing\n", content_type=NT).status_code == 404
    client.put("/streams/s?clock=event")
    assert client.post("/streams/s", data=STAMPED, content_type="application/n-quads").json["first"] == 5000
    assert [chunk.first for chunk in pushed(backend)] == [None, 5000]


def test_gzip(client, stream: str, backend: Backend) -> None:
    two = gzip.compress(ONE) + gzip.compress(ONE.replace(b"1", b"2"))
    told = client.post("/streams/s", data=two, content_type=NT, headers={"Content-Encoding": "gzip"}).json
    assert told["accepted"] == 2


def test_a_refused_push_leaves_no_trace(client, stream: str, backend: Backend) -> None:
    body = ONE * 1000 + b"<urn:a> nonsense .\n"
    assert client.post("/streams/s", data=body, content_type=NT).json["errors"][0]["line"] == 1001
    assert backend.stores.log.tail() == 1


def test_32_pushers_at_once(port: int, backend: Backend) -> None:
    """Each push is one entry, in the order in which its pusher was told; no two have the same place."""
    pushers, pushes = 32, 8
    told: list[list[dict[str, int]]] = [[] for _ in range(pushers)]

    def push(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for i in range(pushes):
            connection.request("POST", "/streams/s", f'<urn:{number}> <urn:p> "{i}" .', {"Content-Type": NT})
            response = connection.getresponse()
            told[number].append({"status": response.status, **json.loads(response.read())})
        connection.close()

    setup = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    setup.request("PUT", "/streams/s")
    assert setup.getresponse().read()
    setup.close()
    threads = [threading.Thread(target=push, args=(number,)) for number in range(pushers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = Log(Database(backend.stores.database.path))  # as another process sees it
    logged = {entry.seq: Chunk.from_ipc(entry.payload).triples() for entry in log.read(1, log.tail())}
    expected = {
        said["seq"]: [(f"<urn:{number}>", "<urn:p>", f'"{i}"')]
        for number, saids in enumerate(told)
        for i, said in enumerate(saids)
    }
    assert all(said["status"] == 200 for saids in told for said in saids)
    assert logged == expected
    assert all(saids == sorted(saids, key=lambda said: said["seq"]) for saids in told)
