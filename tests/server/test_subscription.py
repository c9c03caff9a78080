"""Subscriptions: what follows a cursor, whatever the store has forgotten meanwhile.

    told so far     ●──●──●──●──●──●
    kept                  ●──●──●──●
    seen            ●──●               then `gap`, and on from the third
"""

from __future__ import annotations

import queue
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Answer
from csparql_spark.server import instants
from csparql_spark.server.fanout import PAGE_PARTS, Fanout, Full
from csparql_spark.server.problems import Problem
from csparql_spark.server.subscription import BEGINNING, HEARTBEAT, Start, Subscription, start_after
from csparql_spark.store import AnswerStore, Database, DataDirectory, LogWriter, Registry, StoredAnswer
from csparql_spark.store.bell import Bell
from csparql_spark.store.log import Draft
from csparql_spark.store.registry import QueryRecord
from csparql_spark.store.retention import Retention
from tests.server.playing import TEXT, Event, number, parsed

LATEST = Start(None)
FIRST = Start(BEGINNING)


class House:
    """A store with one registered query, and a fan-out without its thread: what is told is seen when somebody looks."""

    def __init__(self, path: Path, places: int = 100) -> None:
        directory = DataDirectory(path).create()
        self.database = Database(directory.database).create()
        self.store = AnswerStore(self.database, directory.bell("answers"))
        self.registry = Registry(self.database)
        self.writer = LogWriter(self.database, directory.bell("log")).start()
        self.writer.append(QueryRecord.draft("q", text=TEXT, base=None))
        self.query = self.registry.query("q")
        self.fanout = Fanout(self.store, Bell(directory.bell("answers")), places=places)
        self.channels = []

    def tell(self, *told: int) -> None:
        self.store.write([StoredAnswer(self.query.id, instant, 0, 1, number(instant).to_bytes()) for instant in told])

    def keep(self, count: int) -> None:
        Retention(self.database).forget(keep_log=0, reach=0, keep_answers=count)

    def subscribe(self, start: Start, heartbeat: float = 0.0) -> Iterator[bytes]:
        channel = self.fanout.join(self.query)
        self.channels.append(channel)
        return iter(Subscription(channel, start, fanout=self.fanout, registry=self.registry, answers=self.store,
                                 heartbeat_seconds=heartbeat))

    def events(self, start: Start) -> list[Event]:
        """Everything up to the first sign of life in silence."""
        return events_of(self.subscribe(start))

    def close(self) -> None:
        self.writer.stop()
        self.database.close()


def events_of(stream: Iterator[bytes]) -> list[Event]:
    return [event for event in parsed(b"".join(up_to_silence(stream)).decode()) if isinstance(event, Event)]


def up_to_silence(stream: Iterator[bytes]) -> Iterator[bytes]:
    for piece in stream:
        if piece == HEARTBEAT:
            return
        yield piece


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "data")
    yield house
    house.close()


@pytest.fixture
def spelled(monkeypatch) -> list[int]:
    """The instants whose answers were spelled."""
    seen, event = [], instants.event

    def spell(name: str, parts: list[StoredAnswer]) -> bytes:
        seen.append(parts[0].instant)
        return event(name, parts)

    monkeypatch.setattr(instants, "event", spell)
    return seen


def answer(house: House, instant: int) -> Event:
    results = {"head": {"vars": ["n"]}, "results": {"bindings": [{"n": {"type": "literal", "value": str(instant)}}]}}
    return Event("answer", {"query": "q", "at": instant, "results": results}, f"{house.query.id}-{instant}")


def test_the_bytes(house: House) -> None:
    house.tell(1000)
    assert list(up_to_silence(house.subscribe(LATEST))) == [
        b"retry: 1000\n\n",
        b"id: 1-1000\nevent: answer\n"
        b'data: {"query":"q","at":1000,"results":{"head":{"vars":["n"]},'
        b'"results":{"bindings":[{"n":{"type":"literal","value":"1000"}}]}}}\n\n']


