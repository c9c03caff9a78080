"""Changes: who folds them into the keyframe before them has the whole answer at each instant that is told.

told      ●──●──●──●──●──●──●
kept               ●──●──●──●
listener  k  +  +        k  +        a keyframe again where something was not told
again              └ last id ─▶ what has changed since, or a gap and a keyframe
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Bindings, Result
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.server.subscribers import instants
from csparql_spark.server.subscribers.changes import change_text, delta_from
from csparql_spark.server.subscribers.subscription import (
    FIRST,
    LATEST,
    Subscription,
    SubscriptionStart,
    Wishes,
    start_after,
)
from csparql_spark.server.subscribers.voices import AskedChanges
from csparql_spark.store import AnswerStore, StoredAnswer, keyframes
from csparql_spark.store.chains import AnswerRows, ChainReader
from csparql_spark.store.registry import QueryRecord
from tests.examples import examples
from tests.server.playing import BASE, Event, registered
from tests.server.test_subscription import House, events_of

TEXT = (
    f"REGISTER QUERY {{name}} AS {{select}} FROM STREAM <{BASE}/streams/s> [RANGE 2s STEP 1s] "
    "WHERE {{ ?s <urn:n> ?n }}{more}"
)
ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([5000, 7000, ALWAYS])), max_size=5)


MANY = [(f"m{number}", ALWAYS) for number in range(600)]  # of so many rows changes are stored
MORE = [(f"n{number}", ALWAYS) for number in range(60)]


def answer(rows: list[tuple[str, int]], *, listed: bool = False) -> Result:
    rows = rows if listed else sorted(rows, key=lambda row: (row[0], -row[1]))
    made = Result.bindings(("n",), [[f'"{name}"' for name, _ in rows]])
    return made.holding(np.array([until for _, until in rows], dtype=np.int64))


def shown(rows: list[tuple[str, int]]) -> list[tuple[str, int | None]]:
    return [(name, None if until == ALWAYS else until) for name, until in rows]


class Fold:
    """A client that keeps a list of what it was told, as plainly as can be."""

    def __init__(self) -> None:
        self.at: int | None = None
        self.rows: list[tuple[str, int | None]] = []
        self.listed = False

    def hear(self, event: Event) -> bool:
        """Whether it was told what is so at an instant."""
        data = event.data
        if event.kind in ("gap", "problem", "end"):
            self.at = None
            return False
        if event.kind == "keyframe":
            assert data["key"] == ["n"]
            self.listed = data.get("listed", False)
            self.rows = pairs(data["results"]["results"]["bindings"], data["until"])
        elif event.kind == "change":
            assert data["since"] == self.at
            added, removed, until = data["added"], data["removed"], data["until"]
            gone = pairs(removed["bindings"], removed["until"])
            assert removed["revoked"] == [end is None or end > data["at"] for _, end in gone]
            assert self.listed == ("places" in added)
            if self.listed:
                for place in reversed(removed["places"]):
                    assert self.rows.pop(place) in gone
                for place, row in zip(added["places"], pairs(added["bindings"], added["until"]), strict=True):
                    self.rows.insert(place, row)
                for place, row in zip(until["places"], pairs(until["bindings"], until.get("until", [])), strict=True):
                    assert self.rows[place][0] == row[0]
                    self.rows[place] = row
            else:
                for row in gone + pairs(until["bindings"], until.get("was", [])):
                    self.rows.remove(row)
                self.rows += pairs(added["bindings"], added["until"])
                self.rows += pairs(until["bindings"], until.get("until", []))
        self.at = data["at"]
        return True


def pairs(bindings: list[dict], until: list[int | None]) -> list[tuple[str, int | None]]:
    return [(row["n"]["value"], end) for row, end in zip(bindings, until, strict=True)]


class Teller(House):
    """A house whose query says rows."""

    def __init__(self, path: Path, text: str) -> None:
        super().__init__(path)
        self.writer.append(QueryRecord.draft("rows", text=text, base=None))
        self.rows = self.registry.query("rows").id
        self.said: dict[int, list[tuple[str, int | None]]] = {}

    def say(self, rows: list[tuple[str, int]], *, listed: bool) -> None:
        instant, made = 1000 * (1 + len(self.said)), answer(rows, listed=listed)
        self.said[instant] = shown(rows)
        self.store.write([StoredAnswer(self.rows, instant, 0, len(made), made.to_bytes(), listed=listed)])

    def listen(self, start: SubscriptionStart, changes: AskedChanges = AskedChanges.CHANGED) -> list[Event]:
        subscription = Subscription(
            self.fanout, ["rows"], start, heartbeat_seconds=0.0, slow_instants=20, wishes=Wishes(changes=changes)
        )
        return events_of(iter(subscription))


def select(listed: bool) -> str:
    return TEXT.format(name="rows", select="SELECT ?n", more=" ORDER BY ?n" if listed else "")


@pytest.fixture
def teller(tmp_path: Path) -> Iterator[Teller]:
    house = Teller(tmp_path / "data", select(False))
    yield house
    house.close()


@given(st.data(), st.booleans(), st.sampled_from([AskedChanges.CHANGED, AskedChanges.ALL]))
@settings(max_examples=examples(30), deadline=None)
def test_whoever_folds_them_has_the_whole(tmp_path_factory, data, listed: bool, changes: AskedChanges) -> None:
    """A client that comes and goes, while answers come and old ones are forgotten."""
    house = Teller(tmp_path_factory.mktemp("data"), select(listed))
    try:
        fold, last = Fold(), None
        more = MANY if data.draw(st.booleans(), label="many") else []
        for rows in data.draw(st.lists(ROWS, min_size=1, max_size=8)):
            house.say([*rows, *more], listed=listed)
            if data.draw(st.booleans()):
                continue
            if data.draw(st.booleans()):
                house.keep(data.draw(st.integers(1, 3)))
            start = FIRST if last is None else start_after(last, house.fanout.order)
            for event in house.listen(start, changes):
                last = event.id or last
                if event.kind and fold.hear(event):
                    now = house.said[fold.at]
                    assert fold.rows == now if listed else Counter(fold.rows) == Counter(now)
            assert fold.at is not None
            assert Counter(fold.rows) == Counter(house.said[1000 * len(house.said)])
    finally:
        house.close()


def test_what_is_told(teller: Teller) -> None:
    """a holds longer, b goes before its time, c comes; then nothing changes."""
    teller.say([("a", 2000), ("b", 9000), ("d", 2000)], listed=False)
    teller.say([("a", 5000), ("c", ALWAYS)], listed=False)
    teller.say([("a", 5000), ("c", ALWAYS)], listed=False)
    frame, change = teller.listen(FIRST)
    assert (frame.kind, frame.data["at"], frame.data["key"]) == ("keyframe", 1000, ["n"])

    def row(name: str) -> dict[str, object]:
        return {"n": {"type": "literal", "value": name}}

    assert change == Event(
        "change",
        {
            "query": "rows",
            "version": teller.rows,
            "at": 2000,
            "since": 1000,
            "added": {"bindings": [row("c")], "until": [None]},
            "removed": {"bindings": [row("b"), row("d")], "until": [9000, 2000], "revoked": [True, False]},
            "until": {"bindings": [row("a")], "until": [5000], "was": [2000]},
        },
        "2",
    )
    assert [event.kind for event in teller.listen(FIRST, AskedChanges.ALL)] == ["keyframe", "change", "unchanged"]
    assert teller.listen(FIRST, AskedChanges.ALL)[-1] == Event(
        "unchanged", {"query": "rows", "version": teller.rows, "at": 3000, "since": 2000}, "3"
    )


def test_who_comes_back_is_told_what_has_changed_since(teller: Teller) -> None:
    teller.say([("a", 9000)], listed=False)
    (frame,) = teller.listen(LATEST)
    teller.say([("b", 9000)], listed=False)
    teller.say([("c", 9000)], listed=False)
    back = teller.listen(start_after(frame.id, teller.fanout.order))
    assert [(event.kind, event.data["at"], event.data["since"]) for event in back] == [
        ("change", 2000, 1000),
        ("change", 3000, 2000),
    ]
    teller.keep(1)
    gone = teller.listen(start_after(frame.id, teller.fanout.order))
    assert [event.kind for event in gone] == ["gap", "keyframe"]


def test_what_is_damaged_is_a_gap_and_then_a_keyframe(teller: Teller) -> None:
    for name in "abc":
        teller.say([(name, 9000)], listed=False)
    with teller.database.transaction() as connection:
        connection.execute("UPDATE answers SET payload = x'00' WHERE query = ? AND instant = 2000", (teller.rows,))
    assert [event.kind for event in teller.listen(FIRST)] == ["keyframe", "gap", "keyframe"]


def test_each_change_is_spelled_once_for_all(teller: Teller, monkeypatch: pytest.MonkeyPatch) -> None:
    from csparql_spark.server.subscribers import fanout

    seen, text = [], fanout.change_text

    def spell(delta, at: int) -> bytes:
        seen.append(at)
        return text(delta, at)

    monkeypatch.setattr(fanout, "change_text", spell)
    for name in "abc":
        teller.say([(name, 9000)], listed=False)
    told = [teller.listen(FIRST) for _ in range(3)]
    assert told[0] == told[1] == told[2] and seen == [2000, 3000]


def test_what_is_stored_as_a_change_is_told_as_it_is(teller: Teller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody puts a whole together for who has the one before it; who does not, is told what is compared."""
    for names in ("a", "ab", "ab", "b", "c"):
        teller.say([*((name, 9000) for name in names), *MANY, *MORE], listed=False)
    read, at = [], ChainReader.at
    monkeypatch.setattr(ChainReader, "at", lambda self, instant: [read.append(instant), *at(self, instant)][1:])
    heard = teller.listen(FIRST, AskedChanges.ALL)
    assert [(event.kind, event.data.get("since")) for event in heard] == [
        ("keyframe", None),
        ("change", 1000),
        ("unchanged", 2000),
        ("change", 3000),
        ("change", 4000),
    ]
    assert read == [1000]
    assert [row["n"]["value"] for row in heard[4].data["removed"]["bindings"]] == ["b"]
    teller.keep(1)  # its keyframe stays
    assert [event.kind for event in teller.listen(FIRST)] == ["keyframe", *["change"] * 3]


