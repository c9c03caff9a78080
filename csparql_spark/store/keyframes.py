"""Keyframes: which answers are stored whole, and which as what has changed since the answer before.

    keyframe ── change ── change ── keyframe ── change ── …        one chain after the other

An answer can be read as long as its keyframe and the changes up to it are there. A change weighs its rows, and what a
head costs; a keyframe follows where the changes since the last one would weigh more than it, where a change would weigh
more than half of the answer, and after `MOST_CHANGES` of them, so that no answer takes longer to be read.

    newest = Newest(instant=17_000, rows=500, frame=16_000, frame_rows=480, weight=30, changes=1)
    may_change(newest, rows=510)                # it is worth while to find out what has changed
    keeps_change(newest, rows=510, changed=12)  # so it is written as that

Everything is counted in rows, which do not hang on how anything is spelled, and `newest` is what is stored of the query
before the answer. So whether an answer is a keyframe is a function of the query's answers: neither of batches nor of
restarts, nor of what was forgotten meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

HEAD = 16  # rows that a change weighs besides its own
MOST_CHANGES = 100  # from one keyframe to the next
LEAST_ROWS = 2 * HEAD  # an answer of fewer is always whole


class Newest(NamedTuple):
    """The newest answer of a query that is stored: its rows, the instant and the rows of its keyframe, and what the
    changes since that weigh, and how many there are."""

    instant: int
    rows: int
    frame: int
    frame_rows: int
    weight: int = 0
    changes: int = 0


def weighs(changed: int) -> int:
    return changed + HEAD


def most_changed(newest: Newest, rows: int) -> int:
    """The rows of the largest change that is stored as one; negative if none is."""
    if newest.changes >= MOST_CHANGES:
        return -1
    return min(rows // 2, newest.frame_rows - newest.weight) - HEAD


def may_change(newest: Newest, rows: int) -> bool:
    """Whether an answer of so many rows may be stored as a change: what it has more or fewer has come or gone."""
    return most_changed(newest, rows) >= abs(rows - newest.rows)


def keeps_change(newest: Newest, rows: int, changed: int) -> bool:
    return changed <= most_changed(newest, rows)


def after_change(newest: Newest, instant: int, rows: int, changed: int) -> Newest:
    """The newest answer where that is stored as a change."""
    return newest._replace(
        instant=instant, rows=rows, weight=newest.weight + weighs(changed), changes=newest.changes + 1
    )


def after_whole(instant: int, rows: int) -> Newest:
    return Newest(instant, rows, instant, rows)
