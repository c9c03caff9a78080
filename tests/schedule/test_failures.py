"""Failures: each goes into the log once, with what the query had told by then, whatever is restarted meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.log.contents import AnyContent, QueryFailed, content_of
from csparql_spark.schedule.failures import Failures
from csparql_spark.store import QueryRecord, StreamRecord
from tests.examples import examples
from tests.schedule.test_relay import relay_of, tell, wait_until
from tests.store.opened import Opened


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Opened]:
    opened = Opened(tmp_path / "data")
    yield opened
    opened.close()


def registered(store: Opened, name: str) -> int:
    return store.writer.append(QueryRecord.draft(name, text="", base=None)).seq


def fail(store: Opened, query: int, instant: int, reason: str = "why") -> None:
    store.answers.write((), [(query, instant, reason)])


def look(store: Opened) -> None:
    """As somebody does who has just started."""
    Failures(store.registry, store.answers, store.writer).look()


def logged(store: Opened) -> list[tuple[str | None, AnyContent]]:
    return [(entry.subject, content_of(entry)) for entry in store.entries() if entry.kind == "fail"]


def test_a_failure_becomes_an_entry(store: Opened) -> None:
    first, second, third = (registered(store, name) for name in "abc")
    tell(store, first, 1000, 2000)
    fail(store, first, 3000, "too much")
    look(store)
    assert logged(store) == [("a", QueryFailed(first, 3000, "too much", 2000))]
    fail(store, third, 500)
    look(store)
    look(store)
    assert logged(store)[1:] == [("c", QueryFailed(third, 500, "why", None))]
    assert second not in {failed.id for _, failed in logged(store)}


def test_what_failed_says_no_more(store: Opened) -> None:
    """A batch that is run again may come to something else; what was told stands, and so does that it has failed."""
    query = registered(store, "a")
    tell(store, query, 1000)
    fail(store, query, 2000)
    tell(store, query, 1000, 2000, 3000)
    assert [answer.instant for answer in store.answers.after(query, 0, 10)] == [1000]
    fail(store, query, 4000, "another")
    look(store)
    assert logged(store) == [("a", QueryFailed(query, 2000, "why", 1000))]


def test_who_is_gone_does_not_fail_and_neither_does_the_next_of_the_name(store: Opened) -> None:
    first = registered(store, "a")
    fail(store, first, 1000)
    store.append("unregister", "a")
    second = registered(store, "a")
    look(store)
    assert logged(store) == []
    fail(store, second, 2000)
    look(store)
    assert logged(store) == [("a", QueryFailed(second, 2000, "why"))]


def test_it_is_logged_when_the_relay_is_told_after_all_answers(store: Opened) -> None:
    store.writer.append(StreamRecord.draft("urn:d", name="d", clock="derived", delay=0, producer="d"))
    query = registered(store, "d")
    tell(store, query, 1000, 2000)
    relay = relay_of(store).start()
    wait_until(store, lambda: store.writer.relayed_to(query) == 2000)
    tell(store, query, 3000)
    fail(store, query, 4000)
    relay.answered({query})
    wait_until(store, lambda: bool(logged(store)))
    assert [entry.kind for entry in store.entries()][-4:] == ["chunk", "chunk", "chunk", "fail"]
    other = registered(store, "e")
    fail(store, other, 5000)
    relay.answered(())
    wait_until(store, lambda: len(logged(store)) == 2)
    relay.stop()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["register", "unregister", "tell", "fail", "fail", "look", "restart"]), st.sampled_from("ab")
    ),
    max_size=20,
)


@given(STEPS)
@settings(max_examples=examples(50), deadline=None)
def test_each_failure_is_in_the_log_once(tmp_path_factory: pytest.TempPathFactory, made: list[tuple[str, str]]) -> None:
    store = Opened(tmp_path_factory.mktemp("store"))
    failures = Failures(store.registry, store.answers, store.writer)
    live: dict[str, int] = {}
    told: dict[int, list[int]] = {}
    failed: dict[int, QueryFailed] = {}
    wanted: dict[int, QueryFailed] = {}
    for instant, (step, name) in enumerate(made):
        query = live.get(name)
        match step:
            case "register" if query is None:
                live[name] = registered(store, name)
            case "unregister" if query is not None:
                store.append("unregister", name)
                del live[name]
            case "tell" if query is not None:
                tell(store, query, instant)
                if query not in failed:
                    told.setdefault(query, []).append(instant)
            case "fail" if query is not None:
                fail(store, query, instant)
                failed.setdefault(query, QueryFailed(query, instant, "why", max(told.get(query, []), default=None)))
            case "look":
                failures.look()
                wanted |= {id: one for id, one in failed.items() if id in live.values()}
            case "restart":
                store.reopen()
                failures = Failures(store.registry, store.answers, store.writer)
    failures.look()
    wanted |= {id: one for id, one in failed.items() if id in live.values()}
    said = [content for _, content in logged(store)]
    assert sorted(said, key=lambda one: one.id) == [wanted[id] for id in sorted(wanted)]
    for query, instants in told.items():
        assert [answer.instant for answer in store.answers.after(query, -1, 99)] == instants
    store.close()
