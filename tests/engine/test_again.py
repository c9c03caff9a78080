"""A log that is read from its beginning again, by an engine whose state is gone, and that has forgotten much of it."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from csparql_spark.engine.group import Group
from csparql_spark.engine.guard import EvaluationGuard
from csparql_spark.engine.messages import Message, QueryFailure
from csparql_spark.engine.notes import READING
from csparql_spark.log import Entry
from tests.engine.asked import Asked, Seen
from tests.engine.logs import by_hand
from tests.engine.running import Terms, routed
from tests.engine.test_pausing import asked, chunk, tick

DAY = 86_400_000


def again(log: list[Entry], guard: EvaluationGuard | None = None, **said: object) -> list[Message]:
    """What is told when the registration says what the query has said already."""
    group = Group("g")
    group.guard(guard or EvaluationGuard())
    rows = [
        row._replace(payload=json.dumps({**json.loads(row.payload), **said}).encode())
        if row.kind == "register"
        else row
        for row in routed(log)
    ]
    return [told for row in rows for told in group.feed([row])]


@pytest.mark.parametrize("query", [asked(), asked(output="ISTREAM"), asked(output="DSTREAM"), asked(7000, 2000)])
@pytest.mark.parametrize("known", [4000, 9000, 15_000])
def test_it_goes_on_where_it_was(query: Asked, known: int) -> None:
    lines = [(0, "register", "q", query)]
    for at in range(300, 20_000, 700):
        lines += [chunk(at, f"a{at}"), tick(at + 100)]
    log = by_hand(*lines)
    whole = again(log)
    instants = [told.instant for told in whole]
    answered = max(instant for instant in instants if instant <= known)
    kept = [entry for entry in log if entry.kind not in ("chunk", "tick") or entry.at > known - 8000]
    told = again(kept, answered=answered)
    # The last instant is looked at again, and what is told of it is not written again.
    assert told[0].instant == answered
    assert told[1:] == [one for one in whole if one.instant > answered]


def test_days_that_were_answered_are_not_gone_through_again() -> None:
    now = 30 * DAY
    log = by_hand((0, "register", "q", asked()), chunk(now - 500, "a"), tick(now), tick(now + 1000))
    assert [told.instant for told in again(log, answered=now)] == [now, now + 1000]
    assert ["at most" in told.reason for told in again(log)] == [True]


def test_on_the_event_clock() -> None:
    log = by_hand(
        (0, "register", "q", asked(stream="urn:e")),
        chunk(9, "a", stamp=500, stream="urn:e"),
        chunk(9, "b", stamp=5500, stream="urn:e"),
        chunk(9, "c", stamp=9500, stream="urn:e"),
    )
    assert again(log, answered=5000)[1:] == [told for told in again(log) if told.instant > 5000]


def test_who_has_failed_stays_failed() -> None:
    log = by_hand((0, "register", "q", asked()), chunk(500, "a"), tick(1000), tick(2000))
    assert again(log, answered=1000, failed="it was too much") == []


TURNS = Asked((Seen("urn:a", 5, 2, "TRIPLES"),), ("s",), (("?s", "<urn:p>", "?o"),))
BOTH = dataclasses.replace(TURNS, windows=(*TURNS.windows, Seen("urn:b", 3000, 1000)))
OUTPUTS = ("RSTREAM", "ISTREAM", "DSTREAM")


@pytest.mark.parametrize("query", [asked(), asked(7000, 2000), TURNS, BOTH], ids=["time", "wide", "turns", "both"])
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("stored", [0, 1, 3, 5])
def test_who_is_known_to_fail_is_not_asked_for_what_is_stored(query: Asked, output: str, stored: int) -> None:
    """It has told five instants, of which so many are in the store. Of the last of them it is asked once more where it
    has to tell what has changed since."""
    lines = [(0, "register", "q", dataclasses.replace(query, output=output))]
    for at in range(300, 20_000, 700):
        lines += [chunk(at, f"a{at}"), tick(at + 100)]
    log = by_hand(*lines)
    whole = again(log)
    (id,) = {told.query for told in whole}
    instants = [told.instant for told in whole[:6]]
    failure = {"instant": instants[5], "reason": "it was too much", "answered": instants[4]}
    answered = {"answered": instants[stored - 1]} if stored else {}
    guard = Terms()
    told = again(log, guard, failure=failure, **answered)
    needed = stored if output == "RSTREAM" or stored in (0, 5) else stored - 1
    assert guard.seen == [(id, instant, math.inf) for instant in [READING, *instants[needed:5]]]
    assert told[-1] == QueryFailure(id, instants[5], "it was too much")
    assert told[stored - needed : -1] == whole[stored:5]
