"""Idempotency keys: a push that is sent again is counted once, also across kill -9."""

from __future__ import annotations

import http.client
import json
import signal
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Log
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.server.backend import Backend
from tests.rdf.test_arrow import ipc, table
from tests.server.test_process import Parent

NT = "application/n-triples"
ONE = b'<urn:a> <urn:p> "1" .\n'
KEY = {"Idempotency-Key": "8e03978e-40d5-43e8-bc93-6894a57f9324"}


@pytest.fixture
def stream(client) -> str:
    return client.put("/streams/s").json["iri"]


def test_the_same_again_is_told_the_same(client, stream: str, backend: Backend) -> None:
    first = client.post("/streams/s", data=ONE, content_type=NT, headers=KEY)
    again = client.post("/streams/s", data=ONE, content_type=NT, headers=KEY)
    assert (first.status_code, again.status_code) == (200, 200)
    assert "repeated" not in first.json and again.json == {**first.json, "repeated": True}
    assert client.post("/streams/s", data=ONE, content_type=NT).json["seq"] == first.json["seq"] + 1
    assert backend.stores.log.totals(stream) == (2, 2)


def test_another_push_with_the_key_is_refused(client, stream: str, backend: Backend) -> None:
    client.post("/streams/s", data=ONE, content_type=NT, headers=KEY)
    for body, kind in ((ONE + ONE, NT), (ONE, "text/turtle")):
        response = client.post("/streams/s", data=body, content_type=kind, headers=KEY)
        assert (response.status_code, response.json["code"]) == (422, "idempotency-key-reused")
    assert backend.stores.log.totals(stream) == (1, 1)


def test_a_key_belongs_to_a_stream_and_goes_with_it(client, stream: str) -> None:
    client.put("/streams/other")
    seqs = [
        client.post(f"/streams/{name}", data=ONE, content_type=NT, headers=KEY).json["seq"] for name in ("s", "other")
    ]
    client.delete("/streams/s")
    assert client.post("/streams/s", data=ONE, content_type=NT, headers=KEY).status_code == 404
    client.put("/streams/s")
    again = client.post("/streams/s", data=ONE, content_type=NT, headers=KEY).json
    assert again["seq"] > max(seqs) and "repeated" not in again


def test_what_is_refused_does_not_use_up_its_key(client, stream: str) -> None:
    assert client.post("/streams/s", data=b"nonsense", content_type=NT, headers=KEY).status_code == 400
    assert client.post("/streams/s", data=ONE, content_type=NT, headers=KEY).json["accepted"] == 1


@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "\u00e9"])
def test_keys_that_are_none(client, stream: str, key: str) -> None:
    response = client.post("/streams/s", data=ONE, content_type=NT, headers={"Idempotency-Key": key})
    assert (response.status_code, response.json["code"]) == (400, "bad-idempotency-key")


def test_the_same_at_the_same_time_is_one(client, stream: str, backend: Backend) -> None:
    """Also while the first is still on its way to the disk."""
    told: list[dict[str, object]] = []

    def send() -> None:
        told.append(client.application.test_client().post("/streams/s", data=ONE, content_type=NT, headers=KEY).json)

    threads = [threading.Thread(target=send) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({said["seq"] for said in told}) == 1
    assert sorted("repeated" in said for said in told) == [False] + [True] * 11
    assert backend.stores.log.totals(stream) == (1, 1)


def test_sent_again_after_kill_9_it_is_counted_once(tmp_path: Path) -> None:
    """A producer that sends each push until it is acknowledged, while the server is killed again and again."""
    parent = Parent(tmp_path / "data")
    parent.start()

    def replace() -> None:
        parent.children[-1].send_signal(signal.SIGKILL)
        parent.children[-1].wait()
        parent.start()

    try:
        parent.ask("PUT", "/streams/s")
        told: dict[int, dict[str, object]] = {}
        for number in range(9):
            body, headers = f"<urn:{number}> <urn:p> <urn:b> .", {"Content-Type": NT, "Idempotency-Key": f"k{number}"}
            killer = threading.Thread(target=replace)
            if number % 4 == 3:
                killer.start()
            while number not in told:
                try:
                    status, said = parent.ask("POST", "/streams/s", body, **headers)
                    assert status == 200, said
                    told[number] = said
                except (OSError, ValueError, http.client.HTTPException):
                    continue  # its fate is unknown: it is sent again
            if number % 4 == 3:
                killer.join()
                status, said = parent.ask("POST", "/streams/s", body, **headers)
                assert (status, said["seq"], said["repeated"]) == (200, told[number]["seq"], True)
        log = Log(Database(DataDirectory(tmp_path / "data").database))
        logged = {
            entry.seq: Chunk.from_ipc(entry.payload).triples()[0][0]
            for entry in log.read(0, log.tail())
            if entry.kind == "chunk"
        }
        assert logged == {said["seq"]: f"<urn:{number}>" for number, said in told.items()}
    finally:
        parent.close()


def test_ndjson_arrow_and_zstd_are_pushed(client, stream: str, backend: Backend) -> None:
    row = ("<urn:a>", "<urn:p>", '"1"')
    line = json.dumps(dict(zip("spo", row, strict=True))).encode()
    arrow = ipc(table([row]))
    for body, headers in (
        (line, {"Content-Type": "application/x-ndjson"}),
        (arrow, {"Content-Type": "application/vnd.apache.arrow.stream"}),
        (pa.compress(ONE, "zstd", asbytes=True), {"Content-Type": NT, "Content-Encoding": "zstd"}),
    ):
        assert client.post("/streams/s", data=body, headers=headers).json["accepted"] == 1
    chunks = [Chunk.from_ipc(entry.payload) for entry in backend.stores.log.read(1, backend.stores.log.tail())]
    assert [chunk.triples() for chunk in chunks] == [[row]] * 3


@pytest.mark.parametrize(
    "body, code",
    [
        (b"plain", "bad-body"),
        (pa.compress(ONE, "zstd", asbytes=True)[:-3], "bad-body"),
        (pa.compress(b" " * 100_000_001, "zstd", asbytes=True), "too-large"),
    ],
)
def test_zstd_that_is_none_or_too_much(client, stream: str, body: bytes, code: str) -> None:
    response = client.post("/streams/s", data=body, headers={"Content-Type": NT, "Content-Encoding": "zstd"})
    assert response.json["code"] == code
