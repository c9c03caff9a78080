"""The rule of keyframes, against how it is told, over histories of answers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.store import keyframes
from tests.examples import examples

rows = st.integers(0, 400) | st.integers(400, 1200)
answers = st.lists(st.tuples(rows, st.integers(0, 400)), min_size=1, max_size=300)
quiet = st.lists(st.tuples(st.integers(4000, 4004), st.integers(4, 6)), min_size=150, max_size=300)
silent = st.lists(st.tuples(st.sampled_from([20, 40, 40, 40, 600]), st.just(0)), min_size=150, max_size=300)


def told(history: list[tuple[int, int]]) -> list[bool]:
    """The twin: of which answers, each with its rows and how many of them changed, changes are stored."""
    found = [False]
    frame, weight, count = history[0][0], 0, 0
    for (before, _), (rows, changed) in zip(history, history[1:]):
        changed = max(changed, abs(rows - before))
        weighs = changed + 16 if changed else 1
        worth = rows >= 32 if not changed else rows >= 512 and 2 * weighs <= rows
        if worth and weight + weighs <= frame and count < 100:
            weight, count = weight + weighs, count + 1
            found.append(True)
        else:
            frame, weight, count = rows, 0, 0
            found.append(False)
    return found


@given(st.one_of(answers, quiet, silent))
@settings(max_examples=examples(300), deadline=None)
def test_it_is_as_it_is_told(history: list[tuple[int, int]]) -> None:
    found, newest = [], None
    for at, (rows, changed) in enumerate(history):
        change = False
        if newest is not None:
            changed = max(changed, abs(rows - newest.rows))
            change = keyframes.keeps_change(newest, rows, changed)
            assert keyframes.may_change(newest, rows) or not change
        newest = (
            keyframes.after_change(newest, at, rows, changed=changed, size=0)
            if change
            else keyframes.after_whole(at, rows, 0)
        )
        found.append(change)
    assert found == told(history)


def test_small_answers_are_whole_unless_nothing_has_changed() -> None:
    for rows in (*range(40), *range(500, 600)):
        newest = keyframes.after_whole(0, rows, 0)
        assert keyframes.keeps_change(newest, rows, 0) == keyframes.may_change(newest, rows) == (rows >= 32)
        assert keyframes.keeps_change(newest, rows, 1) == (rows >= 512)


def test_changes_have_no_more_bytes_than_their_keyframe() -> None:
    for frame in (10, 100_000):
        newest = keyframes.after_whole(0, 600, frame)
        most = max(frame, keyframes.LEAST_BYTES)
        assert keyframes.keeps_size(newest, most) and not keyframes.keeps_size(newest, most + 1)
        newest = keyframes.after_change(newest, 1, 600, changed=3, size=most - 5)
        assert keyframes.keeps_size(newest, 5) and not keyframes.keeps_size(newest, 6)
