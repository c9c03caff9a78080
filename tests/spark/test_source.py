"""The log as a source, without Spark: its reader is asked as Spark would ask it."""

from __future__ import annotations

import itertools
import json
import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from csparql_spark.disk.bell import Bell
from csparql_spark.disk.errors import DatabaseBusy
from csparql_spark.log import Entry
from csparql_spark.pulse import Pulse
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.early_batches import LATEST_MS, LEAD_MS
from csparql_spark.schedule.routing import UNREADABLE, Router, Row
from csparql_spark.spark import source
from csparql_spark.spark.source import ARROW, SCHEMA, AheadOfLog, LogReader, LogSource, Opened, Span
from csparql_spark.store import StoredAnswer
from csparql_spark.store.batch_ends import Ends

from ..store.opened import Hands
from ..store.opened import Opened as Store
from .pushed import FUTURE, Pushed, history

ALL = ReadAllAvailable()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Pushed]:
    opened = Pushed(tmp_path / "data")
    opened.reopen(Hands(wall=FUTURE))
    yield opened
    opened.close()


class Time:
    """The reader's time, moved by hand."""

    def __init__(self, hands: Hands) -> None:
        self.hands = hands

    def time(self) -> float:
        return self.hands.wall / 1000

    def monotonic(self) -> float:
        return self.hands.steady / 1000


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> Hands:
    """A second before the second instant of queries of STEP 1 s, and of the reader alone: the log has its own."""
    hands = Hands(wall=FUTURE + 1)
    monkeypatch.setattr(source, "time", Time(hands))
    return hands


