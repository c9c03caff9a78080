"""The client's fold, against the wholes that the server has, and over a real socket.

answers ──▶ wholes, as the server spells them ───────────────┐
   └──────▶ changes, as the server spells them ──▶ fold ──▶ the same
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Result
from csparql_spark.client import IRI, AnswerFold, Change, Client, Event, Literal, ProblemError, following
from csparql_spark.client.answer import Answer, answer_of
from csparql_spark.client.changes import folded
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.server.backend import Backend
from csparql_spark.server.subscribers.changes import WholeParts, change_envelopes
from csparql_spark.server.subscribers.instants import envelope_pieces
from csparql_spark.store import StoredAnswer
from tests.examples import examples
from tests.server.playing import TEXT, Engine, record

LISTED = f"{TEXT} ORDER BY ?n"
CELLS = st.sampled_from(
    [None, "<x>", "_:x", '"x"', '"x"@en', '"1"^^<http://www.w3.org/2001/XMLSchema#integer>', '"\u2028"']
)
LINES = [f'<urn:a> <urn:p> "{text}" .\n' for text in ("a", "b", "\u2028", "\x85", "é")]


@st.composite
def tables(draw: st.DrawFn) -> Result:
    rows = draw(st.lists(st.tuples(CELLS, CELLS, st.sampled_from([5000, 7000, ALWAYS])), max_size=6))
    made = Result.bindings(("s", "n"), [[row[0] for row in rows], [row[1] for row in rows]])
    timed = draw(st.booleans())
    return made.holding(np.array([row[2] for row in rows], dtype=np.int64)) if timed else made


@st.composite
def truths(draw: st.DrawFn) -> Result:
    made = Result.boolean(draw(st.booleans()))
    return made.holding(np.array([draw(st.sampled_from([5000, ALWAYS]))])) if draw(st.booleans()) else made


graphs = st.lists(st.sampled_from(LINES), unique=True).map(lambda lines: Result.graph("".join(sorted(lines))))
HISTORIES = st.one_of(*(st.lists(kind, min_size=1, max_size=6) for kind in (tables(), truths(), graphs)))


def stored(answers: list[Result]) -> list[list[StoredAnswer]]:
    return [[StoredAnswer(1, 1000 * i, 0, len(one), one.to_bytes())] for i, one in enumerate(answers, 1)]


def content(answer: Answer, *, listed: bool) -> tuple[object, object]:
    """What an answer says, of rows with what term each is; and whether it says until when that holds, which of no rows
    is all that can be another thing."""
    if answer.triples is not None or answer.truth is not None:
        return (answer.triples, answer.truth, answer.until), None
    untils = answer.until if answer.until is not None else ["untold"] * len(answer.rows)
    rows = [
        (tuple((name, type(value), value) for name, value in sorted(row.items())), until)
        for row, until in zip(answer.rows, untils, strict=True)
    ]
    return (answer.variables, rows if listed else Counter(rows)), answer.until is not None


@given(HISTORIES, st.booleans(), st.booleans())
@settings(max_examples=examples(300), deadline=None)
def test_what_is_folded_is_the_whole(answers: list[Result], listed: bool, every: bool) -> None:
    query = record(1, text=LISTED if listed else TEXT)
    wholes = {
        parts[0].instant: answer_of(json.loads(b"".join(envelope_pieces("q", parts, [])))) for parts in stored(answers)
    }
    fold, at = AnswerFold(), None
    for pieces in change_envelopes(query, map(WholeParts, stored(answers)), every=every):
        before = fold.whole() if at else None
        change = fold.take(json.loads(b"".join(pieces)))
        now = content(wholes[change.at], listed=listed)
        same = at is not None and now[0] == content(wholes[at], listed=listed)[0]
        assert (change.kind, change.since) == ("keyframe" if at is None else "unchanged" if same else "change", at)
        assert content(change.whole, listed=listed) == now
        if before is not None and before.triples is None and before.truth is None:
            assert Counter(plain(before.rows)) - Counter(plain(change.removed)) == Counter(
                plain(change.whole.rows)
            ) - Counter(plain(change.added))
        at = change.at
    if every:
        assert at == 1000 * len(answers)
    assert content(fold.whole(), listed=listed) == content(wholes[1000 * len(answers)], listed=listed)


def plain(rows: object) -> list[str]:
    return [repr(sorted(row.items())) for row in rows]


def told(answers: list[Result], text: str = TEXT) -> list[dict]:
    return [
        json.loads(b"".join(pieces))
        for pieces in change_envelopes(record(1, text=text), map(WholeParts, stored(answers)), every=True)
    ]


def rows(*names: str) -> Result:
    return Result.bindings(("n",), [[f'"{name}"' for name in names]])


def lost(fold: AnswerFold, change: Change) -> bool:
    """Whether nothing is held any more; a whole mends it."""
    with pytest.raises(LookupError, match=rf"with client.answers\('q', at={change.at}\)"):
        _ = change.whole
    assert fold.at is None
    return fold.take(told([rows("x")])[0]).whole.at == 1000


@pytest.mark.parametrize("text", [TEXT, LISTED])
def test_a_change_that_is_missed(text: str) -> None:
    frame, _, second = told([rows("a", "b"), rows("b", "c"), rows("c", "d")], text)
    fold = AnswerFold()
    fold.take(frame)
    assert lost(fold, fold.take(second))


@pytest.mark.parametrize("text", [TEXT, LISTED])
@pytest.mark.parametrize("others", [("b",), ("c", "b"), ("b", "c")])
def test_a_row_that_goes_and_is_not_there(text: str, others: tuple[str, ...]) -> None:
    _, change = told([rows("a", "b"), rows("b", "c")], text)
    fold = AnswerFold()
    fold.take(told([rows(*others)])[0])
    assert lost(fold, fold.take(change))


@pytest.mark.parametrize("part, place", [("added", 7), ("added", -1), ("removed", 7), ("removed", -1), ("until", 7)])
def test_a_place_that_is_none(part: str, place: int) -> None:
    longer = [Result.holding(rows("a", "b"), np.array(until)) for until in ([5, 5], [5, 9])]
    frame, change = told(longer if part == "until" else [rows("a", "b"), rows("b", "c")], LISTED)
    change[part]["places"] = [place]
    fold = AnswerFold()
    fold.take(frame)
    assert lost(fold, fold.take(change))


def test_a_triple_that_goes_and_is_not_there() -> None:
    _, change = told([Result.graph(LINES[0]), Result.graph(LINES[1])])
    fold = AnswerFold()
    fold.take(told([Result.graph(LINES[1])])[0])
    assert lost(fold, fold.take(change))


def test_a_whole_is_made_before_the_next_change() -> None:
    fold = AnswerFold()
    frame, first, second = (fold.take(one) for one in told([rows("a"), rows("b"), rows()]))
    assert second.whole.rows == [] and second.variables == ("n",)
    with pytest.raises(LookupError, match="the answer of q at 2000 is not held here, that at 3000 is"):
        _ = first.whole
    assert [row["n"].value for row in first.added] == ["b"]
    assert frame.kind == "keyframe"


def test_what_cannot_be_read_is_a_gap() -> None:
    parts = stored([rows("a"), rows("b"), rows("c")])
    parts[1][0] = replace(parts[1][0], damage="it is damaged")
    fold = AnswerFold()
    changes = [
        fold.take(json.loads(b"".join(pieces)))
        for pieces in change_envelopes(record(1), map(WholeParts, parts), every=False)
    ]
    assert [change.kind for change in changes] == ["keyframe", "problem", "keyframe"]
    assert [row["n"].value for row in changes[-1].whole.rows] == ["c"]


# --- over a real socket


@pytest.fixture
def client(port: int) -> Iterator[Client]:
    with Client(f"http://127.0.0.1:{port}", timeout=20, patience=20) as client:
        yield client


def made(client: Client, name: str, text: str = TEXT) -> int:
    client.create_stream("s", clock="event")
    return client.register(name, text.replace("QUERY q", f"QUERY {name}"))["id"]


def cut_after(monkeypatch: pytest.MonkeyPatch, *counts: int) -> Iterator[int]:
    """Break connections, the first after so many events; how many events those are that are not yet broken."""
    connection, left = following.connected, iter(counts)

    def cutting(wire: object, path: str, last: str | None) -> Iterator[object]:
        count = next(left, None)
        told = 0
        for event in connection(wire, path, last):
            if isinstance(event, Event) and event.kind:
                told += 1
            yield event
            if told == count:
                raise ConnectionResetError("cut")

    monkeypatch.setattr(following, "connected", cutting)
    return left


@pytest.mark.parametrize("changes", [True, "all"])
def test_who_follows_over_connections_that_break_has_the_wholes(
    port: int, backend: Backend, changes: bool | str
) -> None:
    engine, numbers = Engine(backend), itertools.count()

    @given(HISTORIES, st.booleans(), st.lists(st.integers(1, 3), max_size=2))
    @settings(max_examples=examples(12), deadline=None)
    def follow(answers: list[Result], listed: bool, cuts: list[int]) -> None:
        name = f"q{next(numbers)}"
        with pytest.MonkeyPatch.context() as patched, Client(f"http://127.0.0.1:{port}", patience=20) as client:
            cut_after(patched, *cuts)
            query = made(client, name, LISTED if listed else TEXT)
            for instant, answer in enumerate(answers, 1):
                engine.answer(query, 1000 * instant, answer)
            wholes = {
                instant: client._kept(name, query, instant) for instant in range(1000, 1000 * len(answers) + 1, 1000)
            }
            said = {instant: content(answer_of(whole), listed=listed) for instant, whole in wholes.items()}
            due = [at for at in said if changes == "all" or said[at] != said.get(at - 1000)]
            told = client.follow(name, changes=changes, start="beginning")
            for at, change in zip(due, told, strict=False):
                assert (change.at, content(change.whole, listed=listed)) == (at, said[at])
                same = at > 1000 and said[at][0] == said[at - 1000][0]
                assert change.kind == ("keyframe" if at == 1000 else "unchanged" if same else "change")
            told.close()

    follow()


def test_a_change_since_an_instant_that_was_not_told_is_mended(
    client: Client, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The id of another query's event says that r was told all up to 2000, where nothing had changed."""
    q, r = made(client, "q"), made(client, "r")
    asked: list[tuple[str, int]] = []
    kept = client._kept
    monkeypatch.setattr(
        client, "_kept", lambda query, *asked_for: asked.append((query, asked_for[-1])) or kept(query, *asked_for)
    )
    cut_after(monkeypatch, 3)
    engine.answer(q, 1000, rows("a"))
    engine.answer(r, 1000, rows("x"))
    changes = client.follow("q", "r", start="latest")
    assert {(change.query, change.kind) for change in itertools.islice(changes, 2)} == {
        ("q", "keyframe"),
        ("r", "keyframe"),
    }
    engine.answer(r, 2000, rows("x"))
    engine.answer(q, 2000, rows("b"))
    change = next(changes)
    assert (change.query, change.since, [str(row["n"]) for row in change.whole.rows]) == ("q", 1000, ["b"])
    engine.answer(r, 3000, rows("x", "y"))
    change = next(changes)
    assert (change.query, change.since) == ("r", 2000) and asked == [("r", 2000)]
    assert [str(row["n"]) for row in change.added] == ["y"]
    assert [str(row["n"]) for row in change.whole.rows] == ["x", "y"]
    engine.answer(r, 4000, rows("y"))
    assert [row["n"] for row in next(changes).whole.rows] == [Literal("y")] and len(asked) == 1
    changes.close()


