"""Bounds: how much rules may derive at once, so that a rule that multiplies takes neither time nor memory from others.

Rows are counted before there is room made for them. A rule that joins all with all is told from one that joins much
because it finds much: what nothing connects is bounded closer. Time is bounded where somebody waits for the closure, as
processor time of this thread, and there must be no more rows at once than there is memory for: so the rules are told
before a process ends of them.

    with bounded(10.0, 1 << 30):
        saturate(graph, program, blocks)        # raises TooMuchDerived, whose text names the rule
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from csparql_spark import processor_time
from csparql_spark.language.rules.rule import Rule

MOST_ROWS = 10_000_000  # that the body of a rule comes across at once, and that the rules make in one step
MOST_PAIRS = 2_000_000  # of rows that no variable connects
MOST_FACTS = 20_000_000  # of a closure
BYTES_PER_ROW = 80  # while it is made with many others: its key and its tag, and what sorting and merging these takes
SECONDS_PER_FACT = 30e-6  # of a closure: RDFS takes less than half of that
LONGEST = 300  # characters of a rule in a sentence

_room = threading.local()


class TooMuchDerived(Exception):
    """Rules derive more than there is room for, or longer than there is time."""


def closing_seconds(facts: int) -> float:
    """Of the processor, that closing so many facts may take, whoever waits for it."""
    return SECONDS_PER_FACT * facts


@contextmanager
def bounded(seconds: float, nbytes: int | None = None) -> Iterator[None]:
    """Closing a graph may take so much processor time in here, and so much memory at once."""
    before = getattr(_room, "bound", None), getattr(_room, "rows", None)
    _room.bound, _room.rows = ((processor_time.lately(), seconds), None if nbytes is None else nbytes // BYTES_PER_ROW)
    try:
        yield
    finally:
        _room.bound, _room.rows = before


def is_bounded() -> bool:
    """Whether closing has a limit of time in here."""
    return getattr(_room, "bound", None) is not None


def most_rows() -> int:
    """That rules may go through, or make, at once."""
    rows = getattr(_room, "rows", None)
    return MOST_ROWS if rows is None else min(MOST_ROWS, rows)


def check_time(rules: Sequence[Rule]) -> None:
    """Raises `TooMuchDerived`, should these rules be at work when the time is over."""
    bound = getattr(_room, "bound", None)
    if bound is None:
        return
    begun, seconds = bound
    if time.monotonic() - begun.clock < seconds:
        return  # no thread works longer than has passed
    if processor_time.now().processor - begun.processor > seconds:
        raise TooMuchDerived(
            f"what follows under its rules takes longer than {seconds:g} s of processor time, which is the limit, and "
            f"{shown(rules)} is not done: connect all parts of its body by variables, or give it fewer facts"
        )


def too_many_rows(rules: Sequence[Rule]) -> TooMuchDerived:
    return TooMuchDerived(
        f"{shown(rules)} multiplies what it is given: it would go through more than {MOST_PAIRS:,} pairs that no "
        f"variable connects, or more than {most_rows():,} rows at once; connect all parts of its body by variables, or "
        "give it fewer facts"
    )


def check_made(rows: int, rules: Sequence[Rule]) -> None:
    if rows > most_rows():
        raise TooMuchDerived(
            f"the rules derive more than {most_rows():,} facts in one step, the last of them {shown(rules)}: connect "
            "all parts of their bodies by variables, or give them fewer facts"
        )


def check_facts(rows: int) -> None:
    if rows > MOST_FACTS:
        raise TooMuchDerived(
            f"more than {MOST_FACTS:,} facts follow under its rules: leave out rules that multiply, or give them fewer "
            "facts"
        )


def shown(rules: Sequence[Rule]) -> str:
    text = str(rules[0])
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    return f"the rule {text}" if len(rules) == 1 else f"one of {len(rules):,} rules like {text}"
