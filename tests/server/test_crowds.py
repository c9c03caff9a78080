"""Crowds of slow questions, of all kinds: whoever asks for something else finds a thread that is free."""

from __future__ import annotations

import http.client
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from csparql_spark.asking.guarded import work
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings
from tests.asking.guarded.deeds import Gate, GatedReading
from tests.server.conftest import serving
from tests.server.playing import BASE, Engine, registered

EACH = 20
QUESTIONS = 2 + 8  # of all kinds, that work and that wait
MOST_HELD = QUESTIONS + 2 + 16  # and those in quick places, checks among them
TURTLE = {"Content-Type": "text/turtle"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SLOW = {
    "sparql": ("GET", f"/sparql?query={quote('SELECT ?s { ?s ?p ?o }')}", None, {}),
    "update": ("POST", "/kb", f"action=update&queryBody={quote('CLEAR GRAPH <urn:kb>')}", FORM),
    "check": ("POST", "/check?kind=question", "SELECT ?slow { ?s ?p ?o }", {"Content-Type": "text/plain"}),
    "why": ("GET", f"/queries/q/why?triple={quote('<urn:a> <urn:p> <urn:b>')}&at=1000", None, {}),
    "missing": ("GET", "/queries/q/missing?at=1000", None, {}),
    "explain": ("GET", "/queries/q/explain", None, {}),
}
KB = f"SELECT ?s FROM <urn:kb> FROM STREAM <{BASE}/streams/s> [RANGE 2s STEP 1s] WHERE {{ ?s ?p ?o }}"
OTHER = f"SELECT ?s FROM STREAM <{BASE}/streams/s> [RANGE 2s STEP 1s] WHERE {{ ?s <urn:other> ?o }}"


def asked(port: int, method: str, path: str, body: str | None, headers: dict[str, str]) -> tuple[int, str | None]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        response.read()
        return response.status, response.headers["Retry-After"]
    finally:
        connection.close()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[str]:
    """A named pipe at which work waits."""
    path = str(tmp_path / "gate")
    os.mkfifo(path)
    yield path


def test_a_crowd_of_slow_questions_delays_nobody_else(
    tmp_path: Path, gate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six kinds, twenty of each, that wait at a gate. All but those that have a place, or a place in a queue, are sent
    home; while the gate is shut, a push, /health and a registration are served. Then the others are."""
    settings = Settings(data=tmp_path / "data", base_url=BASE)
    with Backend(settings) as backend, serving(backend, threads=settings.threads) as port:
        assert asked(port, "PUT", "/graphs?graph=urn:kb", "<urn:a> <urn:p> <urn:b> .", TURTLE)[0] == 201
        Engine(backend).count(registered(create_app(backend).test_client(), KB), 1000)
        for name in ("answered", "graphs_of_update", "reasoned", "missed", "explanation"):
            monkeypatch.setattr(work, name, Gate(gate))
        monkeypatch.setattr(work, "reading", GatedReading(gate))
        told: list[tuple[int, str | None]] = []
        one_more = threading.Semaphore(0)

        def ask(kind: str) -> None:
            told.append(asked(port, *SLOW[kind]))
            one_more.release()

        crowd = [threading.Thread(target=ask, args=(kind,)) for kind in SLOW for _ in range(EACH)]
        for thread in crowd:
            thread.start()
        for _ in range(len(crowd) - MOST_HELD):
            assert one_more.acquire(timeout=60)
        assert asked(port, "POST", "/streams/s", "<urn:a> <urn:p> <urn:b> .", TURTLE)[0] == 200
        assert asked(port, "GET", "/health", None, {})[0] == 200
        assert asked(port, "PUT", "/queries/other", OTHER, {})[0] == 201
        assert set(told) == {(503, "5")}
        opened = os.open(gate, os.O_RDWR)
        os.write(opened, bytes(len(crowd)))
        for thread in crowd:
            thread.join()
        os.close(opened)
    others = [status for status, _ in told if status != 503]
    assert QUESTIONS <= len(others) <= MOST_HELD and 500 not in others