@pytest.fixture
def reader(store: Pushed, hands: Hands, monkeypatch: pytest.MonkeyPatch) -> Iterator[LogReader]:
    """A reader that does not wait for what is not there yet."""
    monkeypatch.setattr(source, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(Opened, "_known", {})
    reader = LogReader(str(store.directory.path))
    reader.initialOffset()
    yield reader
    reader._opened.bell.close()
    reader._opened.database.close()


def at(seq: int) -> dict[str, int]:
    return {"seq": seq}


def rows(batches: Iterator[pa.RecordBatch]) -> list[Row]:
    found = list(batches)
    assert all(batch.schema == ARROW for batch in found)
    return [Row(**row) for batch in found for row in batch.to_pylist()]


def routed(entries: list[Entry], start: int, end: int) -> list[Row]:
    """What a router that has seen all that came before says of the entries after `start`, up to `end`, as one batch."""

    def background(graph: str) -> Entry | None:
        versions = [
            entry
            for entry in entries
            if (entry.kind, entry.subject) == ("background", graph) and entry.seq <= router.seq
        ]
        return versions[-1] if versions else None

    router, sent = Router(background), set()
    by_place = [(entry.seq, router.route(entry, sent if entry.seq > start else None)) for entry in entries]
    return [row for seq, of in by_place for row in of if start < seq <= end]


def test_it_begins_before_the_first_entry(reader: LogReader) -> None:
    assert reader.initialOffset() == at(0)
    assert reader.latestOffset(at(0), ALL) == at(0)
    assert isinstance(reader.getDefaultReadLimit(), ReadAllAvailable)


def test_a_small_tail_waits_for_the_tick_that_makes_it_due(store: Pushed, reader: LogReader) -> None:
    store.stream("urn:a")
    registered = store.query("q")
    assert reader.latestOffset(at(0), ALL) == at(registered)
    store.chunk("a")
    assert reader.latestOffset(at(registered), ALL) == at(registered)
    held = store.chunk("b")
    assert reader.latestOffset(at(registered), ALL) == at(registered)
    ticked = store.tick(FUTURE + 1000)
    assert ticked == held + 1
    assert reader.latestOffset(at(registered), ALL) == at(ticked)
    assert reader.latestOffset(at(ticked), ALL) == at(ticked)


def test_a_tail_that_has_become_old_is_read(store: Pushed, reader: LogReader) -> None:
    store.reopen(Hands(wall=1_000_000))
    store.stream("urn:a")
    chunk = store.chunk("a")
    assert reader.latestOffset(at(chunk - 1), ALL) == at(chunk)


def test_an_element_that_passes_an_instant_is_due(store: Pushed, reader: LogReader) -> None:
    """The clock of the stream is known to the reader, because it follows the registry before it asks what is due."""
    store.stream("urn:e", "event")
    store.query("q", "urn:e")
    first = store.chunk("a", stream="urn:e", stamps=[500])
    assert reader.latestOffset(at(first - 1), ALL) == at(first)
    held = store.chunk("b", stream="urn:e", stamps=[600])
    assert reader.latestOffset(at(first), ALL) == at(first)
    due = store.chunk("c", stream="urn:e", stamps=[1001])
    assert due == held + 1 and reader.latestOffset(at(first), ALL) == at(due)


@pytest.mark.parametrize(
    "registered, held, longest", [(False, False, 30.0), (True, False, (1000 - LEAD_MS) / 1000), (True, True, 0.1)]
)
def test_while_nothing_is_due_it_sleeps_until_the_bell_rings(
    store: Pushed, reader: LogReader, registered: bool, held: bool, longest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a query it looks again when a batch may be begun, and with a tail that is held back soon, for that becomes
    old without anybody ringing."""
    monkeypatch.setattr(source, "LOOK_SECONDS", 30.0)
    start = [store.stream("urn:a"), *([store.query("q")] if registered else [])][-1]
    end = (store.chunk("a") if held else start) + 1
    whole, rung = Bell.wait, []
    reader._opened.bell.wait(0)  # it listens

    def wait(bell: Bell, timeout: float) -> bool:
        assert longest / 2 < timeout <= longest
        if not rung:
            assert store.tick(FUTURE + 1000) == end
        rung.append(whole(bell, timeout))
        return rung[-1]

    monkeypatch.setattr(Bell, "wait", wait)
    assert reader.latestOffset(at(start), ALL) == at(end)
    assert rung == [True]


def test_to_the_end_is_to_what_was_the_end_when_it_began(store: Pushed, reader: LogReader) -> None:
    store.stream("urn:a")
    store.query("q")
    end = store.chunk("a")
    reader.prepareForTriggerAvailableNow()
    store.tick(FUTURE + 1000)
    assert reader.latestOffset(at(end - 1), ALL) == at(end)  # it is not due by itself
    assert reader.latestOffset(at(0), ALL) == at(end)
    assert reader.latestOffset(at(end), ALL) == at(end)


# --- batches that are begun before it is known where they end

SOON = FUTURE + 1000 - LEAD_MS  # when a batch may be begun for FUTURE + 1000


class Writing:
    """What is written, step by step, whenever somebody waits for the bell, and how much time goes by."""

    def __init__(
        self, hands: Hands, monkeypatch: pytest.MonkeyPatch, *steps: tuple[float, Callable[[], object]]
    ) -> None:
        self.hands, self.steps, self.waits = hands, list(steps), 0
        monkeypatch.setattr(Bell, "wait", self._wait)

    def _wait(self, timeout: float) -> bool:
        self.waits += 1
        after, write = self.steps.pop(0) if self.steps else (1000 * timeout, None)
        self.hands.forward(after)
        if write is not None:
            write()
        return write is not None


def begun(store: Pushed, hands: Hands) -> int:
    """A store with a query and two chunks that wait, shortly before its instant; the place of the registration."""
    store.stream("urn:a")
    start = store.query("q")
    store.chunk("a")
    store.chunk("b")
    hands.wall = SOON
    return start


def test_a_batch_is_begun_before_its_tick(store: Pushed, reader: LogReader, hands: Hands) -> None:
    start = begun(store, hands)
    hands.wall = SOON - 1
    assert reader.latestOffset(at(start), ALL) == at(start)
    hands.wall = SOON
    assert reader.latestOffset(at(start), ALL) == {"seq": start + 2, "tick": FUTURE + 1000}
    assert reader.latestOffset(at(start), ALL) == at(start)  # once


def test_it_ends_with_its_tick(store: Pushed, reader: LogReader, hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    seq     1 2     3  4       5   6     7
            urn:a q a  b    │  c   tick  d
                  └─ start  └ begun └ end
    """
    start = begun(store, hands)
    (span,) = reader.partitions(at(start), reader.latestOffset(at(start), ALL))
    assert (span.start, span.end, span.tick) == (start, start + 2, FUTURE + 1000)
    writing = Writing(hands, monkeypatch, (10, lambda: store.chunk("c")), (LEAD_MS, lambda: store.tick(FUTURE + 1003)))
    batches = list(reader.read(pickle.loads(pickle.dumps(span))))
    assert writing.waits == 2
    store.chunk("d")
    assert [batch.num_rows for batch in batches] == [2, 2]  # what was there has gone ahead
    assert rows(iter(batches)) == routed(store.entries(), start, start + 4)
    end = {"seq": start + 2, "tick": FUTURE + 1000}
    (following,) = reader.partitions(end, at(start + 5))
    assert (following.start, following.end, following.tick) == (start + 4, start + 5, None)
    assert reader.latestOffset(end, ALL) == end  # the rest is held, as ever
    reader.commit(end)
    assert store.retention.position() == start + 4
    assert rows(reader.read(span)) == rows(iter(batches))  # Spark runs it again


def test_a_tick_that_does_not_come_is_not_waited_for(
    store: Pushed, reader: LogReader, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    seq     3  4       5               6
            a  b    │  c  (no tick) │  tick
                    └ begun         └ end, at LATEST
    """
    start = begun(store, hands)
    end = reader.latestOffset(at(start), ALL)
    (span,) = reader.partitions(at(start), end)
    Writing(hands, monkeypatch, (10, lambda: store.chunk("c")))
    found = rows(reader.read(span))
    assert FUTURE + 1000 + LATEST_MS <= hands.wall < FUTURE + 1000 + LATEST_MS + 50
    assert found == routed(store.entries(), start, start + 3)
    ticked = store.tick(FUTURE + 1250)
    assert reader.latestOffset(end, ALL) == at(ticked)
    (following,) = reader.partitions(end, at(ticked))
    assert (following.start, following.end, following.tick) == (start + 3, ticked, None)
    assert rows(reader.read(span)) == found
    reader.commit(end)
    assert store.retention.position() == start + 3
    reader.commit(at(ticked))
    assert store.database.connection.execute("SELECT count(*) FROM batch_ends").fetchone() == (0,)


def test_nobody_waits_long_when_the_clock_of_the_machine_is_set_back(
    store: Pushed, reader: LogReader, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = begun(store, hands)
    (span,) = reader.partitions(at(start), reader.latestOffset(at(start), ALL))

    def set_back() -> None:
        hands.wall -= 3_600_000

    Writing(hands, monkeypatch, (1, set_back))
    before = hands.steady
    assert rows(reader.read(span)) == routed(store.entries(), start, start + 2)
    assert hands.steady - before < LEAD_MS + LATEST_MS + 50


def test_while_nothing_can_be_written_it_waits_on(
    store: Pushed, reader: LogReader, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither where the batch ends, nor a tick or a push."""
    start = begun(store, hands)
    (span,) = reader.partitions(at(start), reader.latestOffset(at(start), ALL))
    settle, tried, beats = Ends.settle, [], []
    monkeypatch.setattr(Pulse, "beat", lambda pulse: beats.append(hands.wall))

    def locked(ends: Ends, after: int, tick: int) -> int:
        tried.append(hands.wall)
        if len(tried) < 4:
            raise DatabaseBusy("database is locked")
        return settle(ends, after, tick)

    monkeypatch.setattr(Ends, "settle", locked)
    Writing(hands, monkeypatch)
    assert rows(reader.read(span)) == routed(store.entries(), start, start + 2)
    assert len(tried) == 4 and tried[-1] >= FUTURE + 1000 + 4 * LATEST_MS
    assert set(tried) <= set(beats), "it does not hang, and says so"
    tried.clear()
    (span,) = reader.partitions(at(start + 2), {"seq": start + 2, "tick": FUTURE + 9000})
    hands.wall = FUTURE + 9000
    waits = [(LATEST_MS, None), (LATEST_MS, None), (LATEST_MS, lambda: store.tick(FUTURE + 9600))]
    Writing(hands, monkeypatch, *waits)
    assert [row.kind for row in rows(reader.read(span))] == ["tick"]
    assert len(tried) == 2


def test_whoever_reads_to_the_end_begins_nothing_before(store: Pushed, reader: LogReader, hands: Hands) -> None:
    start = begun(store, hands)
    reader.prepareForTriggerAvailableNow()
    assert reader.latestOffset(at(start), ALL) == at(start + 2)


def test_what_came_into_a_batch_after_it_was_begun_is_due_no_more(
    store: Pushed, reader: LogReader, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.stream("urn:a")
    store.stream("urn:e", "event")
    store.query("q")
    start = store.query("r", "urn:e")
    hands.wall = SOON
    end = reader.latestOffset(at(start), ALL)
    (span,) = reader.partitions(at(start), end)
    Writing(
        hands,
        monkeypatch,
        (10, lambda: store.chunk("c", stream="urn:e", stamps=[5500])),
        (LEAD_MS, lambda: store.tick(FUTURE + 1000)),
    )
    assert len(rows(reader.read(span))) == 2
    store.chunk("d", stream="urn:e", stamps=[5900])
    assert reader.latestOffset(end, ALL) == end
    due = store.chunk("e", stream="urn:e", stamps=[6001])
    assert reader.latestOffset(end, ALL) == at(due)


def test_a_checkpoint_that_has_waited_for_another_log(store: Pushed, reader: LogReader) -> None:
    end = store.stream("urn:a")
    with pytest.raises(AheadOfLog, match=f"has read up to {end}, and the log ends at {end}"):
        reader.latestOffset({"seq": end, "tick": FUTURE}, ALL)


@pytest.mark.parametrize("seed", range(25))
def test_nothing_is_left_out_between_batches_however_they_end(
    store: Pushed, hands: Hands, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's part, with crashes: a batch is written down, read, and done; who comes back reads it again."""
    monkeypatch.setattr(source, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(Opened, "_known", {})
    draw = random.Random(seed)
    store.reopen(hands)
    store.stream("urn:a")
    store.query("q")
    passed, written = FUTURE, [(2, "register")]

    def something() -> None:
        nonlocal passed
        match draw.choice(["chunk", "chunk", "tick", "tick", "pause", "nothing"]):
            case "chunk":
                written.append((store.chunk(f"s{len(written)}"), "chunk"))
            case "tick" if hands.wall // 1000 > passed // 1000:
                passed = int(hands.wall) // 1000 * 1000
                written.append((store.tick(passed), "tick"))
            case "pause":
                pause = draw.choice(["pause", "resume", "resume"])
                written.append((store.append(pause, "q").seq, pause))

    def wait(bell: Bell, timeout: float) -> bool:
        hands.forward(draw.uniform(1, 60))
        something()
        return True

    monkeypatch.setattr(Bell, "wait", wait)

    def crashed() -> LogReader:
        Opened._known.clear()
        return LogReader(str(store.directory.path))

    reader, start, ends, told = crashed(), at(0), [], []
    for _ in range(150):
        hands.forward(draw.uniform(1, 120))
        something()
        end = reader.latestOffset(start, ALL)
        if end == start:
            continue
        if draw.random() < 0.2:
            reader = crashed()
        found = [rows(crashed().read(span)) for span in reader.partitions(start, end)]
        if draw.random() < 0.2:  # it was read, and not done
            something()
            reader = crashed()
            assert [rows(reader.read(span)) for span in reader.partitions(start, end)] == found
        told += [(row.seq, row.kind) for read in found for row in read]
        ends.append(end)
        reader.commit(end)
        store.retention.forget(keep_log=0, reach=10_000_000, keep_answers=1)
        start = end
    reached = reader._opened.reached(start)
    assert store.retention.position() == reached
    assert told == [(seq, kind) for seq, kind in written if seq <= reached]
    ahead = [end for end in ends if "tick" in end]
    assert len(ahead) > 3 and len(ends) - len(ahead) > 3


# --- what is read


def test_a_batch_is_one_partition(reader: LogReader) -> None:
    (span,) = reader.partitions(at(3), at(9))
    assert (span.start, span.end) == (3, 9)
    again = pickle.loads(pickle.dumps(span))
    assert isinstance(again, Span) and (again.start, again.end) == (3, 9)


def test_what_is_read_are_the_rows_of_the_router(store: Pushed, reader: LogReader) -> None:
    end = history(store)
    expected = routed(store.entries(), 0, end)
    assert rows(reader.read(Span(0, end))) == expected
    kinds = [(row.seq, row.kind) for row in expected]
    assert kinds == [
        (4, "register"),
        (3, "background"),
        (5, "chunk"),
        (7, "background"),
        (8, "register"),
        (7, "background"),
        (9, "chunk"),
        (10, "register"),
        (11, "tick"),
        (12, "unregister"),
        (13, "chunk"),
        (14, "unregister"),
    ], "what a group was sent in a batch, it is sent once"


def test_any_span_may_be_read_after_any_other(store: Pushed, reader: LogReader) -> None:
    end = history(store)
    entries = store.entries()
    spans = [Span(*span) for span in itertools.combinations(range(end + 1), 2)]
    random.Random(7).shuffle(spans)
    for span in spans:
        assert rows(reader.read(span)) == routed(entries, span.start, span.end)
    assert rows(reader.read(Span(end, end))) == []


def test_what_is_due_is_not_disturbed_by_what_is_read(store: Pushed, reader: LogReader) -> None:
    """One process asks and reads at once where there is one process: both move the same router."""
    end = history(store)
    for start in range(end):
        assert reader.latestOffset(at(start), ALL)["seq"] in (start, end)
        assert rows(reader.read(Span(0, start))) == routed(store.entries(), 0, start)
    assert reader.latestOffset(at(end - 2), ALL) == at(end)


def test_a_query_that_is_registered_later_is_sent_the_background_of_that_place(
    store: Pushed, reader: LogReader
) -> None:
    store.stream("urn:a")
    versions = {}
    for name, subjects in (("q", ("old",)), ("r", ("new", "newer")), ("s", ())):
        version = store.graph("urn:g", *subjects)
        versions[store.query(name, graphs=("urn:g",))] = version, len(subjects)
    for registered, (version, size) in reversed(versions.items()):
        registration, background = rows(reader.read(Span(registered - 1, registered)))
        assert (registration.kind, registration.seq) == ("register", registered)
        assert (background.kind, background.seq, background.subject) == ("background", version, "urn:g")
        assert background.group == registration.group
        assert len(Chunk.from_ipc(background.payload)) == size


def test_large_spans_come_in_several_batches(store: Pushed, reader: LogReader, monkeypatch: pytest.MonkeyPatch) -> None:
    store.stream("urn:a")
    store.query("q")
    size = len(store.log.last("urn:a", "chunk", store.chunk("s0")).payload)
    end = [store.chunk(f"s{i}") for i in range(1, 6)][-1]
    monkeypatch.setattr(source, "BATCH_BYTES", 2 * size - 1)
    batches = list(reader.read(Span(2, end)))
    assert [batch.num_rows for batch in batches] == [2, 2, 2]
    assert rows(iter(batches)) == routed(store.entries(), 2, end)


def test_where_nothing_is_for_anybody_there_are_no_batches(store: Pushed, reader: LogReader) -> None:
    store.stream("urn:a")
    end = store.chunk("a")
    assert list(reader.read(Span(0, end))) == []


# --- the rest of its life


def test_what_is_committed_is_where_the_log_may_be_forgotten(store: Pushed, reader: LogReader) -> None:
    end = history(store)
    assert store.retention.position() == 0
    reader.commit(at(end))
    assert store.retention.position() == end
    reader.commit(at(3))  # Spark runs a batch again
    assert store.retention.position() == end


def test_a_reader_is_sent_to_workers_also_after_its_first_use(store: Pushed, reader: LogReader) -> None:
    end = history(store)
    reader.prepareForTriggerAvailableNow()
    expected = rows(reader.read(Span(0, end)))
    sent = pickle.loads(pickle.dumps(reader))
    assert rows(sent.read(Span(0, end))) == expected
    store.tick(FUTURE + 3000)
    assert sent.latestOffset(at(0), ALL) == at(end)  # where to stop was sent with it


def test_after_its_end_it_may_be_asked_again(store: Pushed, reader: LogReader) -> None:
    end = history(store)
    reader.commit(at(end))
    reader.stop()
    reader.stop()
    assert rows(reader.read(Span(0, end))) == routed(store.entries(), 0, end)


def test_the_source_says_what_it_gives(store: Pushed, reader: LogReader) -> None:
    end = history(store)
    made = LogSource({"data": str(store.directory.path)})
    assert LogSource.name() == "csparql-log"
    assert [field.split()[0] for field in made.schema().split(", ")] == ARROW.names == list(Row._fields)
    assert made.schema() == SCHEMA
    assert rows(made.streamReader(None).read(Span(0, end))) == routed(store.entries(), 0, end)


# --- what queries have said already


def test_registrations_say_what_was_told(store: Pushed, reader: LogReader) -> None:
    store.stream("urn:a")
    first, second, third = store.query("q"), store.query("r"), store.query("s")
    store.answers.write(
        [StoredAnswer(first, instant, 0, 1, b"x") for instant in (1000, 2000)], [(second, 3000, "it was too much")]
    )
    said = {row.seq: json.loads(row.payload) for row in rows(reader.read(Span(0, third)))}
    assert {seq: (told.get("answered"), told.get("failed")) for seq, told in said.items()} == {
        first: (2000, None),
        second: (None, "it was too much"),
        third: (None, None),
    }
    assert all(told["id"] == seq and told["clocks"] for seq, told in said.items())


def test_a_checkpoint_of_another_log(store: Pushed, reader: LogReader) -> None:
    end = store.stream("urn:a")
    assert reader.latestOffset(at(end), ALL) == at(end)
    with pytest.raises(AheadOfLog, match=f"has read up to {end + 1}, and the log ends at {end}"):
        reader.latestOffset(at(end + 1), ALL)


def damage(store: Store, seq: int) -> None:
    store.database.connection.execute("UPDATE log SET payload = zeroblob(length(payload)) WHERE seq = ?", (seq,))


def lost(row: Row) -> tuple[int, str, str | None, str]:
    told = json.loads(row.payload)
    return row.seq, row.kind, row.subject, f"{told['kind']}: {told['reason']}"


WRONG = "is damaged: its payload is not what was written"


def test_in_the_place_of_what_is_damaged_comes_a_row_that_says_so(store: Pushed, reader: LogReader) -> None:
    store.stream("urn:a"), store.graph("urn:g", "x")
    store.query("q"), store.chunk("1"), store.chunk("2"), store.query("late", graphs=("urn:g",))
    damage(store, 4), damage(store, 2)
    read = rows(reader.read(Span(0, 6)))
    assert [row[2:4] for row in read] == [
        (3, "register"),
        (4, "damaged"),
        (5, "chunk"),
        (6, "register"),
        (6, "damaged"),
    ]
    assert lost(read[1]) == (4, "damaged", "urn:a", f"chunk: the entry 4 of the stream urn:a {WRONG}")
    assert lost(read[4]) == (6, "damaged", "urn:g", f"background: the entry 2 that set the graph urn:g {WRONG}")
    assert rows(reader.read(Span(0, 6))) == read


def test_a_registration_that_is_damaged_after_it_was_read_is_told_with_the_next_batch(
    store: Pushed, reader: LogReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.stream("urn:a"), store.query("q"), store.query("other"), store.chunk("1"), store.chunk("2")
    assert [row.kind for row in rows(reader.read(Span(0, 4)))] == ["register", "register", "chunk"]
    damage(store, 2)
    monkeypatch.setattr(Opened, "_known", {})
    *told, chunk = rows(LogReader(str(store.directory.path)).read(Span(4, 5)))  # a worker that has just started
    wrong = (2, "damaged", "q", f"register: the entry 2 that registered the query q {WRONG}")
    assert [(row.group, lost(row)) for row in told] == [(UNREADABLE, wrong), (chunk.group, wrong)]
    assert chunk[2:4] == (5, "chunk")
