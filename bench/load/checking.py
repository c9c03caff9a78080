"""Checking: afterwards, when the server has ended, whether anything was lost, changed, or told twice.

    checked = check(data, pushes, told, seats, until)
    checked["broken"]           # sentences, each with query and instant, or with stream and number; [] if all is well

- What was acknowledged is in the log, at the place that was told, with as many triples; of one push in fifty, each
  triple is looked at. Nothing is in the log that nobody pushed, unless its push was not answered.
- Each answer is that of a replay of the log, byte by byte, and none is missing up to the instant `until`.
- Each subscriber was told all instants once, in order, and in each event what the replay says; or what it has folded
  of changes is what the replay says.

A query that went over a limit has failed by name; `failed` tells since when and why, and it owes no answers after that.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.load.folding import folded
from bench.load.listening import Heard, Seat, told
from bench.load.pushing import NO_ANSWER, Push, pushes
from bench.load.replaying import MOST_NAMED, replayed
from bench.load.traffic import body
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Log
from csparql_spark.rdf.chunk import Chunk

PROBLEM = ": problem {"  # what a subscriber is told when a query has failed
EVERY = 50  # one push of so many is looked at triple by triple


def check(
    data: Path,
    pushed: Path,
    heard: Path,
    seats: Sequence[Seat],
    until: int,
    *,
    changes: Path | None = None,
    processes: int = 2,
) -> dict[str, object]:
    """`changes`: what subscribers to changes were told, to be folded."""
    begun = time.monotonic()
    events, wrong, _ = told(heard)
    if changes is not None:
        events, unfit = folded(changes)
        wrong += unfit
    broken = [sentence for sentence in wrong if PROBLEM not in sentence] + in_log(data, list(pushes(pushed)))
    names = {seat.query for seat in seats}
    found = replayed(data, until=until, heard=names, processes=processes, as_folded=changes is not None)
    broken += [*found.broken, *as_told(seats, events, found.spelled, until)]
    return {
        "checked_answers": found.answers,
        "rows_per_answer": found.rows / max(1, found.answers),
        "checked_events": len(events),
        "check_s": time.monotonic() - begun,
        "broken_count": len(broken),
        "broken": broken[:MOST_NAMED],
        "failed": [f"{query} at {instant}: {reason}" for query, (instant, reason) in found.failed.items()],
    }


def in_log(data: Path, pushed: Sequence[Push]) -> list[str]:
    broken, log = [], Log(Database(DataDirectory(data).database))
    logged = {entry.seq: (_name(entry.subject), entry.rows) for entry in _outlines(log) if entry.kind == "chunk"}
    for number, push in enumerate(push for push in pushed if push.status == 200):
        found = logged.pop(push.seq, None)
        if found != (push.stream, push.rows):
            broken.append(
                f"the push of {push.rows} triples to {push.stream} from {push.first} is acknowledged as "
                f"entry {push.seq}, and there is {found}"
            )
        elif number % EVERY == 0:
            there = set(Chunk.from_ipc(log.payload(push.seq)).triples())
            if there != _triples(body(push.stream, push.first, push.count)):
                broken.append(f"entry {push.seq} does not hold what was pushed to {push.stream} from {push.first}")
    unanswered = [push for push in pushed if push.status == NO_ANSWER]
    if len(logged) > len(unanswered):
        broken.append(
            f"{len(logged)} chunks are in the log without an acknowledgement, and {len(unanswered)} pushes "
            f"were not answered, such as entry {min(logged)}"
        )
    return broken


def as_told(
    seats: Sequence[Seat], events: Iterable[Heard], spelled: Mapping[tuple[str, int], str], until: int
) -> list[str]:
    """What subscribers were told against what the replay says."""
    broken = []
    by_seat: dict[int, dict[int, str]] = defaultdict(dict)
    for event in events:
        by_seat[event.subscriber][event.instant] = event.digest
        if event.digest != spelled.get((event.query, event.instant)):
            broken.append(
                f"{event.query} at {event.instant}: subscriber {event.subscriber} was told something else "
                "than a replay says"
            )
    for number, seat in enumerate(seats):
        lacking = sorted(
            instant
            for query, instant in spelled
            if query == seat.query and instant <= until and instant not in by_seat[number]
        )
        if lacking:
            broken.append(
                f"{seat.query} at {lacking[0]}: subscriber {number} was not told, and neither "
                f"{len(lacking) - 1} other instants"
            )
    return broken


def _outlines(log: Log):
    after = 0
    while outline := log.outline(after, 10_000):
        yield from outline
        after = outline[-1].seq


def _name(iri: str | None) -> str:
    return (iri or "").rpartition("/")[2]


def _triples(content: bytes) -> set[tuple[str, ...]]:
    """By a reader that is not the server's: no term of the traffic has a blank in it."""
    return {tuple(line.removesuffix(" .").split(" ")) for line in content.decode().splitlines()}
