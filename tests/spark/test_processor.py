"""The stateful processor, without Spark: a dict stands for the state store, and frames are made by hand."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable, Iterator

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.engine.background_wait import BackgroundWait
from csparql_spark.engine.closings import Closing, Closings
from csparql_spark.engine.group import Group
from csparql_spark.engine.group_state import restore, save
from csparql_spark.engine.guard import EvaluationGuard, GuardTerms
from csparql_spark.engine.messages import BatchCosts, InstantAnswer, Message, QueryFailure
from csparql_spark.engine.state_keys import StateKey
from csparql_spark.log import Entry
from csparql_spark.schedule.routing import Row, wake
from csparql_spark.spark import processor as processors
from csparql_spark.spark.processor import SUMMARY, GroupProcessor, SparkState
from csparql_spark.spark.report_rows import OUTPUT, ReportRow, report_of
from csparql_spark.store.waiting_groups import WaitingGroups
from tests.engine.asked import Asked
from tests.engine.logs import by_hand, entries, law, logs
from tests.engine.naive import Logged
from tests.engine.running import DictState, Worker, in_one_go, routed, routed_between
from tests.examples import examples
from tests.store.opened import Opened

pytestmark = pytest.mark.usefixtures("new_worker")

ANY = (("?s", "<urn:p>", "?o"),)


class FakeMap:
    """PySpark's MapState, as far as it is used: keys and values are tuples, and binary comes back as a bytearray."""

    def __init__(self) -> None:
        self.held: dict[tuple[int, int], tuple[bytes]] = {}

    def getValue(self, key: tuple[int, int]) -> tuple[bytearray] | None:
        value = self.held.get(self._key(key))
        return None if value is None else (bytearray(value[0]),)

    def updateValue(self, key: tuple[int, int], value: tuple[bytes]) -> None:
        (payload,) = value
        assert isinstance(payload, bytes)
        self.held[self._key(key)] = (payload,)

    def removeKey(self, key: tuple[int, int]) -> None:
        del self.held[self._key(key)]

    def keys(self) -> Iterator[tuple[int, int]]:
        return iter(list(self.held))

    def clear(self) -> None:
        self.held.clear()

    @staticmethod
    def _key(key: tuple[int, int]) -> tuple[int, int]:
        seq, stream = key
        assert type(seq) is int and type(stream) is int
        return seq, stream


class Handle:
    """Hands out one map for each name, as Spark does."""

    def __init__(self) -> None:
        self.maps: dict[str, FakeMap] = {}

    def getMapState(self, name: str, key: str, value: str) -> FakeMap:
        assert (key, value) == ("seq long, stream int", "value binary")
        return self.maps.setdefault(name, FakeMap())


class Heard:
    """Hears the answers that are told, in the place of a store."""

    def __init__(self) -> None:
        self.answers: list[Message] = []

    def through(self, told: Iterable[Message]) -> Iterator[Message]:
        for one in told:
            if isinstance(one, QueryFailure):
                yield one
            else:
                self.answers.append(one)


def asked(range: int = 2000, step: int = 1000, graphs: tuple[str, ...] = ()) -> Asked:
    return Asked.over("urn:a", range, step, ("s",), ANY, graphs=graphs)


def triple(s: str) -> tuple[str, str, str]:
    return f"<urn:{s}>", "<urn:p>", "<urn:o>"


def chunk(at: int, *subjects: str) -> tuple:
    return at, "chunk", "urn:a", [(triple(s), None) for s in subjects]


def frames(rows: list[Row], *cuts: int) -> list[pandas.DataFrame]:
    places = [0, *cuts, len(rows)]
    return [pandas.DataFrame(rows[start:end], columns=Row._fields) for start, end in zip(places, places[1:])]


def handled(
    handle: Handle,
    key: tuple[str, int],
    given: list[pandas.DataFrame],
    job: str = "job",
    terms: GuardTerms | None = None,
) -> list[Message]:
    """What a batch tells; as in Spark, the processor is another one in each batch."""
    heard = Heard()
    processor = GroupProcessor(job, heard, terms=terms)
    processor.init(handle)
    begun = int(time.time() * 1000)
    out = list(processor.handleInputRows(key, iter(given), None))
    processor.close()
    assert all(list(frame.columns) == [field.split()[0] for field in OUTPUT.split(", ")] for frame in out)
    rows = [ReportRow(*row) for frame in out for row in frame.itertuples(index=False, name=None)]
    reports = list(map(report_of, rows))
    # What it has cost is another thing each time; when the answers were told is said with it.
    told_at = [row.instant for row, report in zip(rows, reports) if isinstance(report, BatchCosts)]
    assert len(told_at) == bool(heard.answers) and all(begun <= at <= begun + 60_000 for at in told_at)
    return [one for one in reports if isinstance(one, QueryFailure)] + heard.answers