def test_after_a_gap_a_keyframe(client: Client, engine: Engine, backend: Backend) -> None:
    query = made(client, "q")
    for instant, name in enumerate("abc", 1):
        engine.answer(query, 1000 * instant, rows(name))
    with backend.stores.database.transaction() as connection:
        connection.execute("UPDATE answers SET payload = x'00' WHERE query = ? AND instant = 2000", (query,))
    seen: list[Event] = []
    changes = client.follow("q", start="beginning", notice=seen.append)
    first, second = next(changes), next(changes)
    assert [(change.kind, change.at) for change in (first, second)] == [("keyframe", 1000), ("keyframe", 3000)]
    assert [(event.kind, event.data["reason"]) for event in seen] == [("gap", "damaged")]
    assert [row["n"].value for row in second.whole.rows] == ["c"]
    changes.close()


def test_what_can_be_had_no_more_is_told_without_the_whole() -> None:
    frame, first, second = told([rows("a"), rows("a", "b"), rows("b")])
    asked: list[int] = []

    def followed(kept: dict[int, dict], *data: dict) -> list[Change]:
        events = [Event("keyframe" if one is frame else "change", one) for one in data]
        return list(folded(events, lambda query, version, at: asked.append(at) or kept.get(at), lambda event: None))

    (change,) = followed({}, first)
    assert asked == [1000, 2000] and [str(row["n"]) for row in change.added] == ["b"] and change.variables == ("n",)
    with pytest.raises(LookupError):
        _ = change.whole
    (change,) = followed({2000: {**frame, "at": 2000}}, first)
    assert change.whole.at == 2000 and change.whole.rows == [{"n": Literal("a")}]
    asked.clear()
    assert [change.at for change in followed({}, frame, first, second)] == [1000, 2000, 3000] and asked == []


