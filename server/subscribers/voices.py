"""Voices: in what form a subscriber is told answers, as wholes or as changes.

    voice = WholeVoice(fanout)                         # event: answer, each a whole
    voice = ChangeVoice(fanout, upto=48_000)           # event: keyframe, then event: change, …
    voice.tell(place, news)                            # the event of an answer; empty if there is nothing to tell
    voice.lose(17)                                     # it was not told something of that query

A keyframe is a whole that changes begin with, or begin with again: at first, and wherever something was not told. Of
a table it says which columns tell rows apart (`key`), and whether they are in an order of their own (`listed`). A
change says `since` which instant: that of the last event of the query that was told here. Instants at which nothing has
changed are not told, or with `every` as `event: unchanged`. What is told besides (see `subscription`) is the same.

Who comes back is told what has changed since the last answer that it was told of, if that is kept; `upto` is the
position of that. Who finds that it does not have what a change is `since`, asks for the whole of that instant.

Invariant: changes folded into the keyframe before them are the whole answer, at each instant that is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple, Protocol

from csparql_spark.server.subscribers.changes import change_head
from csparql_spark.server.subscribers.event_ids import event_id
from csparql_spark.server.subscribers.fanout import Fanout, News, NoBase
from csparql_spark.store.order import AnswerPlace


class Voice(Protocol):
    def tell(self, place: AnswerPlace, news: News) -> bytes | None:
        """The event of an answer, empty if there is nothing to tell; None if the answer is forgotten. Raises `Damaged`
        and `TooLargeToTell`."""

    def lose(self, query: int) -> None:
        """An answer of this query was not told."""

    def forget(self, queries: Iterable[int]) -> None:
        """Of these there is nothing more to tell."""


class WholeVoice:
    def __init__(self, fanout: Fanout) -> None:
        self._fanout = fanout

    def tell(self, place: AnswerPlace, news: News) -> bytes | None:
        return self._fanout.spelled(place, news)

    def lose(self, query: int) -> None:
        pass  # each answer is told whole

    def forget(self, queries: Iterable[int]) -> None:
        pass


class AskedChanges(Enum):
    """Whether a subscriber asks for changes."""

    NONE = "no"
    CHANGED = "yes"  # of instants at which something has changed
    ALL = "all"


class Told(NamedTuple):
    """What a subscriber was told of a query: at which instant it says what it said there, and when that was told."""

    base: int
    since: int


class ChangeVoice:
    def __init__(self, fanout: Fanout, *, upto: int | None = None, every: bool = False) -> None:
        self._fanout, self._upto, self._every = fanout, upto, every
        self._told: dict[int, Told | None] = {}

    def tell(self, place: AnswerPlace, news: News) -> bytes | None:
        told, at = self._known(place.query), place.instant
        if at is None:
            return None
        if told is not None:
            try:
                text = self._fanout.change(told.base, place, news)
            except NoBase:
                pass
            else:
                if text is None:
                    return None
                if not text and not self._every:
                    self._told[place.query] = Told(at, told.since)
                    return b""
                self._told[place.query] = Told(at, at)
                return self._change(place, news, told.since, text)
        frame = self._fanout.keyframe(place, news)
        if frame is not None:
            self._told[place.query] = Told(at, at)
        return frame

    def lose(self, query: int) -> None:
        self._told[query] = None

    def forget(self, queries: Iterable[int]) -> None:
        for query in queries:
            self._told.pop(query, None)

    def _known(self, query: int) -> Told | None:
        if query not in self._told:
            instant = None if self._upto is None else self._fanout.order.last_instant(query, self._upto)
            self._told[query] = None if instant is None else Told(instant, instant)
        return self._told[query]

    def _change(self, place: AnswerPlace, news: News, since: int, text: bytes) -> bytes:
        assert place.instant is not None  # who has none is forgotten, and not told
        id = event_id(self._fanout.order.lineage, place.position).encode()
        head = change_head(news.roster.known[place.query], place.instant, since)
        if not text:
            return b"id: %b\nevent: unchanged\ndata: %b}\n\n" % (id, head)
        return b"id: %b\nevent: change\ndata: %b,%b}\n\n" % (id, head, text)


def voice_of(changes: AskedChanges, fanout: Fanout, upto: int | None) -> Voice:
    if changes is AskedChanges.NONE:
        return WholeVoice(fanout)
    return ChangeVoice(fanout, upto=upto, every=changes is AskedChanges.ALL)
