"""A backend over a fresh directory, clients of it with and without a socket, and a hand that plays the engine.

Every test has an app of its own, and all apps have the same routes: the code that Werkzeug compiles to build the URL of a
route is compiled once, which is most of what an app costs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from werkzeug.routing import Rule

from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.http.connections import Server, listen
from csparql_spark.server.http.limits import ConnectionLimits
from csparql_spark.server.settings import Settings
from tests.server.playing import BASE, Engine

_builders: dict[tuple[object, ...], Callable[..., tuple[str, str]]] = {}
_compiled = Rule._compile_builder


def _remembered(rule: Rule, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
    # Defaults are written into the code: a rule that has some is compiled as ever.
    if rule.defaults:
        return _compiled(rule, append_unknown)
    key = (rule.rule, tuple(rule._trace), append_unknown)
    if key not in _builders:
        _builders[key] = _compiled(rule, append_unknown)
    return _builders[key]


Rule._compile_builder = _remembered


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        data=tmp_path / "data",
        base_url=BASE,
        forget_seconds=3600.0,
        subscribers=8,
        idle_seconds=10.0,
        web=tmp_path / "web",
    )


@pytest.fixture
def backend(settings: Settings) -> Iterator[Backend]:
    with Backend(settings) as backend:
        yield backend


@pytest.fixture
def client(backend: Backend) -> FlaskClient:
    return create_app(backend).test_client()


@pytest.fixture
def engine(backend: Backend) -> Engine:
    return Engine(backend)


@contextlib.contextmanager
def serving(backend: Backend, *, threads: int, **limits: object) -> Iterator[int]:
    """A real server in this process; its port."""
    listening = listen("127.0.0.1", 0)
    server = Server(listening, create_app(backend), threads=threads, limits=ConnectionLimits(**limits))
    server.prepare()
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        backend.threads.fanout.stop()
        server.stop()
        thread.join()


@pytest.fixture
def port(backend: Backend) -> Iterator[int]:
    with serving(backend, threads=backend.settings.threads, idle_seconds=backend.settings.idle_seconds) as port:
        yield port
