"""Texts in the log without a compiled form that can be used are read in a child, as those that come."""

from __future__ import annotations

import contextlib
import threading

import pytest

from csparql_spark.answers.limits import TooMuch
from csparql_spark.asking.guarded import Crowded, texts
from csparql_spark.asking.guarded.pool import Pool
from csparql_spark.disk import StoreError
from csparql_spark.language import ContinuousQuery, LanguageError
from csparql_spark.language.queries import parser, query_cache
from csparql_spark.language.queries.query_cache import Readings
from csparql_spark.log.contents import QueryRegistered, draft_of, registered
from csparql_spark.log.guards import Every
from csparql_spark.server import dependents
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.dependents import reads_of
from csparql_spark.server.routes import registration
from csparql_spark.server.settings import Settings
from tests.server.playing import BASE, TEXT

OTHER = f"REGISTER QUERY other AS SELECT ?o FROM STREAM <{BASE}/streams/s> [RANGE 3s STEP 1s] WHERE {{ ?s <urn:n> ?o }}"


@pytest.fixture
def nobody_parses_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*words: object) -> object:
        raise AssertionError("it is parsed in the process that serves")

    monkeypatch.setattr(query_cache, "_readings", Readings(300, 32 << 20, parsed=refuse))
    monkeypatch.setattr(parser, "_tree", refuse)  # which nobody parses without, whatever name it is called by


def test_old_entries_are_read_in_children(settings: Settings, nobody_parses_here: None) -> None:
    with Backend(settings) as backend:
        create_app(backend).test_client().put("/streams/s?clock=event")
        for name, text, form in (("q", TEXT, None), ("other", OTHER, {"version": -1})):
            draft = draft_of(QueryRegistered(text, f"{BASE}/", False, form), name)
            backend.stores.writer.append(draft, Every(()))
    with Backend(settings) as backend:
        client = create_app(backend).test_client()
        assert [query["windows"][0]["range"] for query in client.get("/queries").json["queries"]] == [2000, 3000]
        assert client.get("/streams/s").json["queries"] == ["q", "other"]
        assert client.delete("/streams/s").json["code"] == "stream-in-use"


def test_what_a_text_without_a_form_reads_is_known_without_reading_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "compiled_of", lambda query: None)  # as if each were too long
    graph = f"{BASE}/g"
    text = f"REGISTER QUERY q USING ENTAILMENT mine AS SELECT ?s FROM <{graph}> FROM STREAM <{BASE}/streams/s> [RANGE 2s] {{ ?s <urn:n> ?n }}"
    with Backend(settings) as backend:
        client = create_app(backend).test_client()
        client.put("/streams/s?clock=event")
        client.put(f"/graphs?graph={graph}", data="<urn:a> <urn:p> 1 .", content_type="text/turtle")
        assert client.put("/rules/mine", data="[r: (?a <urn:p> ?b) -> (?b <urn:q> ?a)]").status_code == 201
        assert client.put("/queries/q", data=text).status_code == 201
        record = backend.stores.registry.query("q")
        assert record is not None and record.compiled is None
        expected = reads_of(QueryRegistered(record.text, record.base))

    readers: set[str] = set()

    def noted(*text: object) -> ContinuousQuery:
        readers.add(threading.current_thread().name)
        return query_cache.read(*text)

    monkeypatch.setattr(dependents, "read", noted)
    with Backend(settings) as backend:
        entry = backend.stores.log.one(record.id)
        assert entry is not None and entry.payload is not None
        assert reads_of(registered(entry.payload)) == expected
        assert (expected.streams, expected.graphs, expected.rules) == ({f"{BASE}/streams/s"}, {graph}, {"mine"})
        client = create_app(backend).test_client()
        assert client.delete("/streams/s").json["code"] == "stream-in-use"
        assert client.delete("/rules/mine").json["code"] == "rules-in-use"
        assert "log-writer" not in readers


def test_what_cannot_be_read_any_more_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(Pool(memory=64 << 20)) as pool:
        read = texts.Texts(pool).stored
        with pytest.raises(LanguageError):
            read("SELECT", None)

        def refused(*_: object, **__: object) -> bytes:
            raise TooMuch("it takes longer than 10 s of processor time")

        monkeypatch.setattr(pool, "attempt", refused)
        with pytest.raises(LanguageError, match="cannot be read any more: it takes longer than 10 s"):
            read(TEXT, None)


class CrowdedPool:
    """A pool that has no child so many times."""

    def __init__(self, pool: Pool, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        self.asked = 0
        attempt = pool.attempt

        def crowded(*words: object, **more: object) -> object:
            self.asked += 1
            if self.asked <= times:
                raise Crowded("so many wait already")
            return attempt(*words, **more)

        monkeypatch.setattr(pool, "attempt", crowded)


def test_where_no_child_can_be_had_it_waits_for_one(monkeypatch: pytest.MonkeyPatch, nobody_parses_here: None) -> None:
    with contextlib.closing(Pool(memory=64 << 20)) as pool:
        crowd = CrowdedPool(pool, monkeypatch, times=3)
        assert [window.stream for window in texts.Texts(pool).stored(TEXT, None).windows] == [f"{BASE}/streams/s"]
        assert crowd.asked == 4


def test_where_none_comes_it_is_not_read_here_either(monkeypatch: pytest.MonkeyPatch, nobody_parses_here: None) -> None:
    with contextlib.closing(Pool(memory=64 << 20)) as pool:
        crowd = CrowdedPool(pool, monkeypatch, times=1000)
        reader = texts.Texts(pool, patience=0.02)
        for known in (Crowded, StoreError):  # for those who ask, and for threads that try again
            with pytest.raises(known, match="cannot be read now: so many wait already"):
                reader.stored(TEXT, None)
        assert crowd.asked > 2
        waiting = texts.Texts(pool, patience=3600)
        waiting.stop()
        with pytest.raises(texts.NotRead):
            waiting.stored(TEXT, None)


def test_whoever_asks_about_such_a_query_is_told_that_it_is_crowded(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, nobody_parses_here: None
) -> None:
    with Backend(settings) as backend:
        client = create_app(backend).test_client()
        client.put("/streams/s?clock=event")
        backend.stores.writer.append(draft_of(QueryRegistered(TEXT, f"{BASE}/", False, None), "q"), Every(()))
        monkeypatch.setattr(backend.texts, "_patience", 0.02)
        with monkeypatch.context() as crowded:
            crowd = CrowdedPool(backend.pool, crowded, times=1000)
            refused = client.get("/queries/q")
            assert (refused.status_code, refused.json["code"]) == (503, "busy")
            assert crowd.asked > 0
        assert client.get("/queries/q").json["windows"][0]["range"] == 2000
