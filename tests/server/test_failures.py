"""That a query has failed: it is told at once, and goes into the log, also where nobody was there when it failed."""

from __future__ import annotations

import pytest

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.disk.bell import Bell
from csparql_spark.log.contents import AnyContent, QueryFailed, content_of
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings
from csparql_spark.store import AnswerStore
from tests.server.playing import BASE, TEXT, Engine, registered

PATIENCE_SECONDS = 30


def logged(backend: Backend, count: int) -> list[AnyContent]:
    """What the log says of failures, when there are so many of them."""
    log, bell = backend.stores.log, Bell(backend.directory.bell("log"))
    for _ in range(10 * PATIENCE_SECONDS):
        found = [content_of(entry) for entry in log.read(0, log.tail()) if entry.kind == "fail"]
        if len(found) >= count:
            break
        bell.wait(0.1)
    bell.close()
    return found


def test_a_failure_is_told_at_once_and_logged_once(client, backend: Backend, engine: Engine) -> None:
    query = registered(client)
    engine.count(query, 1000, 2000)
    engine.fail(query, 3000, "it is too much")
    told = client.get("/queries/q").json
    assert (told["status"], told["failure"]) == (
        "failed",
        {
            "at": 3000,
            "reason": "it is too much",
            "advice": f'To change it, PUT the changed text to {BASE}/queries/q with If-Match: "{query}" (or the same text, '
            "if the cause is gone).",
        },
    )
    first = QueryFailed(query, 3000, "it is too much", 2000)
    assert logged(backend, 1) == [first]
    assert client.get("/queries/q").json == told
    assert client.get("/health").status_code == 200
    client.delete("/queries/q")
    again = client.put("/queries/q", data=TEXT).json
    assert again["status"] == "running"
    engine.fail(second := again["id"], 500, "again")
    assert logged(backend, 2) == [first, QueryFailed(second, 500, "again")]


def test_what_has_failed_while_nobody_was_there_is_logged_at_the_start(settings: Settings) -> None:
    """As in a directory that a version before has left, which did not log it."""
    with Backend(settings) as backend:
        query = registered(create_app(backend).test_client())
    directory = DataDirectory(settings.data)
    database = Database(directory.database)
    AnswerStore(database, directory.bell("answers")).write((), [(query, 3000, "it is too much")])
    database.close()
    for _ in range(2):
        with Backend(settings) as backend:
            assert logged(backend, 1) == [QueryFailed(query, 3000, "it is too much")]
            client = create_app(backend).test_client()
            assert client.get("/queries/q").json["failure"]["reason"] == "it is too much"


@pytest.mark.parametrize("path", ["why?triple=%3Curn:a%3E%20%3Curn:p%3E%201", "missing"])
def test_a_query_that_failed_before_its_first_answer_has_nothing_to_explain(client, engine, path: str) -> None:
    query = registered(client)
    assert client.get(f"/queries/q/{path}").json["code"] == "no-answer"
    engine.fail(query, 1000, "it needs too much")
    told = client.get(f"/queries/q/{path}")
    assert (told.status_code, told.json["code"], told.json["at"]) == (409, "query-failed", 1000)
    assert told.json["detail"] == "The query q failed at 1000, before it had an answer: It needs too much."