def test_of_an_istream_nothing_is_revoked_as_it_is_told(tmp_path: Path) -> None:
    house = Teller(tmp_path / "data", TEXT.format(name="rows", select="SELECT ISTREAM ?n", more=""))
    for names in ("a", "b"):
        house.say([*((name, 9000) for name in names), *MANY], listed=False)
    assert house.store.change(house.rows, 2000) is not None
    assert house.listen(FIRST)[1].data["removed"]["revoked"] == [False]
    house.close()


def test_wholes_are_put_together_of_the_one_before(teller: Teller, monkeypatch: pytest.MonkeyPatch) -> None:
    read, select = [], AnswerRows.select
    monkeypatch.setattr(
        AnswerRows, "select", lambda self, clause, values: read.append(clause) or select(self, clause, values)
    )
    start = FIRST
    for names in ("a", "b", "c", "d", "e"):
        teller.say([(names, 9000), *MANY], listed=False)
        for event in teller.listen(start, AskedChanges.NONE):
            assert event.data["results"]["results"]["bindings"][0]["n"]["value"] == names
            start = start_after(event.id, teller.fanout.order)
    assert len([clause for clause in read if "position" not in clause]) == 5 and teller.fanout._wholes.nbytes > 0


def test_how_large_an_answer_is_does_not_hang_on_those_before(teller: Teller, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row of many is long, and another one each time."""
    monkeypatch.setattr(instants, "MOST_TOLD", 300_000)
    monkeypatch.setattr(keyframes, "LEAST_BYTES", 1 << 40)
    for at in range(12):
        teller.say([(f"{at:0100000}", ALWAYS), *MANY], listed=False)
    assert teller.store.size(teller.rows, 12_000) > 6 * instants.MOST_TOLD
    heard = teller.listen(FIRST, AskedChanges.NONE)
    assert [(event.kind, event.data["at"]) for event in heard] == [("answer", 1000 * at) for at in range(1, 13)]
    assert [event.data["at"] for event in teller.listen(LATEST, AskedChanges.NONE)] == [12_000]


def test_what_is_compared_goes_on_from_the_one_before(teller: Teller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody comes back who knows an instant that is not the last one."""
    for names in "abcdef":
        teller.say([(names, 9000), *MANY], listed=False)
    links, read = [], ChainReader._links
    monkeypatch.setattr(
        ChainReader, "_links", lambda self, row, begin: links.append((begin, row.instant)) or read(self, row, begin)
    )
    news = teller.fanout.look()
    (place,) = teller.fanout.order.newest({teller.rows}, news.head)
    assert b'"added"' in teller.fanout.change(3000, place, news)
    assert links == [(1000, 3000), (3000, 6000)]


# --- over HTTP


def test_a_range_of_changes_reads_what_is_stored(client, engine, monkeypatch: pytest.MonkeyPatch) -> None:
    query = registered(client)
    names = ["a", "ab", "ab", "b", "c"]
    for instant, some in enumerate(names, 1):
        engine.answer(query, 1000 * instant, answer([*((name, 9000) for name in some), *MANY]))
    every = client.get("/queries/q/answers?changes=all&from=beginning")
    few = client.get("/queries/q/answers?changes&from=beginning")
    one = client.get("/queries/q/answers?changes&at=4000")
    monkeypatch.setattr(AnswerStore, "change", lambda *_: None)
    assert every.json == client.get("/queries/q/answers?changes=all&from=beginning").json
    assert few.json == client.get("/queries/q/answers?changes&from=beginning").json
    assert [(told["at"], told.get("since")) for told in few.json] == [
        (1000, None),
        (2000, 1000),
        (4000, 2000),
        (5000, 4000),
    ]
    assert one.json == client.get("/queries/q/answers?changes&at=4000").json == every.json[3]
    assert client.get("/queries/q/answers?at=4000").headers["X-CSPARQL-Instant"] == "4000"


def test_one_instant_and_a_range(client, engine) -> None:
    query = registered(client)
    for instant, rows in enumerate([[("a", 9000)], [("a", 9000), ("b", 9000)], [("a", 9000), ("b", 9000)], []], 1):
        engine.answer(query, 1000 * instant, answer(rows))
    newest = client.get("/queries/q/answers?changes").json
    assert (newest["at"], newest["since"], len(newest["removed"]["bindings"])) == (4000, 3000, 2)
    assert newest["removed"]["revoked"] == [True, True]
    same = client.get("/queries/q/answers?changes&at=3000").json
    assert (same["since"], same["added"]["bindings"], same["removed"]["bindings"]) == (2000, [], [])
    first = client.get("/queries/q/answers?changes&at=1000").json
    assert "since" not in first and len(first["results"]["results"]["bindings"]) == 1 and first["key"] == ["s", "n"]
    lines = client.get("/queries/q/answers?changes&from=beginning", headers={"Accept": "application/x-ndjson"}).text
    told = [json.loads(line) for line in lines.splitlines()]
    assert [(one["at"], one.get("since")) for one in told] == [(1000, None), (2000, 1000), (4000, 2000)]
    every = client.get("/queries/q/answers?changes=all&from=beginning").json
    assert [(one["at"], one.get("since")) for one in every] == [(1000, None), (2000, 1000), (3000, 2000), (4000, 3000)]


@pytest.mark.parametrize("path", ["/queries/q/answers?changes=maybe", "/events?changes=2"])
def test_what_cannot_be_asked_for(client, path: str) -> None:
    registered(client)
    refused = client.get(path)
    assert (refused.status_code, refused.json["code"]) == (400, "bad-setting")
    assert "write ?changes" in refused.json["detail"]


def test_truths_and_graphs(client, engine) -> None:
    query = registered(client)
    for instant, truth in enumerate([True, True, False], 1):
        engine.answer(query, 1000 * instant, Result.boolean(truth))
    told = client.get("/queries/q/answers?changes=all&from=beginning").json
    assert [one.get("boolean") for one in told[1:]] == [None, False]
    other = registered(client, TEXT.format(name="g", select="SELECT ?n", more=""), "g")
    engine.answer(other, 1000, Result.graph("<urn:a> <urn:p> <urn:é> .\n<urn:b> <urn:p> <urn:o> .\n"))
    engine.answer(other, 2000, Result.graph('<urn:b> <urn:p> <urn:o> .\n<urn:c> <urn:p> "\\"" .\n'))
    change = client.get("/queries/g/answers?changes").json
    assert change["added"] == '<urn:c> <urn:p> "\\"" .\n' and change["removed"] == "<urn:a> <urn:p> <urn:é> .\n"


def test_no_term_is_told_twice_to_compare_two_answers(teller: Teller) -> None:
    """A term of a megabyte in two thousand rows is two gigabytes of text."""
    literal = pa.array([f'"{"x" * (1 << 20)}"', *(f'"{number:04}"' for number in range(2000))])
    numbers = np.arange(1, 2001, dtype=np.int32)
    for instant, count in ((1000, 2000), (2000, 1999)):
        ids = [np.zeros(count, dtype=np.int32), numbers[:count]]
        terms = pa.concat_arrays([literal[1:], literal[:1]])  # in the order of their text
        table = Bindings.from_ids(("n", "m"), terms, [ids[0] + np.int32(2000), ids[1] - np.int32(1)], in_order=True)
        whole = Result.from_table(table)
        teller.store.write([StoredAnswer(teller.rows, instant, 0, count, whole.to_bytes())])
    query = teller.registry.query("rows")
    before, now = (teller.store.at(teller.rows, instant) for instant in (1000, 2000))
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(pool)
    try:
        delta = delta_from(query, before, now)
        assert (len(delta.added), len(delta.removed)) == (0, 1)
        assert len(change_text(delta, 2000)) < 2 << 20
        del delta  # what the pool has given goes before it
    finally:
        pa.set_memory_pool(usual)
    assert 0 < pool.max_memory() < 100 << 20


def test_what_is_new_is_never_revoked(client, engine) -> None:
    """An ISTREAM says what is new at its instant: until when that is in the window is no promise to say it again."""
    query = registered(client, TEXT.format(name="i", select="SELECT ISTREAM ?n", more=""), "i")
    engine.answer(query, 1000, answer([("a", 9000)]))
    engine.answer(query, 2000, answer([("b", 9000)]))
    removed = client.get("/queries/i/answers?changes").json["removed"]
    assert (removed["until"], removed["revoked"]) == ([9000], [False])