@pytest.mark.parametrize("said, expected", [
    (Answer.boolean(True), {"query": "q", "at": 1000, "results": {"head": {}, "boolean": True}}),
    (Answer.graph('<urn:a> <urn:p> "x\\ny" .\n'), {"query": "q", "at": 1000, "triples": '<urn:a> <urn:p> "x\\ny" .\n'}),
    (Answer.from_rows(("n",), [{"n": '"a\\nb\\r\\u2028"'}]),
     {"query": "q", "at": 1000, "results": {
         "head": {"vars": ["n"]}, "results": {"bindings": [{"n": {"type": "literal", "value": "a\nb\r\u2028"}}]}}}),
])
def test_every_kind_of_answer_is_one_line(house: House, said: Answer, expected: dict[str, object]) -> None:
    house.store.write([StoredAnswer(house.query.id, 1000, 0, 1, said.to_bytes())])
    assert house.events(LATEST) == [Event("answer", expected, "1-1000")]


def test_where_it_begins(house: House) -> None:
    assert house.events(LATEST) == house.events(FIRST) == []
    house.tell(1000, 2000, 3000)
    told = {instant: answer(house, instant) for instant in (1000, 2000, 3000)}
    assert house.events(LATEST) == [told[3000]]
    assert house.events(FIRST) == [told[1000], told[2000], told[3000]]
    assert house.events(Start(1500)) == [told[2000], told[3000]]
    assert house.events(Start(2000)) == [told[3000]]
    assert house.events(Start(2000, seen=True)) == [told[3000]]
    assert house.events(Start(3000, seen=True)) == []


def test_event_ids(house: House) -> None:
    assert start_after("1-2000", house.query) == Start(2000, seen=True)
    assert start_after("1--2000", house.query) == Start(-2000, seen=True)
    assert start_after("7-2000", house.query) == FIRST, "an earlier query of this name"
    for wrong in ("", "2000", "1-", "-1", "1-2000x", "1-2000-0", "x-1", "1-" + "9" * 30):
        with pytest.raises(Problem, match="is no id of an event"):
            start_after(wrong, house.query)


def test_instants_longer_than_a_page(house: House) -> None:
    """An instant is told whole, also when its parts do not fit into what is read at a time."""
    parts = PAGE_PARTS + 3
    house.tell(1000)
    house.store.write([StoredAnswer(house.query.id, 2000, part, 1, number(part).to_bytes()) for part in range(parts)])
    house.tell(3000)
    told = [(event.data["at"], event.data["results"]["results"]["bindings"]) for event in house.events(FIRST)]
    assert [(instant, [row["n"]["value"] for row in rows]) for instant, rows in told] == [
        (1000, ["1000"]), (2000, [str(part) for part in range(parts)]), (3000, ["3000"])]


def test_many_instants(house: House) -> None:
    moments = range(1000, 1000 * (5 * PAGE_PARTS), 1000)
    house.tell(*moments)
    assert house.events(FIRST) == [answer(house, instant) for instant in moments]


def test_a_gap_is_told_before_what_comes_after_it(house: House) -> None:
    house.tell(*range(1000, 9000, 1000))
    house.keep(3)
    gap = Event("gap", {"query": "q", "after": 2000, "next": 6000})
    kept = [answer(house, instant) for instant in (6000, 7000, 8000)]
    assert house.events(Start(2000, seen=True)) == [gap, *kept]
    assert house.events(Start(BEGINNING)) == kept, "who has seen nothing misses nothing"
    assert house.events(Start(2000)) == kept
    assert house.events(Start(5000, seen=True)) == kept, "5000 itself is forgotten, and nothing behind it"
    assert house.events(Start(6000, seen=True)) == kept[1:]


def test_instants_that_never_were_are_no_gap(house: House) -> None:
    house.tell(1000, 5000)
    assert house.events(Start(1000, seen=True)) == [answer(house, 5000)]


