"""The relay: each answer of a stream query goes back into the log once, in order, whatever is restarted meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Result
from csparql_spark.disk import StoreError
from csparql_spark.disk.bell import Bell
from csparql_spark.log import Draft, Entry, LogWriter, contents
from csparql_spark.log.contents import QueryRegistered
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule import relay as module
from csparql_spark.schedule.relay import Relay, chunk_of, draft_of
from csparql_spark.store import QueryRecord, StoredAnswer, StreamRecord, keyframes
from csparql_spark.store.waiting_groups import WaitingGroups
from tests.examples import examples
from tests.store.opened import Opened

PATIENCE_SECONDS = 30
D = "urn:d"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Opened]:
    opened = Opened(tmp_path / "data")
    yield opened
    opened.close()


def registered(store: Opened, name: str = "d") -> int:
    """A stream query that makes the stream urn:<name>; its id."""
    iri = f"urn:{name}"
    if store.registry.stream(iri) is None:
        store.writer.append(StreamRecord.draft(iri, name=name, clock="derived", delay=0, producer=name))
    return store.writer.append(QueryRecord.draft(name, text="", base=None)).seq


def line(instant: int, part: int = 0) -> str:
    return f'<urn:s> <urn:at> "{instant}.{part}" .\n'


def tell(store: Opened, query: int, *instants: int, parts: int = 1, empty: bool = False) -> None:
    store.answers.write(
        [
            StoredAnswer(query, instant, part, 1, Result.graph(lines).to_bytes())
            for instant in instants
            for part in range(parts)
            for lines in ["" if empty else line(instant, part)]
        ]
    )


def relay_of(store: Opened, writer: LogWriter | None = None) -> Relay:
    return Relay(store.registry, store.answers, writer or store.writer)


def relayed(store: Opened, stream: str = D) -> list[tuple[str, int, list[str]]]:
    """What is in the log of a derived stream: its kind, its instant, and the objects."""
    found = []
    for entry in store.entries():
        if entry.subject == stream and entry.kind in ("chunk", "tick"):
            found.append((entry.kind, entry.at if entry.kind == "tick" else entry.first, said(entry)))
    return found


def said(entry: Entry) -> list[str]:
    if entry.payload is None:
        return []
    chunk = Chunk.from_ipc(entry.payload)
    assert (entry.rows, entry.first, entry.last, entry.unstamped) == (len(chunk), chunk.first, chunk.last, 0)
    assert chunk.first == chunk.last
    return [o for _, _, o in chunk.triples()]


def chunks(*instants: int) -> list[tuple[str, int, list[str]]]:
    return [("chunk", instant, [f'"{instant}.0"']) for instant in instants]


def wait_until(store: Opened, true: Callable[[], bool]) -> None:
    bell = Bell(store.directory.bell("log"))
    for _ in range(10 * PATIENCE_SECONDS):
        if true():
            bell.close()
            return
        bell.wait(0.1)
    raise AssertionError("the relay did not do it in time")


def test_an_answer_becomes_a_chunk_and_an_empty_one_a_tick(store: Opened) -> None:
    query = registered(store)
    tell(store, query, 1000)
    tell(store, query, 2000, empty=True)
    tell(store, query, 3000)
    relay_of(store)._look(None)
    assert relayed(store) == [*chunks(1000), ("tick", 2000, []), *chunks(3000)]
    relay_of(store)._look(None)
    assert len(relayed(store)) == 3


def next_version(store: Opened, before: int, name: str = "d") -> int:
    content = QueryRegistered("", None, replaces=before, origin=before)
    return store.writer.append(contents.draft_of(content, name)).seq


def answered_to(store: Opened, place: int) -> None:
    """The engine has answered all that the log held up to a place."""
    store.answers.write([], end=place)


def test_what_a_version_says_goes_into_the_stream_behind_all_of_the_one_before(store: Opened) -> None:
    first = registered(store)
    tell(store, first, 1000)
    second = next_version(store, first)
    relay = relay_of(store)
    tell(store, second, 3000)  # it was quicker
    relay._look(None)
    assert relayed(store) == chunks(1000) and relay._unfinished == {first}
    tell(store, first, 2000)
    WaitingGroups(store.database).note("g", queries=[first], triples=1, now=0)
    answered_to(store, second)
    relay._look({first})
    assert relayed(store) == chunks(1000, 2000) and relay._unfinished == {first}
    WaitingGroups(store.database).forget("g")
    relay._look({first})
    assert relayed(store) == chunks(1000, 2000, 3000) and not relay._unfinished
    third = next_version(store, second)
    tell(store, third, 500)  # its instants are its own
    answered_to(store, third)
    relay_of(store)._look({third})
    assert relayed(store) == chunks(1000, 2000, 3000, 500)


def test_the_rest_of_a_version_comes_without_news(store: Opened) -> None:
    first = registered(store)
    second = next_version(store, first)
    tell(store, second, 1000)
    relay = relay_of(store).start()
    try:
        answered_to(store, second)  # nobody rings for it
        wait_until(store, lambda: len(relayed(store)) == 1)
    finally:
        relay.stop()
    assert relayed(store) == chunks(1000)


def test_it_looks_ever_less_often_for_the_rest_of_a_version(store: Opened) -> None:
    first = registered(store)
    second = next_version(store, first)
    relay = relay_of(store)
    pauses = []
    for _ in range(20):
        relay._work(False)
        pauses.append(relay._pause())
    assert pauses[:4] == [0.05, 0.1, 0.2, 0.4] and set(pauses[5:]) == {1.0}
    third = next_version(store, second)
    answered_to(store, second)
    relay._work(False)
    assert relay._unfinished == {second} and relay._pause() == 0.05
    answered_to(store, third)
    relay._work(False)
    assert relay._pause() is None


def test_who_is_deleted_waits_for_nothing(store: Opened) -> None:
    first = registered(store)
    next_version(store, first)
    relay = relay_of(store)
    relay._look(None)
    assert relay._unfinished == {first}
    store.append("unregister", "d")
    store.append("drop", D)
    relay._look({first})
    assert not relay._unfinished


def test_what_a_plain_query_says_stays_where_it_is(store: Opened) -> None:
    plain = store.writer.append(QueryRecord.draft("p", text="", base=None)).seq
    store.writer.append(StreamRecord.draft("urn:p", name="p", clock="arrival", delay=0))
    tell(store, plain, 1000)
    relay_of(store)._look(None)
    assert relayed(store, "urn:p") == []


@pytest.mark.parametrize("page", [1, 2, 3, 16])
def test_all_parts_of_an_instant_are_one_chunk(store: Opened, monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    monkeypatch.setattr(module, "PAGE_INSTANTS", page)
    query = registered(store)
    tell(store, query, 1000, 2000, parts=3)
    tell(store, query, 3000, 4000)
    relay_of(store)._look(None)
    assert relayed(store) == [
        ("chunk", instant, [f'"{instant}.{part}"' for part in range(parts)])
        for instant, parts in ((1000, 3), (2000, 3), (3000, 1), (4000, 1))
    ]


def test_of_an_answer_that_is_too_large_the_log_says_so(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """All parts of it count together, and what comes after it is relayed."""
    query = registered(store)
    tell(store, query, 1000)
    tell(store, query, 2000, parts=3)
    tell(store, query, 3000)
    monkeypatch.setattr(module, "LARGEST", store.answers.size(query, 2000) - 1)
    relay_of(store)._look(None)
    assert relayed(store) == [*chunks(1000), *chunks(3000)]
    (lost,) = (entry for entry in store.entries() if entry.kind == "damaged")
    assert (lost.subject, lost.first, lost.last) == (D, 2000, 2000)
    assert lost.damage == (
        "an answer of 90 bytes is more than the 89 bytes that go into a stream at once, and the stream urn:d is "
        "without it"
    )


def test_how_large_an_answer_is_does_not_hang_on_those_before(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row of many is long, and another one each time: what has changed since the keyframe has many times the
    bytes of an answer."""
    query = registered(store)
    monkeypatch.setattr(keyframes, "LEAST_BYTES", 1 << 40)
    rest = "".join(f'<urn:s> <urn:at> "{number:04}" .\n' for number in range(600))
    instants = range(1000, 21_000, 1000)
    for at in instants:
        lines = f'<urn:s> <urn:at> "{at:100000}" .\n{rest}'
        store.answers.write([StoredAnswer(query, at, 0, 601, Result.graph(lines).to_bytes())])
    monkeypatch.setattr(module, "LARGEST", 200_000)
    assert store.answers.size(query, 20_000) > 8 * module.LARGEST
    relay_of(store)._look(None)
    assert [(kind, at, len(said)) for kind, at, said in relayed(store)] == [("chunk", at, 601) for at in instants]


