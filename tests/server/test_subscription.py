"""Subscriptions: what follows a cursor, whatever the store has forgotten meanwhile.

For example:

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
from hypothesis import example, given, settings
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Result
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.disk.bell import Bell
from csparql_spark.log import Draft, LogWriter
from csparql_spark.log.contents import QueryRegistered, draft_of
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.subscribers import instants
from csparql_spark.server.subscribers.fanout import PAGE_PLACES, Fanout, TooManySubscribers
from csparql_spark.server.subscribers.subscription import (
    FIRST,
    HEARTBEAT,
    LATEST,
    Subscription,
    SubscriptionStart,
    Wishes,
    after_instant,
    start_after,
)
from csparql_spark.server.subscribers.voices import AskedChanges
from csparql_spark.store import AnswerStore, Registry, StoredAnswer
from csparql_spark.store.registry import QueryRecord
from csparql_spark.store.retention import Retention
from csparql_spark.store.versions import MOST
from tests.examples import examples
from tests.server.playing import BASE, TEXT, Event, number, parsed


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
        self.fanout = Fanout(self.database, self.store, Bell(directory.bell("answers")), places=places)

    def tell(self, *told: int) -> None:
        self.store.write([StoredAnswer(self.query.id, instant, 0, 1, number(instant).to_bytes()) for instant in told])

    def keep(self, count: int) -> None:
        Retention(self.database).forget(keep_log=0, reach=0, keep_answers=count)

    def after(self, instant: int) -> SubscriptionStart:
        """Where a client begins that has seen an instant last."""
        return start_after(f"{self.query.id}-{instant}", self.fanout.order)

    def subscription(self, start: SubscriptionStart, heartbeat: float = 0.0) -> Subscription:
        return Subscription(self.fanout, ["q"], start, heartbeat_seconds=heartbeat, slow_instants=20)

    def subscribe(self, start: SubscriptionStart, heartbeat: float = 0.0) -> Iterator[bytes]:
        return iter(self.subscription(start, heartbeat))

    def events(self, start: SubscriptionStart) -> list[Event]:
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

    def spell(id: str, name: str, parts: list[StoredAnswer], windows: list[dict[str, object]]) -> bytes:
        seen.append(parts[0].instant)
        return event(id, name, parts, windows)

    monkeypatch.setattr(instants, "event", spell)
    return seen


def windows(instant: int) -> list[dict[str, object]]:
    return [{"stream": f"{BASE}/streams/s", "opens": instant - 2000, "closes": instant}]


def answer(house: House, instant: int) -> Event:
    """Of houses in which the answer at 1000 was the first, and each second had one."""
    results = {"head": {"vars": ["n"]}, "results": {"bindings": [{"n": {"type": "literal", "value": str(instant)}}]}}
    return Event(
        "answer",
        {"query": "q", "version": house.query.id, "at": instant, "windows": windows(instant), "results": results},
        str(instant // 1000),
    )


def gap(after: int | None, next: int, id: int) -> Event:
    told = {"query": "q", "after": after, "next": next, "reason": "forgotten", "setting": "keep-answers"}
    return Event("gap", told, str(id))


def test_the_bytes(house: House) -> None:
    house.tell(1000)
    assert list(up_to_silence(house.subscribe(LATEST))) == [
        b"retry: 1000\n\n",
        b"id: 1\nevent: answer\n"
        b'data: {"query":"q","version":1,"at":1000,'
        b'"windows":[{"stream":"http://csparql.test/streams/s","opens":-1000,"closes":1000}],'
        b'"results":{"head":{"vars":["n"]},"results":{"bindings":[{"n":{"type":"literal","value":"1000"}}]}}}\n\n',
    ]


def test_before_the_first_answer_there_is_an_id_to_come_back_with(house: House) -> None:
    assert list(up_to_silence(house.subscribe(LATEST))) == [b"retry: 1000\n\n", b"id: 0\n\n"]
    house.tell(1000, 2000)
    assert house.events(start_after("0", house.fanout.order)) == [answer(house, 1000), answer(house, 2000)]


@pytest.mark.parametrize(
    "said, expected",
    [
        (Result.boolean(True), {"results": {"head": {}, "boolean": True}}),
        (Result.graph('<urn:a> <urn:p> "x\\ny" .\n'), {"triples": '<urn:a> <urn:p> "x\\ny" .\n'}),
        (
            Result.from_rows(("n",), [{"n": '"a\\nb\\r\\u2028"'}]),
            {
                "results": {
                    "head": {"vars": ["n"]},
                    "results": {"bindings": [{"n": {"type": "literal", "value": "a\nb\r\u2028"}}]},
                }
            },
        ),
    ],
)
def test_every_kind_of_answer_is_one_line(house: House, said: Result, expected: dict[str, object]) -> None:
    house.store.write([StoredAnswer(house.query.id, 1000, 0, 1, said.to_bytes())])
    assert house.events(LATEST) == [
        Event("answer", {"query": "q", "version": 1, "at": 1000, "windows": windows(1000), **expected}, "1")
    ]


def test_where_it_begins(house: House) -> None:
    assert house.events(LATEST) == [Event("", {}, "0")]
    assert house.events(FIRST) == []
    house.tell(1000, 2000, 3000)
    told = {instant: answer(house, instant) for instant in (1000, 2000, 3000)}
    order, query = house.fanout.order, house.query.id
    assert house.events(LATEST) == [told[3000]]
    assert house.events(FIRST) == [told[1000], told[2000], told[3000]]
    assert house.events(after_instant(query, 500, order)) == [told[1000], told[2000], told[3000]]
    assert house.events(after_instant(query, 1500, order)) == [told[2000], told[3000]]
    assert house.events(after_instant(query, 2000, order)) == [told[3000]]
    assert house.events(house.after(2000)) == [told[3000]]
    assert house.events(house.after(3000)) == []
    assert house.events(start_after("2", order)) == [told[3000]]


def test_event_ids(house: House) -> None:
    house.tell(1000, 2000)
    order, query = house.fanout.order, house.query.id
    assert start_after("2", order) == SubscriptionStart(2, returning=True)
    assert start_after("0", order) == SubscriptionStart(0, returning=True)
    assert start_after(f"{query}-2000", order) == SubscriptionStart(2, True, {query: 2000})
    assert start_after("7-2000", order) == FIRST, "an earlier query of this name"
    assert start_after("3", order) == SubscriptionStart(0, restored=True), "of another store"
    for wrong in ("", "-1", "1-", "1-2000x", "1-2000-0", "x-1", "1-" + "9" * 30, "9" * 30, "1.5"):
        with pytest.raises(Problem, match="is no id of an event"):
            start_after(wrong, order)


def test_an_id_outlives_the_newest_answer(house: House) -> None:
    """The newest answer was that of a query that is deleted and forgotten: the id is of this store all the same."""
    house.tell(1000)
    house.store.write([StoredAnswer(99, 1000, 0, 1, b"")])
    house.keep(10)
    assert house.fanout.order.head() == 2
    house.tell(2000)
    assert [event.data["at"] for event in house.events(start_after("2", house.fanout.order))] == [2000]


def test_instants_longer_than_a_page(house: House) -> None:
    """An instant is told whole, also when its parts do not fit into what is read at a time."""
    parts = PAGE_PLACES + 3
    house.tell(1000)
    house.store.write([StoredAnswer(house.query.id, 2000, part, 1, number(part).to_bytes()) for part in range(parts)])
    house.tell(3000)
    told = [(event.data["at"], event.data["results"]["results"]["bindings"]) for event in house.events(FIRST)]
    assert [(instant, [row["n"]["value"] for row in rows]) for instant, rows in told] == [
        (1000, ["1000"]),
        (2000, [str(part) for part in range(parts)]),
        (3000, ["3000"]),
    ]


def test_many_instants(house: House) -> None:
    moments = range(1000, 1000 * (5 * PAGE_PLACES), 1000)
    house.tell(*moments)
    assert house.events(FIRST) == [answer(house, instant) for instant in moments]


def test_a_gap_is_told_before_what_comes_after_it(house: House) -> None:
    house.tell(*range(1000, 9000, 1000))
    house.keep(3)
    kept = [answer(house, instant) for instant in (6000, 7000, 8000)]
    assert house.events(start_after("2", house.fanout.order)) == [gap(None, 6000, 5), *kept]
    assert house.events(house.after(2000)) == [gap(2000, 6000, 5), *kept]
    assert house.events(FIRST) == [gap(None, 6000, 5), *kept], "it does not begin where it was asked to"
    assert house.events(after_instant(house.query.id, 2000, house.fanout.order)) == [gap(2000, 6000, 5), *kept]
    assert house.events(after_instant(house.query.id, 5000, house.fanout.order)) == kept
    assert house.events(LATEST) == kept[2:]
    assert house.events(house.after(5000)) == kept, "5000 itself is forgotten, and nothing behind it"
    assert house.events(start_after("5", house.fanout.order)) == kept
    assert house.events(house.after(6000)) == kept[1:]


def test_instants_that_never_were_are_no_gap(house: House) -> None:
    house.tell(1000, 5000)
    assert [event.data["at"] for event in house.events(house.after(1000))] == [5000]


def test_a_reader_for_whom_it_is_too_late_is_told_so(house: House) -> None:
    house.tell(1000)
    stream = house.subscribe(FIRST)
    assert [next(stream), next(stream)][0] == b"retry: 1000\n\n"
    house.tell(*range(2000, 9000, 1000))
    house.keep(2)
    told = [next(parsed(next(stream).decode())) for _ in range(2)]
    assert told == [gap(1000, 7000, 6), answer(house, 7000)]


def test_a_reader_who_is_too_slow_goes_on_with_the_newest(house: House) -> None:
    house.tell(1000)
    subscription = house.subscription(FIRST)
    for _ in range(2):
        house.fanout.look()
        subscription.more()
    house.tell(*range(2000, 30_000, 1000))
    house.fanout.look()
    (skipped,) = subscription.more(slow=True)
    assert list(parsed(skipped.decode())) == [
        Event("gap", {"query": "q", "after": 1000, "next": 29000, "reason": "slow", "first": 2000, "last": 28000}, "28")
    ]
    assert list(parsed(b"".join(subscription.more(slow=True)).decode())) == [answer(house, 29_000)]
    house.tell(*range(30_000, 49_000, 1000))
    house.fanout.look()
    told = list(parsed(b"".join([*subscription.more(slow=True), *subscription.more()]).decode()))
    assert told == [answer(house, instant) for instant in range(30_000, 49_000, 1000)], "20 instants are not too far"


def test_what_a_slow_reader_asked_for_is_not_left_out(house: House) -> None:
    """What was is read, not what is."""
    house.tell(*range(1000, 60_000, 1000))
    house.fanout.look()
    subscription, told = house.subscription(FIRST), []
    while pieces := subscription.more(slow=True):
        told += parsed(b"".join(pieces).decode())
    assert told == [answer(house, instant) for instant in range(1000, 60_000, 1000)]


def test_a_failure_is_told_once_and_the_connection_stays(house: House) -> None:
    house.tell(1000)
    stream = house.subscribe(FIRST)
    next(stream)
    house.store.write(
        [StoredAnswer(house.query.id, 2000, 0, 1, number(2000).to_bytes())], [(house.query.id, 3000, "too many rows")]
    )
    told = b"".join(next(stream) for _ in range(3)).decode()
    assert list(parsed(told)) == [
        answer(house, 1000),
        answer(house, 2000),
        Event("problem", {"query": "q", "at": 3000, "reason": "too many rows"}),
    ]
    assert [next(stream), next(stream)] == [HEARTBEAT, HEARTBEAT]


def test_a_deletion_ends_it_after_the_last_answer(house: House) -> None:
    house.tell(1000)
    stream = house.subscribe(FIRST)
    next(stream)
    house.tell(2000)
    house.writer.append(Draft("unregister", subject="q"))
    assert list(parsed(b"".join(stream).decode())) == [
        answer(house, 1000),
        answer(house, 2000),
        Event("end", {"query": "q", "reason": "the query is deleted"}),
    ]


@pytest.mark.parametrize("names", [["q"], None])
@pytest.mark.parametrize("changes", AskedChanges)
def test_who_listens_to_a_query_that_is_replaced_all_the_time_holds_no_more(
    house: House, names: list[str] | None, changes: AskedChanges
) -> None:
    subscription = Subscription(house.fanout, names, LATEST, wishes=Wishes(changes=changes))
    first = version = house.query.id
    told = 0
    for count in range(60):
        house.store.write([StoredAnswer(version, 1000, 0, 1, number(count).to_bytes())])
        house.fanout.look()
        told += sum(b'"at":1000' in piece for piece in subscription.more())
        content = QueryRegistered(TEXT, None, replaces=version, origin=first)
        version = house.writer.append(draft_of(content, "q")).seq
        Retention(house.database).advance(version)
        house.keep(3)
    assert told == 60
    held = [subscription._last, subscription._ids or (), getattr(subscription._voice, "_told", ())]
    assert max(map(len, held)) <= MOST + 5


def test_a_query_that_is_deleted_and_registered_again(house: House) -> None:
    stream = house.subscribe(FIRST)
    assert [next(stream), next(stream)] == [b"retry: 1000\n\n", HEARTBEAT]
    house.writer.append(Draft("unregister", subject="q"))
    new = house.writer.append(QueryRecord.draft("q", text=TEXT, base=None)).seq
    house.query = house.registry.query("q")
    house.tell(1000)
    assert events_of(stream) == [
        Event("end", {"query": "q", "reason": "the query is deleted"}),
        Event("registered", {"query": "q", "id": new, "version": new}),
        answer(house, 1000),
    ]


def test_a_deletion_between_finding_and_joining(house: House) -> None:
    house.writer.append(Draft("unregister", subject="q"))
    assert house.events(LATEST) == [Event("", {}, "0"), Event("end", {"query": "q", "reason": "the query is deleted"})]


def test_stopping_sends_everybody_home(house: House) -> None:
    stream = house.subscribe(FIRST, heartbeat=60.0)
    assert next(stream) == b"retry: 1000\n\n"
    house.fanout.stop()
    assert list(stream) == []


def test_places_are_counted(tmp_path: Path) -> None:
    house = House(tmp_path / "data", places=2)
    first, _ = house.subscription(LATEST), house.subscription(LATEST)
    with pytest.raises(TooManySubscribers):
        house.subscription(LATEST)
    first.close()
    first.close()
    assert house.fanout.subscribers == 1, "closing, also before it has begun and twice, gives back one place"
    house.subscription(LATEST)
    house.close()


def test_each_answer_is_spelled_once_for_all(house: House, spelled: list[int]) -> None:
    house.tell(1000, 2000, 3000)
    starts = (FIRST, FIRST, SubscriptionStart(1), SubscriptionStart(2, returning=True), FIRST)
    streams = [house.subscribe(start) for start in starts]
    told = [[event.data["at"] for event in events_of(stream)] for stream in streams]
    assert told == [[1000, 2000, 3000], [1000, 2000, 3000], [2000, 3000], [3000], [1000, 2000, 3000]]
    house.tell(4000)
    for stream in streams:
        assert events_of(stream) == [answer(house, 4000)]
    assert spelled == [1000, 2000, 3000, 4000]


def test_nobody_spells_what_another_is_spelling(
    house: House, spelled: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    house.tell(1000)
    news, told, lock = house.fanout.look(), [], threading.Lock()
    (place,) = house.fanout.following(0, news, [house.query.id])
    all_have_looked = threading.Barrier(4)

    class Turn:
        """Nobody gets a turn before everybody wants one."""

        def __enter__(self) -> None:
            all_have_looked.wait()
            lock.acquire()

        def __exit__(self, *_: object) -> None:
            lock.release()

    monkeypatch.setattr(house.fanout._cache, "lock", lambda key: Turn())
    threads = [threading.Thread(target=lambda: told.append(house.fanout.spelled(place, news))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [told[0]] * 4
    assert spelled == [1000]


def test_what_is_told_while_a_subscriber_looks_is_not_missed(house: House, monkeypatch) -> None:
    """It looks, finds nothing, and before it sleeps there is something."""
    following = house.fanout.following

    def following_late(*arguments):
        found = following(*arguments)
        if not house.store.latest(house.query.id):
            house.tell(1000)
            house.fanout.look()
        return found

    monkeypatch.setattr(house.fanout, "following", following_late)
    stream = house.subscribe(FIRST, heartbeat=60.0)
    assert next(stream) == b"retry: 1000\n\n"
    assert list(parsed(next(stream).decode())) == [answer(house, 1000)]


def test_the_fanout_tells_of_answers_and_once_of_what_has_changed(house: House) -> None:
    heard = []
    house.fanout.look()
    house.fanout.listener = lambda told, turned: heard.append((sorted(told), turned))
    for happening in (
        lambda: None,
        lambda: house.tell(1000),
        lambda: None,
        lambda: house.store.write([StoredAnswer(99, 1000, 0, 1, b"")]),
        lambda: house.store.write([], [(house.query.id, 2000, "too many rows")]),
        lambda: None,
        lambda: house.tell(3000),  # what has failed says no more
        lambda: house.store.write([StoredAnswer(99, 3000, 0, 1, b"")]),
        lambda: house.writer.append(QueryRecord.draft("r", text=TEXT, base=None)),
        lambda: None,
    ):
        happening()
        house.fanout.look()
    query = house.query.id
    assert heard == [([query], False), ([99], False), ([], True), ([99], False), ([], True)]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("tell"), st.integers(1, 4)),  # so many more instants
        st.tuples(st.just("keep"), st.integers(1, 6)),  # of which so many are kept
        st.tuples(st.just("read"), st.integers(1, 5)),  # so many pieces of the stream
        st.tuples(st.just("come back"), st.just(0)),  # with the last id
    ),
    max_size=30,
)


@settings(max_examples=examples(60), deadline=None)
@given(steps=STEPS)
@example([("tell", 1), ("tell", 1), ("keep", 1), ("read", 2), ("tell", 1), ("keep", 1), ("come back", 0)])
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
                stream = house.subscribe(start_after(ids[-1], house.fanout.order) if ids else FIRST)
            else:
                for _ in range(count):
                    seen += [event for event in parsed(next(stream).decode()) if isinstance(event, Event)]
        house.close()
    answers = [event.data["at"] for event in seen if event.kind == "answer"]
    assert answers == sorted(set(answers)), "an answer came twice, or too late"
    assert answers[-1] == told
    # A gap names what is next by then. Who is away until that is forgotten, too, is told of another one.
    kinds = [event.kind for event in seen if event.kind]
    told_of = zip([event for event in seen if event.kind], [*kinds[1:], ""], strict=True)
    announced = [event.data["next"] for event, after in told_of if event.kind == "gap" and after != "gap"]
    missed = [b for a, b in zip([0, *answers], answers) if b > a + 1000]
    assert sorted(set(announced)) == missed, "what is missing is not what was said to be"


def test_who_wants_to_hear_of_everything_is_told_which_queries_have_answers(house: House) -> None:
    heard = queue.SimpleQueue()
    fanout = Fanout(house.database, house.store, Bell(house.store._bell.path), places=1, heard=heard.put).start()
    for instant in (1000, 2000):
        house.tell(instant)
        assert heard.get(timeout=20) == {house.query.id}
    fanout.stop()
    assert heard.empty()