def test_a_reader_who_is_too_slow_is_told_so(house: House) -> None:
    house.tell(1000)
    stream = house.subscribe(FIRST)
    assert [next(stream), next(stream)][0] == b"retry: 1000\n\n"
    house.tell(*range(2000, 9000, 1000))
    house.keep(2)
    (gap, first) = (next(parsed(next(stream).decode())) for _ in range(2))
    assert gap == Event("gap", {"query": "q", "after": 1000, "next": 7000})
    assert first == answer(house, 7000)


def test_a_failure_is_told_once_and_the_connection_stays(house: House) -> None:
    house.tell(1000)
    stream = house.subscribe(FIRST)
    next(stream)
    house.store.write([StoredAnswer(house.query.id, 2000, 0, 1, number(2000).to_bytes())],
                      [(house.query.id, 3000, "too many rows")])
    told = b"".join(next(stream) for _ in range(3)).decode()
    assert list(parsed(told)) == [answer(house, 1000), answer(house, 2000),
                                  Event("problem", {"query": "q", "at": 3000, "reason": "too many rows"})]
    assert [next(stream), next(stream)] == [HEARTBEAT, HEARTBEAT]


def test_a_deletion_ends_it_after_the_last_answer(house: House) -> None:
    house.tell(1000)
    stream = house.subscribe(FIRST)
    next(stream)
    house.tell(2000)
    house.fanout.end(house.query.id)
    assert list(parsed(b"".join(stream).decode())) == [
        answer(house, 1000), answer(house, 2000), Event("end", {"query": "q", "reason": "the query is deleted"})]


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "another query of this name"])
def test_a_deletion_that_nobody_told_is_noticed_in_silence(house: House, again: bool) -> None:
    stream = house.subscribe(FIRST)
    assert [next(stream), next(stream)] == [b"retry: 1000\n\n", HEARTBEAT]
    house.writer.append(Draft("unregister", subject="q"))
    if again:
        house.writer.append(QueryRecord.draft("q", text=TEXT, base=None))
    rest = [piece for piece in stream if piece != HEARTBEAT]
    assert list(parsed(b"".join(rest).decode())) == [Event("end", {"query": "q", "reason": "the query is deleted"})]


def test_a_deletion_between_finding_and_joining(house: House) -> None:
    house.writer.append(Draft("unregister", subject="q"))
    assert house.events(LATEST) == [Event("end", {"query": "q", "reason": "the query is deleted"})]


def test_stopping_sends_everybody_home(house: House) -> None:
    stream = house.subscribe(FIRST, heartbeat=60.0)
    assert next(stream) == b"retry: 1000\n\n"
    house.fanout.stop()
    assert list(stream) == []


def test_places_are_counted(tmp_path: Path) -> None:
    house = House(tmp_path / "data", places=2)
    first, second = house.fanout.join(house.query), house.fanout.join(house.query)
    assert first is second
    with pytest.raises(Full):
        house.fanout.join(house.query)
    subscription = Subscription(first, LATEST, fanout=house.fanout, registry=house.registry, answers=house.store,
                                heartbeat_seconds=0.0)
    subscription.close()
    subscription.close()
    assert house.fanout.subscribers == 1, "closing, also before it has begun and twice, gives back one place"
    house.fanout.join(house.query)
    house.close()


def test_each_answer_is_spelled_once_for_all(house: House, spelled: list[int]) -> None:
    house.tell(1000, 2000, 3000)
    streams = [house.subscribe(start) for start in (FIRST, FIRST, Start(1000), Start(2000, seen=True), FIRST)]
    told = [[event.data["at"] for event in events_of(stream)] for stream in streams]
    assert told == [[1000, 2000, 3000], [1000, 2000, 3000], [2000, 3000], [3000], [1000, 2000, 3000]]
    house.tell(4000)
    for stream in streams:
        assert events_of(stream) == [answer(house, 4000)]
    assert spelled == [1000, 2000, 3000, 4000]