def a_log() -> list[Entry]:
    return by_hand(
        (0, "background", "urn:g", [triple("g")]),
        (0, "register", "q", asked(graphs=("urn:g",))),
        chunk(500, "a"),
        (600, "register", "r", asked(5000, graphs=("urn:g",))),
        chunk(700, "b"),
        (1000, "tick", None),
        chunk(1500, "c"),
        (1600, "background", "urn:g", [triple("h")]),
        chunk(2500, "d"),
        (2600, "unregister", "q", None),
        chunk(3500, "e"),
        (4000, "tick", None),
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_order_and_the_frames_of_the_rows_do_not_matter(seed: int) -> None:
    log = a_log()
    rows = routed(log)
    (key,) = {row.group for row in rows}
    expected = list(Group(key).feed(rows))
    assert [(one.query, one.instant) for one in expected] == [  # at an instant the widest window comes first
        (7, 1000),
        (5, 1000),
        (7, 2000),
        (5, 2000),
        (7, 3000),
        (7, 4000),
    ]
    generator = random.Random(seed)
    generator.shuffle(rows)
    cuts = sorted(generator.choices(range(len(rows) + 1), k=3))  # some frames may be empty
    assert handled(Handle(), (key, 0), frames(rows, *cuts)) == expected


@given(logs, st.data())
@law(max_examples=examples(40))
def test_batches_of_frames_say_what_the_group_says(log: list[Logged], data: st.DataObject) -> None:
    """Whatever the cuts, and whether a worker remembers the group or not."""
    written = entries(log)
    expected = in_one_go(written)
    handles: dict[str, Handle] = {}
    told: dict[str, list[Message]] = {}
    processors._remembered.clear()
    cuts = sorted(data.draw(st.lists(st.integers(1, len(log)), max_size=4)))
    for start, end in zip([0, *cuts], [*cuts, len(log)]):
        if data.draw(st.booleans()):
            processors._remembered.clear()
        rows = routed_between(written, start, end)
        for key in dict.fromkeys(row.group for row in rows):
            mine = [row for row in rows if row.group == key][::-1]
            said = handled(handles.setdefault(key, Handle()), (key, 0), frames(mine, len(mine) // 2))
            told.setdefault(key, []).extend(said)
    assert told == expected


class Beats:
    """A pulse that counts."""

    def __init__(self) -> None:
        self.count = 0

    def along(self, items: Iterable[object]) -> Iterator[object]:
        for item in items:
            self.count += 1
            yield item


def test_each_row_and_each_answer_is_a_sign_of_life() -> None:
    rows, beats = routed(a_log()), Beats()
    (key,) = {row.group for row in rows}
    processor = GroupProcessor("job", Heard(), pulse=beats)
    processor.init(Handle())
    list(processor.handleInputRows((key, 0), iter(frames(rows)), None))
    assert beats.count == len(rows) + len(list(Group(key).feed(rows)))


def unnamed(summary: bytes | None) -> dict[str, object]:
    """A summary without the name of its save, which no other one has."""
    return {name: value for name, value in json.loads(summary or b"").items() if name != "save"}


def test_the_state_is_that_of_a_worker() -> None:
    """Spark's map holds what a plain state holds, and the summary beside it; a group comes back from it."""
    log = a_log()
    values, plain = FakeMap(), DictState()
    state = SparkState(values)
    assert state.summary() is None and list(state.keys()) == []
    for start, end in ((3, 8), (8, 12), (12, 15)):
        rows = routed_between(log, start, end)
        group = restore("g", state)
        told = list(group.feed(rows))
        save(group, state)
        assert told == Worker().work("g", rows, plain)
        assert unnamed(state.summary()) == unnamed(plain.summary()) and type(state.summary()) is bytes
        assert sorted(state.keys()) == sorted(plain.keys())
        assert {name: state.get(name) for name in state.keys()} == plain.values
        assert values.held.keys() == {SUMMARY, *plain.values}


def test_of_a_group_without_queries_nothing_is_kept_or_remembered() -> None:
    log = by_hand((0, "register", "q", asked()), chunk(500, "a"), (600, "unregister", "q", None))
    rows = routed(log)
    handle, key = Handle(), (rows[0].group, 0)
    assert handled(handle, key, frames(rows[:2])) == []
    assert handle.maps["values"].held and processors._remembered
    assert handled(handle, key, frames(rows[2:])) == []
    assert handle.maps["values"].held == {} and processors._remembered == {}


def test_groups_of_another_checkpoint_are_others() -> None:
    """Two jobs in one worker, of which the second has read less: neither takes the other's group."""
    log = by_hand((0, "register", "q", asked()), chunk(500, "a"), chunk(600, "b"), (1000, "tick", None))
    rows = routed(log)
    one, other, key = Handle(), Handle(), (rows[0].group, 0)
    handled(one, key, frames(rows[:3]), job="one")
    handled(other, key, frames(rows[:2]), job="other")
    assert {job for job, *_ in processors._remembered} == {"one", "other"}
    expected = list(Group(key[0]).feed(rows))
    assert handled(one, key, frames(rows[3:]), job="one") == expected
    assert handled(other, key, frames(rows[2:]), job="other") == expected


def test_a_batch_that_failed_half_way_is_run_again_from_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    log = by_hand(
        (0, "register", "q", asked()), chunk(500, "a"), (1000, "tick", None), chunk(1500, "b"), (2000, "tick", None)
    )
    rows = routed(log)
    handle, key = Handle(), (rows[0].group, 0)
    expected = list(Group(key[0]).feed(rows))
    assert handled(handle, key, frames(rows[:3])) == expected[:1]

    def full(values: FakeMap, key: tuple[int, int], value: tuple[bytes]) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(FakeMap, "updateValue", full)
        with pytest.raises(OSError, match="no space left"):
            handled(handle, key, frames(rows[3:]))
    assert handled(handle, key, frames(rows[3:])) == expected[1:]


def test_a_kept_query_that_cannot_be_read_any_more_is_told() -> None:
    log = by_hand((0, "register", "q", asked()), (0, "register", "r", asked()), chunk(500, "a"), (1000, "tick", None))
    rows = routed(log)
    handle, key = Handle(), (rows[0].group, 0)
    handled(handle, key, frames(rows[:3]))
    handle.maps["values"].held[StateKey.registration(4)] = (b"{}",)
    processors._remembered.clear()
    told = handled(handle, key, frames(rows[3:]))
    assert [(one.query, one.instant, type(one)) for one in told] == [(4, 0, QueryFailure), (5, 1000, InstantAnswer)]
    assert told[0].reason.startswith("the query cannot be read: ")


def test_who_waits_for_a_background_is_noted_until_that_is_stored(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is forgotten by the batch after the one that has answered: should that be tried again, somebody must wake
    the group."""
    ready = []

    class Told(Closings):
        def pending(self, group: str, closing: Closing) -> bool:
            return not ready

    monkeypatch.setattr(processors, "_closings", lambda data, limits: Told())
    monkeypatch.setattr(BackgroundWait, "_closing", lambda wait, member: Closing("any", 1, lambda: None))
    monkeypatch.setattr(processors, "_guard", lambda terms, limits: EvaluationGuard())
    terms = GuardTerms(store.directory.checkpoint / "notes", beside=str(store.directory.path))
    waiting, handle, log = WaitingGroups(store.database), Handle(), a_log()
    rows = routed(log)
    (group,) = {row.group for row in rows}
    woken = frames([wake(group)], 1)[:1]
    expected = list(Group(group).feed(rows))
    processors._remembered.clear()

    def told(given: list[pandas.DataFrame]) -> list[Message]:
        return handled(handle, (group, 0), given, terms=terms)

    first, rest = [row for row in rows if row.at < 1500], [row for row in rows if 1500 <= row.at < 2600]
    assert told(frames(first)) == [] and told(frames(rest)) == []
    assert {name: one.queries for name, one in waiting.groups().items()} == {group: (5, 7)}
    assert waiting.groups()[group].triples == 1
    assert told(woken) == []
    ready.append(True)
    answered = told(woken)
    assert answered == expected[: len(answered)] != []
    assert group in waiting.groups()
    assert told(woken) == [] and waiting.groups() == {}
    assert told(frames([row for row in rows if row.at >= 2600])) == expected[len(answered) :]
