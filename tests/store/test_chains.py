"""Answers that are stored as keyframes and changes: what is read is what was written, and what is stored hangs on the
answers alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Result
from csparql_spark.answers.delta import delta_of, folded
from csparql_spark.answers.delta_bytes import to_bytes
from csparql_spark.disk.errors import StoreError
from csparql_spark.store import StoredAnswer, chains, folding, keyframes, newest_answers
from csparql_spark.store.inspection import inspect
from csparql_spark.store.order import AnswerOrder
from csparql_spark.store.retention import _forget_old
from csparql_spark.store.stored_answers import COLUMNS, AnswerRow
from tests.examples import examples

from .histories import History, histories
from .opened import Opened

several = st.tuples(histories(1), histories(2), histories(3, most=3))


@pytest.fixture(autouse=True)
def _answers_of_fewer_rows_are_compared() -> Iterator[None]:
    """So that histories may be short, and rows, too."""
    with mock.patch.object(keyframes, "LEAST_COMPARED", 32), mock.patch.object(keyframes, "LEAST_BYTES", 64):
        yield


@contextmanager
def opened() -> Iterator[Opened]:
    with tempfile.TemporaryDirectory() as path:
        store = Opened(Path(path))
        yield store
        store.close()


def rows(store: Opened) -> list[AnswerRow]:
    found = store.database.connection.execute(f"SELECT {COLUMNS} FROM answers ORDER BY query, instant, part")
    return [AnswerRow(*row)._replace(position=0) for row in found]


def twin(history: History) -> list[tuple[bytes, int | None, int, int]]:
    """Payload, since, frame and weight of each answer, as the rule is told: from two wholes, one after the other."""
    found: list[tuple[bytes, int | None, int, int]] = []
    frame, frame_rows, weight, count, room = 0, 0, 0, 0, 0
    before: Result | None = None
    for at, now in enumerate(history.answers, 1):
        changed = None
        if before is not None:
            delta = delta_of(before, now, listed=history.listed)
            changed = len(delta.added) + len(delta.removed) + len(delta.stayed)
            weighs = changed + 16 if changed else 1
            worth = 2 * weighs <= len(now) if changed else len(now) >= 32
            size = len(to_bytes(delta))
            if worth and weight + weighs <= frame_rows and count < 100 and size <= room:
                weight, count, room = weight + weighs, count + 1, room - size
                found.append((to_bytes(delta), 1000 * (at - 1), frame, weight))
            else:
                changed = None
        if changed is None:
            frame, frame_rows, weight, count = 1000 * at, len(now), 0, 0
            room = max(len(now.to_bytes()), keyframes.LEAST_BYTES)
            found.append((now.to_bytes(), None, frame, 0))
        before = now
    return found


def in_order(some: tuple[History, ...]) -> list[StoredAnswer]:
    return sorted((one for history in some for one in history.stored()), key=lambda one: (one.instant, one.query))


@given(several, st.data())
@settings(max_examples=examples(120), deadline=None)
def test_what_is_stored_hangs_on_the_answers_alone(some: tuple[History, ...], data: st.DataObject) -> None:
    """However they are cut into batches, whoever was started again in between or has forgotten what it knew, and
    whatever was written twice or forgotten."""
    told = in_order(some)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(told)), max_size=6), label="cuts"))
    most = data.draw(st.sampled_from([0, 20_000, 64 << 20]), label="bytes remembered")
    with opened() as store, mock.patch.object(newest_answers, "MOST_BYTES", most):
        elsewhere = Opened(store.directory.path)
        for start, end in pairwise([0, *cuts, len(told)]):
            way = data.draw(st.sampled_from(["on", "again", "elsewhere", "repeated", "fails"]), label="way")
            if way == "again":
                store = Opened(store.directory.path)
            elif way == "repeated":
                start = data.draw(st.integers(0, start), label="from")
            elif way == "fails":
                with pytest.raises(ZeroDivisionError), mock.patch.object(store.answers, "_measures", Failing()):
                    store.answers.write(told[start:end], costs=[(0.0, [])])
            (elsewhere if way == "elsewhere" else store).answers.write(told[start:end])
        found = rows(store)
        expected = [(history.query, *one) for history in some for one in twin(history)]
        assert [(row.query, row.unpacked, row.since, row.frame, row.weight) for row in found] == expected
        kept = data.draw(st.integers(1, 5), label="kept")
        for history in some:
            read_back(store, history, 1)
            with store.database.transaction() as connection:
                _forget_old(connection, history.query, kept)
            there = store.answers.instants(history.query, 0, 1 << 40, 1 << 20)
            count = len(history.answers)
            assert there == list(range(there[0], 1000 * count + 1, 1000)) and len(there) >= min(kept, count)
            assert found_whole(store, history.query, there[0]), "chains go as a whole"
            assert min(kept, count) == count or all(
                not found_whole(store, history.query, instant) for instant in there[1 : len(there) - kept + 1]
            ), "and all that can go has gone"
            read_back(store, history, there[0] // 1000)
        elsewhere.close()


class Failing:
    def write(self, *_: object, **__: object) -> None:
        raise ZeroDivisionError

    def forgotten(self) -> None:
        pass


def found_whole(store: Opened, query: int, instant: int) -> bool:
    return store.answers.change(query, instant) is None


def read_back(store: Opened, history: History, first: int) -> None:
    """All ways to read it say what was written."""
    query, answers = history.query, store.answers
    told = [(1000 * at, one) for at, one in enumerate(history.answers, 1) if at >= first]
    expected = [(instant, len(one), one.to_bytes()) for instant, one in told]
    instants = [instant for instant, _ in told]

    def seen(parts: list[StoredAnswer]) -> list[tuple[int, int, bytes]]:
        assert all(part.damage is None and part.result.to_bytes() == part.payload for part in parts)
        return [(part.instant, part.rows, part.payload) for part in parts]

    assert [one for instant in instants for one in seen(answers.at(query, instant))] == expected
    assert [one for parts in answers.each(query, instants) for one in seen(parts)] == expected
    assert [one for parts in answers.each(query, instants[::2]) for one in seen(parts)] == expected[::2]
    assert seen(answers.after(query, 0, 1000)) == expected and seen(answers.after(query, 0, 3)) == expected[:3]
    assert seen(answers.after(query, instants[0], 2)) == expected[1:3]
    assert seen(answers.latest(query)) == expected[-1:]
    assert answers.sizes(query, 0, 1 << 40, 1000) == [(instant, len(one)) for instant, one in told]
    for instant, _, payload in expected:
        assert answers.size(query, instant) >= len(payload) or not found_whole(store, query, instant)
    assert answers.largest(query, instants) == max(answers.size(query, instant) for instant in instants)
    assert answers.size(query, None) == answers.size(query, instants[-1])
    for (before, then), (instant, now) in pairwise(told):
        change = answers.change(query, instant)
        if change is not None:
            assert change.since == before and folded(then, change.delta).to_bytes() == now.to_bytes()
            (part,) = answers.at(query, instant)
            assert change.position == part.position


@given(histories(1), st.data())
@settings(max_examples=examples(150), deadline=None)
def test_of_what_is_damaged_nothing_is_made(history: History, data: st.DataObject) -> None:
    """It is told of those that are put together of it, up to the next keyframe; all others are what they were."""
    with opened() as store:
        store.answers.write(history.stored())
        stored = rows(store)
        broken = data.draw(st.integers(0, len(stored) - 1), label="row")
        column = data.draw(st.sampled_from(["payload", "since", "frame", "weight", "size", "rows", "gone"]), label="of")
        with store.database.transaction() as connection:
            if column == "gone":
                connection.execute("DELETE FROM answers WHERE instant = ?", (stored[broken].instant,))
            elif column == "payload":
                payload = bytearray(stored[broken].payload)
                payload[data.draw(st.integers(0, len(payload) - 1))] ^= 1 << data.draw(st.integers(0, 7))
                connection.execute(
                    "UPDATE answers SET payload = ? WHERE instant = ?", (bytes(payload), 1000 * (broken + 1))
                )
            else:
                value = data.draw(st.sampled_from([None, -5, 7, 1000, 2000, "x", b"x", 1.5]), label="is")
                if value is None and column == "rows" or value == getattr(stored[broken], column):
                    value = 3.5
                connection.execute(f"UPDATE answers SET {column} = ? WHERE instant = ?", (value, 1000 * (broken + 1)))
        lost = {1000 * (broken + 1)}
        for row in stored[broken + 1 :]:
            if row.since is None:
                break
            lost.add(row.instant)
        expected = {1000 * at: one.to_bytes() for at, one in enumerate(history.answers, 1)}
        instants = [instant for instant in expected if column != "gone" or instant != 1000 * (broken + 1)]
        ways = [
            [part for instant in instants for part in store.answers.at(1, instant)],
            [part for parts in store.answers.each(1, instants) for part in parts],
            store.answers.after(1, 0, 1000),
        ]
        for parts in ways:
            assert [part.instant for part in parts] == instants
            for part in parts:
                if part.instant in lost:
                    assert part.damage is not None and f"the answer at {part.instant} is damaged" in part.damage
                    assert part.payload == b""
                else:
                    assert part.damage is None and part.payload == expected[part.instant]
        found = {row.damage.at for row in inspect(store.directory.database).damaged}
        assert found == lost.intersection(instants)
        # Who goes on from there stores wholes, and everything that can be read is right.
        again = Opened(store.directory.path)
        more = [
            StoredAnswer(1, one.instant + 1_000_000, *(one.part, one.rows, one.content), listed=one.listed)
            for one in history.stored()
        ]
        again.answers.write(more)
        assert [one.payload for one in again.answers.after(1, 1_000_000, 1000)] == [one.payload for one in more]
        again.close()


def test_others_write_in_between(store: Opened) -> None:
    """A worker that knows what is stored hears of what another one has stored meanwhile."""
    told = long(9)
    other = Opened(store.directory.path)
    for place, one in enumerate(told):
        (store, other)[place // 2 % 2].answers.write([one])
    assert [row.since for row in rows(store)] == [None, *(one.instant for one in told[:-1])]
    assert [one.payload for one in store.answers.after(1, 0, 99)] == [one.payload for one in told]
    other.close()


def long(count: int, size: int = 200) -> list[StoredAnswer]:
    """Answers that differ in one row each."""
    names = [f"<urn:{number:05}>" for number in range(size + count)]
    answers = [Result.bindings(("x",), [names[at : at + size]]) for at in range(count)]
    return [StoredAnswer(1, 1000 * at, 0, size, one.to_bytes()) for at, one in enumerate(answers, 1)]


def test_a_change_that_is_handed_over_is_stored_as_it_is(store: Opened) -> None:
    told = long(5)
    batch = store.answers.batch()
    before = told[0]
    batch.add(before)
    for one in told[1:]:
        delta = delta_of(before.result, one.result)
        assert batch.wants_change(1, one.instant, before.instant, one.rows, delta.changed)
        assert not batch.wants_change(1, one.instant, before.instant - 1, one.rows, delta.changed)
        assert not batch.wants_change(1, before.instant, before.instant, one.rows, delta.changed)
        assert not batch.wants_change(1, one.instant, before.instant, one.rows, one.rows)
        assert not batch.wants_change(2, one.instant, before.instant, one.rows, delta.changed)
        batch.add(StoredAnswer(1, one.instant, 0, one.rows, to_bytes(delta), since=before.instant))
        before = one
    store.answers.write(batch)
    found = rows(store)
    assert [one.payload for one in store.answers.after(1, 0, 99)] == [one.payload for one in told]
    # And a whole behind changes is compared with what they come to.
    (next_one,) = long(6)[5:]
    store.answers.write([next_one])
    assert rows(store)[-1].since == told[-1].instant
    with opened() as other:
        other.answers.write([*told, next_one])
        assert rows(other) == rows(store) and found == rows(other)[:-1]


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_whole_behind_changes_that_were_handed_over_is_compared(store: Opened, first: int) -> None:
    """Also in the batch that they are in, whether or not what they are from is known, or stored before."""
    told = long(5)
    store.answers.write(told[:first])
    handed = [
        StoredAnswer(1, one.instant, 0, one.rows, to_bytes(delta_of(before.result, one.result)), since=before.instant)
        for before, one in pairwise(told)
    ]
    again = Opened(store.directory.path)  # which knows nothing
    again.answers.write([*told[first:1], *handed[max(0, first - 1) : 3], told[4]])
    assert [row.since for row in rows(store)] == [None, 1000, 2000, 3000, 4000]
    assert [one.payload for one in store.answers.after(1, 0, 99)] == [one.payload for one in told]
    again.close()


def handed(told: list[StoredAnswer]) -> list[StoredAnswer]:
    """The first as a whole, and each other one as what has changed since the one before."""
    deltas = [to_bytes(delta_of(before.result, one.result)) for before, one in pairwise(told)]
    return told[:1] + [
        StoredAnswer(one.query, one.instant, 0, one.rows, delta, since=before.instant)
        for before, one, delta in zip(told, told[1:], deltas)
    ]


def test_a_change_that_is_not_kept_as_one_is_made_whole(store: Opened) -> None:
    """
    instants   1000    2000    3000 │ 4000    5000
    written by first   other   other│ first           in one batch, as far as the first knows since the first instant
    stored as  whole   change  change change  whole   for which there is no room in the chain
    """
    shifts = (0, 30, 60, 75, 105)
    told = [
        StoredAnswer(
            1,
            1000 * at,
            0,
            200,
            Result.bindings(("x",), [[f"<urn:{n:05}>" for n in range(shift, shift + 200)]]).to_bytes(),
        )
        for at, shift in enumerate(shifts, 1)
    ]
    with opened() as alone:
        alone.answers.write(told)
        expected = rows(alone)
    assert [row.since for row in expected] == [None, 1000, 2000, 3000, None]
    other = Opened(store.directory.path)
    store.answers.write(told[:1])
    other.answers.write(told[1:2])
    other.answers.write(told[2:3])
    # 4000 was compared with 1000 beforehand, of which it is no change; 5000 seemed to be one of it.
    store.answers.write([told[3], handed(told)[4]])
    assert rows(store) == expected
    other.close()


def test_changes_with_more_bytes_than_their_keyframe_are_made_whole(store: Opened) -> None:
    told = heavy(6)
    expected = [None] * 6
    store.answers.write(handed(told))
    assert [row.since for row in rows(store)] == expected
    assert [one.payload for one in store.answers.after(1, 0, 99)] == [one.payload for one in told]
    with opened() as other:
        other.answers.write(told)
        assert rows(other) == rows(store)


def test_a_change_from_what_cannot_be_read_is_refused(store: Opened) -> None:
    told = long(3)
    store.answers.write(told[:1])
    delta = to_bytes(delta_of(told[1].result, told[2].result))
    with pytest.raises(StoreError, match=r"the answer at 2000, cannot be read"):
        store.answers.write([StoredAnswer(1, 3000, 0, 200, delta, since=2000)])
    # What is stored, and what has failed, is passed over.
    store.answers.write([StoredAnswer(1, 1000, 0, 200, delta, since=500)])
    store.answers.write([], [(1, 2000, "it was too much")])
    store.answers.write([StoredAnswer(1, 3000, 0, 200, delta, since=2000)])
    assert len(rows(store)) == 1
    # Of a query that is deleted nothing is left that it could be from.
    store.answers.write([StoredAnswer(77, 3000, 0, 200, delta, since=2000)])
    assert len(rows(store)) == 1


def test_what_a_change_is_from_is_there(store: Opened) -> None:
    """Should somebody have taken it away since it was prepared."""
    told = long(2)
    store.answers.write(told[:1])
    batch = store.answers.batch()
    batch.add(told[1])
    with store.database.transaction() as connection:
        connection.execute("DELETE FROM answers")
    store.answers.write(batch)
    assert [(row.since, row.frame) for row in rows(store)] == [(None, 2000)]
    assert store.answers.latest(1)[0].payload == told[1].payload


def test_parts_have_chains_of_their_own(store: Opened) -> None:
    """An answer that comes in parts is put together of them."""
    told, other = long(4), long(8, size=64)[4:]
    for one, part in zip(told, other, strict=True):
        store.answers.write([StoredAnswer(1, one.instant, 1, part.rows, part.content)])
        store.answers.write([one])
    assert [row.since for row in rows(store)] == [None, None, 1000, 1000, 2000, 2000, 3000, 3000]
    for one, part in zip(told, other, strict=True):
        assert [read.payload for read in store.answers.at(1, one.instant)] == [one.payload, part.payload]
        assert store.answers.change(1, one.instant) is None
    with store.database.transaction() as connection:
        assert _forget_old(connection, 1, 1) == 0


def test_an_answer_of_before_there_were_changes_is_a_keyframe(store: Opened) -> None:
    told = long(3)
    with store.database.transaction() as connection:
        for one in told[:2]:
            connection.execute(
                "INSERT INTO answers (query, instant, part, rows, payload) VALUES (1, ?, 0, ?, ?)",
                (one.instant, one.rows, one.payload),
            )
    store.answers.write(told[2:])
    assert [(row.since, row.frame) for row in rows(store)] == [(None, None), (None, None), (2000, 2000)]
    assert [one.payload for one in store.answers.after(1, 0, 9)] == [one.payload for one in told]
    with store.database.transaction() as connection:
        assert _forget_old(connection, 1, 1) == 1
    assert [one.payload for one in store.answers.after(1, 0, 9)] == [one.payload for one in told[1:]]


def test_what_is_forgotten_while_it_is_read_is_not_there(store: Opened) -> None:
    told = long(4)
    store.answers.write(told)
    reader = store.answers.reader(1)
    select = reader._rows.select

    def forgetful(clause: str, values: tuple[int, ...]) -> list:
        found = select(clause, values)
        with Opened(store.directory.path).database.transaction() as connection:
            connection.execute("DELETE FROM answers")
        return found

    with mock.patch.object(reader._rows, "select", forgetful):
        assert reader.at(4000) == []


@pytest.mark.parametrize("error", [IndexError, KeyError])
def test_what_goes_wrong_in_folding_is_not_told_as_forgotten(store: Opened, error: type[Exception]) -> None:
    store.answers.write(long(4))
    with mock.patch.object(folding, "folded", side_effect=error), pytest.raises(error):
        store.answers.at(1, 4000)


def test_whoever_reads_one_after_the_other_reads_what_has_changed_only(store: Opened) -> None:
    told = long(60)
    store.answers.write(told)
    reader = store.answers.reader(1)
    sizes = []
    select = reader._rows.select

    def counted(clause: str, values: tuple[int, ...]) -> list:
        found = select(clause, values)
        sizes.append(len(found))
        return found

    with mock.patch.object(reader._rows, "select", counted):
        assert [one.payload for at in told for one in reader.at(at.instant)] == [one.payload for one in told]
    assert sum(sizes) == len(told) and reader.nbytes < 100_000


def heavy(count: int, size: int = 100_000) -> list[StoredAnswer]:
    """Answers of 601 rows, one of which is long, and another one each time."""
    names = [f"<urn:{number:05}>" for number in range(600)]
    return [
        StoredAnswer(1, 1000 * at, 0, 601, Result.bindings(("x",), [[f'"{at:{size}}"', *names]]).to_bytes())
        for at in range(1, count + 1)
    ]


def test_a_chain_may_have_more_bytes_than_its_answers(store: Opened) -> None:
    """In whatever order they are read, and whether or not somebody goes on from one."""
    told = heavy(20)
    with mock.patch.object(keyframes, "LEAST_BYTES", 1 << 40):
        store.answers.write(told)
    assert {row.since is None for row in rows(store)[1:]} == {False}
    most = 150_000
    assert store.answers.size(1, 20_000) > 3 * chains.HELD * most
    reader = store.answers.reader(1)
    for at in (20, 3, 4, 12, 12, 20, 1):
        for (read,) in (reader.within(1000 * at, most), store.answers.within(1, 1000 * at, most)):
            assert read.payload == told[at - 1].payload
    for at in (1, 5, 20):
        with pytest.raises(chains.TooManyBytes) as large:
            store.answers.within(1, 1000 * at, 50_000)
        assert large.value.size > 50_000


def test_what_is_too_large_is_not_put_together(store: Opened) -> None:
    store.answers.write(heavy(20))
    held, at = [], chains.ChainReader.at

    def weighed(reader: chains.ChainReader, instant: int) -> list[StoredAnswer]:
        parts = at(reader, instant)
        held.append(reader.nbytes)
        return parts

    with mock.patch.object(chains.ChainReader, "at", weighed):
        for most in (1000, 30_000, 60_000, 150_000):
            held.clear()
            try:
                store.answers.within(1, 20_000, most)
            except chains.TooManyBytes:
                assert most < 150_000
            assert max(held, default=0) <= chains.HELD * most


def test_the_order_knows_no_chains(store: Opened) -> None:
    told = long(5)
    store.answers.write(told)
    places = AnswerOrder(store.database).after(0, head=99, limit=99)
    assert [(place.position, place.instant) for place in places] == [(at, 1000 * at) for at in range(1, 6)]


@pytest.mark.parametrize("name, value", [("size", "much"), ("instant", b"then"), ("rows", "some"), ("weight", b"")])
def test_a_number_that_is_none_hurts_nobody_else(store: Opened, name: str, value: object) -> None:
    told = long(5)
    store.answers.write([*told[:4], StoredAnswer(2, 4000, 0, 200, told[0].payload)])
    with store.database.transaction() as connection:
        connection.execute(f"UPDATE answers SET {name} = ? WHERE query = 1 AND instant = 4000", (value,))
    again = Opened(store.directory.path)
    again.answers.write([told[4], StoredAnswer(2, 5000, 0, 200, told[0].payload)])
    assert [one.payload for one in again.answers.at(2, 5000)] == [told[0].payload]
    assert [one.payload for one in again.answers.at(1, 3000)] == [told[2].payload]
    assert again.answers.at(1, 5000)[0].payload in (told[4].payload, b"")
    assert again.answers.size(1, 5000) > 0
    again.close()
