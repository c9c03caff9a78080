"""Keyframes: which answers are stored whole, and which as what has changed since the answer before.

    keyframe ── change ── change ── keyframe ── change ── …        one chain after the other

An answer can be read as long as its keyframe and the changes up to it are there. A change weighs its rows, and what a
head costs; a keyframe follows where the changes since the last one would weigh more than it, where a change would weigh
more than half of the answer, and after `MOST_CHANGES` of them, so that no answer takes longer to be read. That nothing
has changed weighs one row. Where texts are of very different lengths rows say little of bytes: so the changes since a
keyframe have no more of them than it has, or than `LEAST_BYTES`.

To find out what has changed in an answer of few rows, and to write that, takes longer than to write it whole. So of
those with fewer than `LEAST_COMPARED` only that is stored as a change in which nothing has changed.

    newest = Newest(instant=17_000, rows=900, frame=16_000, frame_rows=880, weight=30, changes=1)
    may_change(newest, rows=910)                # it is worth while to find out what has changed
    keeps_change(newest, rows=910, changed=12)  # so it is written as that

What is asked beforehand is counted in rows; bytes are those of the answer and of the change as they are written, before
they are packed. `newest` is what is stored of the query before the answer. So whether an answer is a keyframe is a
function of the query's answers: neither of batches nor of restarts, nor of what was forgotten meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

HEAD = 16  # rows that a change weighs besides its own
MOST_CHANGES = 100  # from one keyframe to the next
LEAST_ROWS = 2 * HEAD  # an answer of fewer is always whole
LEAST_COMPARED = 512  # rows of an answer of which it is stored what has changed
LEAST_BYTES = 64 << 10


class Newest(NamedTuple):
    """The newest answer of a query that is stored: its rows, the instant, the rows and the bytes of its keyframe, and
    what the changes since that weigh, how many there are, and their bytes."""

    instant: int
    rows: int
    frame: int
    frame_rows: int
    weight: int = 0
    changes: int = 0
    frame_size: int = 0
    size: int = 0


def is_compared(rows: int) -> bool:
    """Whether it may be stored what has changed in an answer of so many rows."""
    return rows >= LEAST_COMPARED


def is_repeated(rows: int) -> bool:
    """Whether it may be stored that nothing has changed in one of so many rows."""
    return rows >= LEAST_ROWS


def weighs(changed: int) -> int:
    return changed + HEAD if changed else 1


def most_changed(newest: Newest, rows: int) -> int:
    """The rows of the largest change that is stored as one; negative if none is."""
    room = newest.frame_rows - newest.weight
    if not is_repeated(rows) or newest.changes >= MOST_CHANGES or room < weighs(0):
        return -1
    return 0 if not is_compared(rows) else max(0, min(rows // 2, room) - HEAD)


def may_change(newest: Newest, rows: int) -> bool:
    """Whether an answer of so many rows may be stored as a change: what it has more or fewer has come or gone."""
    return most_changed(newest, rows) >= abs(rows - newest.rows)


def keeps_change(newest: Newest, rows: int, changed: int) -> bool:
    return changed <= most_changed(newest, rows)


def keeps_size(newest: Newest, size: int) -> bool:
    """Whether there is room for a change of so many bytes."""
    return newest.size + size <= max(newest.frame_size, LEAST_BYTES)


def after_change(newest: Newest, instant: int, rows: int, *, changed: int, size: int) -> Newest:
    """The newest answer where that is stored as a change."""
    return newest._replace(
        instant=instant,
        rows=rows,
        weight=newest.weight + weighs(changed),
        changes=newest.changes + 1,
        size=newest.size + size,
    )


def after_whole(instant: int, rows: int, size: int) -> Newest:
    return Newest(instant, rows, instant, rows, frame_size=size)
