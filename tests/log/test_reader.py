from __future__ import annotations

import pytest

from csparql_spark.log import Entry
from csparql_spark.log.entries import KINDS, REGISTRY_KINDS
from tests.store.opened import Opened


def test_an_empty_log(store: Opened) -> None:
    assert store.log.tail() == 0
    assert store.entries() == store.log.outline(0, 10) == list(store.log.registrations(0, 10)) == []
    assert store.log.last("urn:s", "chunk", 99) is None
    assert store.log.totals("urn:s") == (0, 0)


def test_reading(store: Opened) -> None:
    entries = [
        store.append(kind, "urn:s", payload=f"{kind}".encode(), rows=i, at=i)
        for i, kind in enumerate([kind for kind in KINDS if kind != "damaged"] * 2)
    ]
    tail = len(entries)
    assert store.log.tail() == tail
    assert [entry.seq for entry in entries] == list(range(1, tail + 1))
    assert list(store.log.read(0, tail)) == entries
    assert list(store.log.read(3, 7)) == entries[3:7]
    assert list(store.log.read(tail - 2, 99)) == entries[-2:]
    assert list(store.log.read(7, 7)) == []


def bare(entry: Entry) -> Entry:
    return Entry(entry.seq, entry.kind, entry.at, entry.subject, entry.rows, entry.first, entry.last, entry.unstamped)


def test_an_outline_has_no_payloads(store: Opened) -> None:
    entries = [
        store.append("chunk", "urn:s", payload=b"x" * i, rows=i, first=i, last=2 * i, unstamped=i) for i in range(5)
    ]
    assert store.log.outline(0, 99) == [bare(entry) for entry in entries]
    assert store.log.outline(1, 2) == [bare(entry) for entry in entries[1:3]]


def test_registrations_are_what_makes_the_registry(store: Opened) -> None:
    entries = [store.append(kind, "urn:s", payload=b"x", at=0) for kind in (*KINDS, *reversed(KINDS))]
    made = [bare(entry) if entry.kind == "background" else entry for entry in entries if entry.kind in REGISTRY_KINDS]
    assert list(store.log.registrations(0, 99)) == made
    assert list(store.log.registrations(made[2].seq, made[6].seq)) == made[3:7]


def test_the_newest_entry_of_a_subject(store: Opened) -> None:
    old = store.append("background", "urn:g", payload=b"old")
    newest = store.append("background", "urn:g", payload=b"new")
    store.append("background", "urn:h", payload=b"other")
    store.append("chunk", "urn:g", payload=b"not background")
    assert store.log.last("urn:g", "background", store.log.tail()) == newest
    assert store.log.last("urn:g", "background", newest.seq) == newest
    assert store.log.last("urn:g", "background", old.seq) == old
    assert store.log.last("urn:g", "background", old.seq - 1) is None


def test_totals(store: Opened) -> None:
    for rows in (3, 0, 4):
        store.append("chunk", "urn:s", rows=rows)
    store.append("chunk", "urn:t", rows=100)
    store.append("background", "urn:s", rows=100)
    assert store.log.totals("urn:s") == (3, 7)


@pytest.mark.parametrize("kind", ["background", "rules", "register"])
def test_what_is_in_the_registry_is_found_by_its_index(store: Opened, kind: str) -> None:
    connection, asked = store.log._database.connection, []
    connection.set_trace_callback(asked.append)
    store.log.last("urn:g", kind, 99)
    connection.set_trace_callback(None)
    ((*_, plan),) = connection.execute(f"EXPLAIN QUERY PLAN {asked[0]}").fetchall()
    assert plan == "SEARCH log USING COVERING INDEX log_registry (subject=? AND kind=? AND seq<?)"