def test_nobody_spells_what_another_is_spelling(house: House, spelled: list[int]) -> None:
    house.tell(1000)
    channel, told = house.fanout.join(house.query), []
    lock, all_have_looked = channel.spelling, threading.Barrier(4)

    class Turn:
        """Nobody gets a turn before everybody wants one."""

        def __enter__(self) -> None:
            all_have_looked.wait()
            lock.acquire()

        def __exit__(self, *_: object) -> None:
            lock.release()

    channel.spelling = Turn()
    threads = [threading.Thread(target=lambda: told.extend(house.fanout.following(channel, BEGINNING)))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.instant for answer in told] == [1000] * 4
    assert spelled == [1000]


def test_what_is_told_while_a_subscriber_looks_is_not_missed(house: House, monkeypatch) -> None:
    """It looks, finds nothing, and before it sleeps there is something."""
    following, channel = house.fanout.following, house.fanout.join(house.query)

    def following_late(*arguments):
        found = following(*arguments)
        if not house.store.latest(house.query.id):
            house.tell(1000)
            channel.wake()
        return found

    monkeypatch.setattr(house.fanout, "following", following_late)
    stream = house.subscribe(FIRST)
    assert next(stream) == b"retry: 1000\n\n"
    assert list(parsed(next(stream).decode())) == [answer(house, 1000)]


def test_the_fanout_wakes_for_answers_and_once_for_a_failure(house: House) -> None:
    channel = house.fanout.join(house.query)
    house.fanout.start()
    house.fanout.stop()                 # from here on it looks when we say
    versions = []
    for happening in (lambda: None, lambda: house.tell(1000), lambda: None,
                      lambda: house.store.write([StoredAnswer(99, 1000, 0, 1, b"")]),       # of another query
                      lambda: house.store.write([], [(house.query.id, 2000, "too many rows")]), lambda: None,
                      lambda: house.tell(3000)):
        happening()
        house.fanout._look()
        versions.append(channel.version)
    assert [version - versions[0] for version in versions] == [0, 1, 1, 1, 2, 2, 3]


STEPS = st.lists(st.one_of(
    st.tuples(st.just("tell"), st.integers(1, 4)),          # so many more instants
    st.tuples(st.just("keep"), st.integers(1, 6)),          # of which so many are kept
    st.tuples(st.just("read"), st.integers(1, 5)),          # so many pieces of the stream
    st.tuples(st.just("come back"), st.just(0)),            # with the last id
), max_size=30)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_whatever_happens_nothing_is_repeated_and_what_is_missed_is_told(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as path:
        house = House(Path(path))
        told, seen, stream = 0, [], house.subscribe(FIRST)
        for what, count in [*steps, ("tell", 1), ("read", 100)]:
            if what == "tell":
                house.tell(*range(told + 1000, told + 1000 * count + 1, 1000))
                told += 1000 * count
            elif what == "keep":
                house.keep(count)
            elif what == "come back":
                ids = [event.id for event in seen if event.id]
                stream = house.subscribe(start_after(ids[-1], house.query) if ids else FIRST)
            else:
                for _ in range(count):
                    seen += [event for event in parsed(next(stream).decode()) if isinstance(event, Event)]
        house.close()
    answers = [event.data["at"] for event in seen if event.kind == "answer"]
    assert answers == sorted(set(answers)), "an answer came twice, or too late"
    assert answers[-1] == told
    announced = {(event.data["after"], event.data["next"]) for event in seen if event.kind == "gap"}
    missed = {(a, b) for a, b in zip(answers, answers[1:]) if b > a + 1000}
    assert missed == announced, "what is missing is not what was said to be"


def test_who_wants_to_hear_of_everything_is_told_which_queries_have_answers(house: House) -> None:
    heard = queue.SimpleQueue()
    fanout = Fanout(house.store, Bell(house.store._bell.path), places=1, heard=heard.put).start()
    for instant in (1000, 2000):
        house.tell(instant)
        assert heard.get(timeout=20) == {house.query.id}
    fanout.stop()
    assert heard.empty()