def test_a_gap_drops_what_was_folded_and_the_end_does() -> None:
    frame, first, _ = told([rows("a"), rows("a", "b"), rows("b")])
    for kind in ("gap", "end"):
        asked: list[int] = []
        events = [Event("keyframe", frame), Event(kind, {"query": "q"}), Event("change", first)]
        heard: list[Event] = []
        list(folded(events, lambda query, version, at, asked=asked: asked.append(at), heard.append))
        assert asked == [1000, 2000] and [event.kind for event in heard] == [kind]


def test_a_query_that_is_replaced_is_followed_from_one_version_to_the_next(client: Client, engine: Engine) -> None:
    first = made(client, "q")
    heard: list[Event] = []
    changes = client.follow("q", notice=heard.append)

    def say(version: int, instant: int, *names: str) -> None:
        engine.answer(version, instant, rows(*names))

    say(first, 1000, "a")
    assert next(changes).version == first
    second = client.replace("q", TEXT.replace("2s", "3s"), first)["version"]
    say(second, 1000, "x")
    say(first, 2000, "a", "b")
    say(second, 2000, "x", "y")
    seen = [
        (change.version, change.kind, sorted(map(str, names_of(change)))) for change in itertools.islice(changes, 3)
    ]
    assert seen == [(second, "keyframe", ["x"]), (first, "change", ["a", "b"]), (second, "change", ["x", "y"])]
    assert [(event.kind, event.data["version"]) for event in heard] == [("replaced", second)]
    third = client.replace("q", TEXT)["version"]
    say(third, 500, "z")
    change = next(changes)
    assert (change.version, change.kind, names_of(change)) == (third, "keyframe", ["z"])
    assert change.whole.version == third
    changes.close()


def names_of(change: Change) -> list[str]:
    return [row["n"].value for row in change.whole.rows]


def test_a_fold_holds_one_version() -> None:
    frame, first, _ = told([rows("a"), rows("a", "b"), rows("b")])
    fold = AnswerFold()
    fold.take({**frame, "version": 3})
    assert fold.take({**first, "version": 7}).kind == "change" and fold.at is None
    fold.take({**frame, "version": 7})
    assert len(fold.take({**first, "version": 7}).whole.rows) == 2


def test_a_query_that_fails_is_told_or_raised(client: Client, engine: Engine) -> None:
    query = made(client, "q")
    engine.answer(query, 1000, Result.from_rows(("s", "n"), [{"s": "<urn:a>"}]))
    engine.fail(query, 2000, "too many rows")
    changes = client.follow("q")
    assert next(changes).whole.rows == [{"s": IRI("urn:a")}]
    with pytest.raises(ProblemError, match="The query q has failed: too many rows"):
        next(changes)
    with pytest.raises(ValueError, match="wholes are what `subscribe` tells"):
        client.follow("q", changes=False)