class Failing:
    """A writer that breaks down at its n-th entry: before it is written, or before anybody hears that it was."""

    def __init__(self, writer: LogWriter, count: int, *, written: bool) -> None:
        self._writer, self._left, self._written = writer, count, written
        self.relayed_to = writer.relayed_to

    def append(self, draft: Draft, guard: object = None) -> Entry:
        self._left -= 1
        if self._left > 0:
            return self._writer.append(draft, guard)
        if self._left == 0 and self._written:
            self._writer.append(draft, guard)
        raise StoreError("the disk is gone")


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_relay_that_ends_half_way_is_followed_by_one_that_goes_on(store: Opened, count: int, written: bool) -> None:
    query = registered(store)
    tell(store, query, 1000, 2000, 3000, 4000)
    with pytest.raises(StoreError):
        relay_of(store, Failing(store.writer, count, written=written))._look(None)
    assert relayed(store) == chunks(1000, 2000, 3000, 4000)[: count if written else count - 1]
    store.reopen()
    tell(store, query, 5000)
    relay_of(store)._look(None)
    assert relayed(store) == chunks(1000, 2000, 3000, 4000, 5000)


def test_two_relays_at_once_relay_each_answer_once(store: Opened) -> None:
    query = registered(store)
    tell(store, query, *range(1000, 41_000, 1000))
    relays = [relay_of(store).start() for _ in range(3)]
    wait_until(store, lambda: len(relayed(store)) >= 40)
    for relay in relays:
        relay.stop()
    assert relayed(store) == chunks(*range(1000, 41_000, 1000))


