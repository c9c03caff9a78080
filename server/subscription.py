"""A subscription: a cursor into the answers of a query, and the events that follow it.

    retry: 1000                          first of all: how long a client waits before it comes back

    id: 17-1700000000000                 query (the place of its registration), hyphen, instant
    event: answer
    data: {"query":"HotRooms","at":1700000000000,"results":{"head":…,"results":…}}

`event: gap`      {"query", "after", "next"}: answers between the two are kept no longer
`event: problem`  {"query", "at", "reason"}: the query has failed; the connection stays
`event: end`      {"query", "reason"}: the query is deleted; the connection ends
`:`               a comment now and then, so that both sides notice when the other one is gone

Invariant: after an answer with id q-t comes the next kept answer of q, never an earlier one, and never the same again;
so a client that comes back with the last id it has seen misses nothing and sees nothing twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from csparql_spark.store import AnswerStore, QueryRecord, Registry

from csparql_spark.server.fanout import Channel, Fanout
from csparql_spark.server.instants import notice
from csparql_spark.server.problems import Problem

RETRY = b"retry: 1000\n\n"
HEARTBEAT = b":\n\n"
BEGINNING = -(1 << 62)
_EVENT_ID = re.compile(r"([0-9]{1,18})-(-?[0-9]{1,18})")


class Start(NamedTuple):
    """Where a subscriber begins: after an instant, or (None) with the newest answer. `seen`: it saw that instant."""

    after: int | None
    seen: bool = False


def start_after(event_id: str, query: QueryRecord) -> Start:
    """Behind the event with that id; at the beginning, if the id is of another query that had this name before."""
    match = _EVENT_ID.fullmatch(event_id)
    if match is None:
        raise Problem("bad-event-id", f"{event_id[:100]!r} is no id of an event of this server: ids look like "
                      "17-1700000000000. Leave it out to begin with the newest answer.")
    if int(match[1]) != query.id:
        return Start(BEGINNING)
    return Start(int(match[2]), seen=True)


class Subscription:
    """An iterator of bytes. `close` it, also when it was never begun: it holds a place."""

    def __init__(self, channel: Channel, start: Start, *, fanout: Fanout, registry: Registry, answers: AnswerStore,
                 heartbeat_seconds: float) -> None:
        self._channel, self._start = channel, start
        self._fanout, self._registry, self._answers = fanout, registry, answers
        self._heartbeat = heartbeat_seconds
        self._closed = False

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._fanout.leave(self._channel)

    def __iter__(self) -> Iterator[bytes]:
        channel, name = self._channel, self._channel.query.name
        cursor, seen = self._start
        failure_told = False
        yield RETRY
        self._look_for_end()
        if cursor is None:
            newest = self._fanout.latest(channel)
            cursor = BEGINNING
            if newest is not None:
                yield newest.event
                cursor, seen = newest.instant, True
        while self._fanout.running:
            version = channel.version
            page = self._fanout.following(channel, cursor)
            for told in page:
                if told.gap and seen:
                    yield notice("gap", {"query": name, "after": cursor, "next": told.instant})
                yield told.event
                cursor, seen = told.instant, True
            if page:
                continue
            if channel.ended:
                yield notice("end", {"query": name, "reason": "the query is deleted"})
                return
            if not failure_told and (failure := self._answers.failure(channel.query.id)) is not None:
                failure_told = True
                yield notice("problem", {"query": name, "at": failure[0], "reason": failure[1]})
            if not channel.wait(version, self._heartbeat):
                yield HEARTBEAT
                self._look_for_end()

    def _look_for_end(self) -> None:
        """The deletion that nobody told us of: between being found and joining, say."""
        now = self._registry.query(self._channel.query.name)
        if now is None or now.id != self._channel.query.id:
            self._channel.wake(ended=True)
