"""What a registration tells the engine of how its query has failed before, as the log and the database say it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark.log.contents import QueryFailed, draft_of
from csparql_spark.spark.source import LogReader, Opened, Span
from csparql_spark.store import StoredAnswer
from tests.spark.pushed import Pushed


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Pushed]:
    opened = Pushed(tmp_path / "data")
    yield opened
    opened.close()


@pytest.fixture
def reader(store: Pushed, monkeypatch: pytest.MonkeyPatch) -> Iterator[LogReader]:
    monkeypatch.setattr(Opened, "_known", {})
    reader = LogReader(str(store.directory.path))
    yield reader
    reader.stop()


def test_registrations_say_how_the_log_says_that_they_fail(store: Pushed, reader: LogReader) -> None:
    """Also where the database does not say it, or not what was told by then."""
    store.stream("urn:a")
    names = "told", "half told", "not told", "another"
    queries = [store.query(name) for name in names]
    end = queries[-1]
    store.answers.write(
        [StoredAnswer(query, 1000, 0, 1, b"x") for query in queries[:2]], [(queries[0], 3000, "the first said")]
    )
    for name, query, answered in zip(names, (*queries[:3], 99), (1000, 2000, None, None), strict=True):
        store.append("fail", name, payload=draft_of(QueryFailed(query, 3000, "too much", answered), name).payload)
    batches = reader.read(Span(0, end))
    said = [json.loads(row["payload"]) for batch in batches for row in batch.to_pylist()]
    assert [tuple(told.get(field) for field in ("answered", "failed", "failure")) for told in said] == [
        (1000, "too much", {"instant": 3000, "reason": "too much", "answered": 1000}),
        (1000, None, {"instant": 3000, "reason": "too much", "answered": 2000}),
        (None, None, {"instant": 3000, "reason": "too much", "answered": None}),
        (None, None, None),
    ]


def test_each_version_fails_as_the_log_says_of_it(store: Pushed, reader: LogReader) -> None:
    """Also where that of an earlier one was written last, since it was noticed late."""
    store.stream("urn:a")
    made = [store.query("q") for _ in range(3)]  # each in the place of the one before
    for query in (made[2], made[0]):
        store.append("fail", "q", payload=draft_of(QueryFailed(query, 3000, f"that of {query}"), "q").payload)
    rows = [row for batch in reader.read(Span(0, made[-1])) for row in batch.to_pylist()]
    said = {row["seq"]: json.loads(row["payload"]) for row in rows if row["kind"] == "register"}
    assert [said[query].get("failure", {}).get("reason") for query in made] == [
        f"that of {made[0]}",
        None,
        f"that of {made[2]}",
    ]
    assert [said[query].get("ends") for query in made] == [None, *made[:2]]