def test_what_a_deleted_query_said_is_not_relayed_to_the_next_of_its_name(store: Opened) -> None:
    first = registered(store)
    tell(store, first, 1000, 2000)
    store.append("unregister", "d")
    relay_of(store)._look(None)
    assert relayed(store) == []
    second = registered(store)
    tell(store, first, 3000)
    tell(store, second, 500)
    relay_of(store)._look(None)
    assert relayed(store) == chunks(500)


def test_a_query_that_is_deleted_meanwhile(store: Opened) -> None:
    """The log decides: what comes after the end is refused, and the others go on."""
    query, other = registered(store), registered(store, "e")
    tell(store, query, 1000, 2000)
    tell(store, other, 1000)

    class Late:
        def append(self, draft: Draft, guard: object = None) -> Entry:
            if draft.first == 2000:
                store.append("unregister", "d")
            return store.writer.append(draft, guard)

        def relayed_to(self, query: int) -> int | None:
            return store.writer.relayed_to(query)

    relay_of(store, Late())._look(None)
    assert (relayed(store), relayed(store, "urn:e")) == (chunks(1000), chunks(1000))


def test_only_who_has_new_answers_is_looked_at(store: Opened) -> None:
    query, other = registered(store), registered(store, "e")
    relay = relay_of(store).start()
    tell(store, query, 1000)
    tell(store, other, 1000)
    relay.answered({query})
    wait_until(store, lambda: relayed(store) == chunks(1000))
    tell(store, query, 2000)
    relay.answered({query, 99})
    wait_until(store, lambda: relayed(store) == chunks(1000, 2000))
    relay.answered({other})
    wait_until(store, lambda: relayed(store, "urn:e") == chunks(1000))
    relay.stop()


def test_a_store_that_fails_is_tried_again(store: Opened, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)
    query = registered(store)
    tell(store, query, 1000, 2000)

    class Broken(Failing):
        def append(self, draft: Draft, guard: object = None) -> Entry:
            return super().append(draft, guard) if self._left > 0 else self._writer.append(draft, guard)

    relay = relay_of(store, Broken(store.writer, 2, written=False)).start()
    wait_until(store, lambda: relayed(store) == chunks(1000, 2000))
    relay.stop()
    assert capsys.readouterr().err == "csparql-spark: derived streams wait, the store fails: the disk is gone\n"


def test_a_damaged_answer_ends_its_own_stream_only(store: Opened, capsys) -> None:
    query, other = registered(store), registered(store, "e")
    tell(store, query, 1000)
    store.answers.write([StoredAnswer(query, 2000, 0, 1, b"?")])
    tell(store, query, 3000)
    tell(store, other, 1000)
    relay = relay_of(store)
    for _ in range(2):
        relay._look(None)
    assert (relayed(store), relayed(store, "urn:e")) == (chunks(1000), chunks(1000))
    assert capsys.readouterr().err == (
        "csparql-spark: the stream <urn:d> ends, an answer of d cannot be read: "
        "The 1 bytes are not an answer of this version.\n"
    )


def test_terms_stay_as_they_are_and_blank_nodes_of_templates_are_new() -> None:
    lines = '<urn:a> <urn:p> "a\u2028b\u0085 _:r0x1 .\\n"@en .\n_:r0x1 <urn:p> _:b1.0 .\n_:r0x1 <urn:p> _:r1x12 .\n'
    chunk = chunk_of(5, -1000, lines.encode())
    assert chunk.triples() == [
        ("<urn:a>", "<urn:p>", '"a\u2028b\u0085 _:r0x1 .\\n"@en'),
        ("_:d5.-1000.r0x1", "<urn:p>", "_:b1.0"),
        ("_:d5.-1000.r0x1", "<urn:p>", "_:d5.-1000.r1x12"),
    ]
    assert chunk.t.tolist() == [-1000] * 3
    assert chunk.to_ipc() == chunk_of(5, -1000, lines.encode()).to_ipc()


def test_the_same_answer_at_another_instant_has_other_blank_nodes() -> None:
    node = b"_:r0x0 <urn:p> _:r0x0 .\n"
    made = {chunk_of(query, instant, node).triples()[0][0] for query in (1, 2) for instant in (1, 2)}
    assert len(made) == 4


def test_parts_without_triples_are_a_tick() -> None:
    parts = [StoredAnswer(1, 5, part, 0, Result.graph("").to_bytes()) for part in range(2)]
    assert draft_of(1, D, 5, parts) == Draft("tick", D, at=5)


steps = st.lists(
    st.sampled_from(["answer", "nothing", "look", "fail", "fail late", "restart", "delete", "register"]), max_size=25
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_each_answer_once_and_in_order(store: Opened, steps: list[str]) -> None:
    """Whatever happens, of each query that was there what it said is relayed from its beginning, and all of it at the
    end."""
    with store.database.transaction() as connection:
        for table in ("log", "answers", "relayed"):
            connection.execute(f"DELETE FROM {table}")
    query, instant = registered(store), 0
    told: dict[int, list[tuple[str, int, list[str]]]] = {query: []}
    for step in [*steps, "look"]:
        match step:
            case "answer" | "nothing" if query is not None:
                instant += 1
                tell(store, query, instant, empty=step == "nothing")
                told[query] += [("tick", instant, [])] if step == "nothing" else chunks(instant)
            case "look":
                relay_of(store)._look(None)
                if query is not None:
                    assert relayed(store)[len(relayed(store)) - len(told[query]) :] == told[query]
            case "fail" | "fail late":
                try:
                    relay_of(store, Failing(store.writer, 2, written=step == "fail late"))._look(None)
                except StoreError:
                    continue
            case "restart":
                store.reopen()
            case "delete" if query is not None:
                store.append("unregister", "d")
                query = None
            case "register" if query is None:
                query = registered(store)
                told[query] = []
    in_log = relayed(store)
    assert len({instant for _, instant, _ in in_log}) == len(in_log)
    assert [instant for _, instant, _ in in_log] == sorted(instant for _, instant, _ in in_log)
    for answers in told.values():
        of_it = [entry for entry in in_log if entry in answers]
        assert of_it == answers[: len(of_it)]
