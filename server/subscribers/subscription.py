"""A subscription: a cursor into the order of all answers, and the events that follow it.

    retry: 1000                          first of all: how long a client waits before it comes back

    id: 48213-qkzwmtbrfd                 position of the answer's last part in the order of all answers; see `event_ids`
    event: answer
    data: {"query":"HotRooms","at":1700000000000,"windows":[…],"results":{"head":…,"results":…}}

`event: keyframe`, `event: change`, `event: unchanged`    in place of answers, who asks for changes (see `voices`)
`event: gap`         {"query", "after", "next", "reason"}: the instants between the two are not told. They are kept no
                     longer ("forgotten": `setting` is what says how many are), or the reader is too slow ("slow":
                     then `first` and `last` name them, and they can still be had), or one is damaged on the disk
                     ("damaged": `first` and `last` are it), or has too much text for an event ("large": `first` and
                     `last` are it, and it can be had). null: not known, or not told yet. "restored": a copy of the
                     database was put back, and what the reader was told after `after` is not so any more; what is,
                     follows
`event: problem`     {"query", "at", "reason"}: the query has failed
`event: end`         {"query", "reason"}: the query is deleted
`event: registered`  {"query", "id", "version"}: there is a query that was not there when the connection began
`event: replaced`    {"query", "id", "version", "replaces"}: another version of the query is there in the place of that
                     one, and runs. What the one before has said last may follow; each answer names its `version`
`event: paused`, `event: resumed`     {"query"}
`event: progress`    {"clock"}: in silence, on a connection that asked for it; everything up to its id was told
`:`                  a comment, in silence

An id says: everything up to this position was told, or a gap told that it was not; and in which past of the log.
Answers come in the order of their positions, parts of an instant together, so one number is the place of a client in
all of its queries, whichever they are. How queries stand is no part of that order: it is told when a connection begins,
if a query does not run, and whenever it changes, after the answers that were there by then.

Invariant: a client that comes back with the last id it has seen misses nothing and sees nothing twice. If it was told
what the log has lost since, it is told so before anything else. Who asks for the past, with an id or without one, is
told where what is kept of it begins. Changes that follow a gap begin with a keyframe; where
a connection breaks between the two, with one since the last instant that was left out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from csparql_spark.disk.damage import Damaged
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.subscribers.event_ids import event_id, read_id
from csparql_spark.server.subscribers.fanout import PAGE_PLACES, Fanout, News
from csparql_spark.server.subscribers.instants import TooLargeToTell, notice
from csparql_spark.server.subscribers.roster import Roster, ended, registered, replaced
from csparql_spark.server.subscribers.roster import changes as roster_changes
from csparql_spark.server.subscribers.voices import AskedChanges, voice_of
from csparql_spark.store.order import AnswerOrder, AnswerPlace

RETRY = b"retry: 1000\n\n"
HEARTBEAT = b":\n\n"
BEGINNING = 0
KEEPING = "keep-answers"  # the setting
PAGE_BYTES = 256 << 10
_QUERY_AND_INSTANT = re.compile(r"([0-9]{1,18})-(-?[0-9]{1,18})")


class SubscriptionStart(NamedTuple):
    """Where a subscriber begins: after a position, or (None) with the newest answers.

    `returning`: it has been here before, so what it missed is told, and what has ended meanwhile. `instants`: the last
    ones that it knows, by query. `restored`: besides, it was told what is not so any more.
    """

    after: int | None
    returning: bool = False
    instants: Mapping[int, int] = {}
    restored: bool = False


class Wishes(NamedTuple):
    """What a subscriber asks for: to be told in silence that everything was told; to be told changes."""

    progress: bool = False
    changes: AskedChanges = AskedChanges.NONE


LATEST = SubscriptionStart(None)
FIRST = SubscriptionStart(BEGINNING)


def start_after(text: str, order: AnswerOrder) -> SubscriptionStart:
    """Behind the event with that id. Ids of the form query-instant, which were given once, are understood."""
    match = _QUERY_AND_INSTANT.fullmatch(text)
    if match is not None:
        return after_instant(int(match[1]), int(match[2]), order, returning=True)
    last = read_id(text, order.lineage, order.head())
    if last is None:
        raise Problem(
            "bad-event-id",
            f"{text[:100]!r} is no id of an event of this server: ids look like "
            "48213-qkzwmtbrfd. Leave it out to begin with the newest answer.",
        )
    returning = last.position != BEGINNING or not last.restored
    return SubscriptionStart(last.position, returning, restored=last.restored)


def after_instant(query: int, instant: int, order: AnswerOrder, *, returning: bool = False) -> SubscriptionStart:
    """Behind an instant of a query."""
    position, gone = order.up_to(query, instant), order.gone(query)
    if position is not None:
        return SubscriptionStart(position, returning, {query: instant})
    if gone is None:
        return FIRST  # it is before everything, or of another query that had this name before
    return SubscriptionStart(gone[0] - (instant < gone[1]), returning, {query: instant})


class Subscription:
    """What one subscriber is told. `more` is called by one thread at a time; `close` it at the end: it holds a place.

    `names`: the queries to hear, None for all of them. Iterating waits for what comes; that is for those
    who have a thread to spare.
    """

    def __init__(
        self,
        fanout: Fanout,
        names: Collection[str] | None,
        start: SubscriptionStart,
        *,
        heartbeat_seconds: float = 15.0,
        slow_instants: int = 100,
        wishes: Wishes = Wishes(),  # noqa: B008  it cannot change
    ) -> None:
        """Takes a place. Raises `TooManySubscribers`."""
        self._fanout, self._order = fanout, fanout.order
        self._names = None if names is None else frozenset(names)
        self._returning = start.returning
        self._voice = voice_of(wishes.changes, fanout, start.after if start.returning else None)
        self._last = dict(start.instants)  # the newest instant that it knows, by query
        self._heartbeat, self._slow, self._progress = heartbeat_seconds, slow_instants, wishes.progress
        self._live = False  # it has caught up once: what it asked for of the past was not skipped
        self._forgiven: dict[int, int] = {}  # gaps up to here are not told
        self.finished = False  # nothing will come any more
        self.caught_up = -1  # version of the news of which everything was told
        fanout.join(self)
        try:
            self._begin(start, fanout.look())
        except BaseException:
            fanout.leave(self)
            raise

    def _begin(self, start: SubscriptionStart, news: News) -> None:
        self._greeted = self._announced = news.roster
        self._opening = True
        self._ids = self._members(news.roster, past=start.after is not None)
        self._newest: list[AnswerPlace] | None = None  # by which it begins
        if start.after is None:
            live = set(news.roster.standing)
            self._newest = self._order.newest(live if self._ids is None else live & self._ids, news.head)
        self._cursor = news.head if start.after is None else start.after
        self._restored = start.restored  # it is to be told so
        if start.restored and not start.returning:  # of all that is told again it is told already where it begins
            self._forgiven = {place.query: place.position for place in self._order.gaps(self._cursor, news.head)}

    def close(self) -> None:
        self._fanout.leave(self)

    def concerned(self, queries: Collection[int]) -> bool:
        """Whether answers of these queries are among what it wants to hear."""
        return bool(queries) if self._ids is None else not self._ids.isdisjoint(queries)

    def more(self, *, slow: bool = False) -> list[bytes]:
        """What is to be sent next; nothing if there is nothing now. `slow`: it took long to send what was before."""
        news = self._fanout.news
        pieces = list(self._openings(news))
        if self._restored:
            self._restored = False
            pieces += self._restorations(news)
        if self._newest is not None:
            return pieces + self._beginning(news)
        places = self._fanout.following(self._cursor, news, self._ids)
        if slow and self._live and len(places) >= PAGE_PLACES and (skipped := self._skipped(news)):
            return [*pieces, skipped]
        size = 0
        for place in places:
            piece = self._piece(place, news)
            if piece is None:
                self._fanout.missed()
                break
            self._cursor = place.position
            if piece:
                pieces.append(piece)
                size += len(piece)
                if size > PAGE_BYTES:
                    break
        else:
            if len(places) < PAGE_PLACES:
                self._cursor = max(self._cursor, news.head)
                self._live = True
                pieces += self._closings(news)
                self.caught_up = news.version
        return pieces

    def heartbeat(self) -> bytes:
        """A sign of life, for one who has been told everything there is."""
        if not self._progress:
            return HEARTBEAT
        return self._id(self._cursor) + notice("progress", {"clock": time.time_ns() // 1_000_000})

    def __iter__(self) -> Iterator[bytes]:
        yield RETRY
        while self._fanout.running:
            version = self._fanout.look().version
            pieces = self.more()
            yield from pieces
            if self.finished:
                return
            if pieces or self.caught_up < version:  # of a page there may be nothing to tell
                continue
            if not self._fanout.wait(version, self._heartbeat):
                yield self.heartbeat()

    def _members(self, roster: Roster, *, past: bool) -> set[int] | None:
        """The queries of the names that it wants, with their versions before, if it asks for the `past`; of those that
        are gone, too, if it may have missed something."""
        if self._names is None:
            return None
        if self._returning:
            return {id for id, query in roster.known.items() if query.name in self._names}
        ids = {roster.ids[name] for name in self._names if name in roster.ids}
        if not past:
            return ids
        return ids.union(*(roster.versions[roster.standing[id].query.origin] for id in ids))

    def _openings(self, news: News) -> Iterator[bytes]:
        """The queries that are new, and versions: told before their answers, and after the end of others that had their
        names."""
        before, self._greeted = self._greeted, news.roster
        if news.roster is before:
            return
        for id, standing in news.roster.standing.items():
            name, origin = standing.query.name, standing.query.origin
            if id in before.standing or not self._wants(name):
                continue
            replaces = before.origins.get(origin)
            if replaces is not None:
                if self._ids is not None:  # of a query that is replaced all the time not every version was seen here
                    self._ids.update(version for version in news.roster.versions[origin] if version > replaces)
                yield replaced(standing.query, replaces)
                continue
            if self._ids is not None:
                self._ids.add(id)
            yield from self._end_of(name)
            yield registered(standing.query)
        self._forget(before.known.keys() - news.roster.known.keys())

    def _forget(self, gone: Collection[int]) -> None:
        """Of versions that nobody knows any more nothing is told."""
        self._voice.forget(gone)
        for query in gone:
            self._last.pop(query, None)
        if self._ids is not None:
            self._ids.difference_update(gone)

    def _end_of(self, name: str) -> Iterator[bytes]:
        old = self._announced.ids.get(name)
        if old is not None:
            yield ended(name)
            rest = {id: standing for id, standing in self._announced.standing.items() if id != old}
            self._announced = Roster(self._announced.known, rest)

    def _closings(self, news: News) -> Iterator[bytes]:
        """How queries stand now, if that is not what was told; all answers before that were."""
        if self._opening:
            self._opening = False
            if self._names is not None:
                yield from (ended(name) for name in sorted(self._names) if name not in news.roster.ids)
            yield from self._replacements(news.roster) if self._returning else ()
            before, self._announced = Roster(), news.roster
            yield from (piece for id, piece in roster_changes(before, news.roster) if self._hears(id, news.roster))
        elif self._announced is not news.roster:
            before, self._announced = self._announced, news.roster
            yield from (
                piece
                for id, piece in roster_changes(before, news.roster)
                if self._hears(id, before) or self._hears(id, news.roster)
            )
        if self._names is not None and not any(name in news.roster.ids for name in self._names):
            self.finished = True

    def _replacements(self, roster: Roster) -> Iterator[bytes]:
        """To one who comes back: of which queries another version is there that has not answered yet. Of one that has,
        its answers say so."""
        for id, standing in roster.standing.items():
            before = sorted(version for version in roster.versions[standing.query.origin] if version < id)
            if not before or not self._wants(standing.query.name):
                continue
            told = [version for version in (*before, id) if self._order.last_instant(version, self._cursor) is not None]
            if told and told[-1] != id:
                yield replaced(standing.query, told[-1])

    def _hears(self, id: int, roster: Roster) -> bool:
        return id in roster.standing and self._wants(roster.standing[id].query.name)

    def _wants(self, name: str) -> bool:
        return self._names is None or name in self._names

    def _restorations(self, news: News) -> list[bytes]:
        """To one who was told what is not so any more: a gap for each query, after what it knows and still is so. It
        has an id, so that it is told only once."""
        concerned = [id for id in news.roster.standing if self._hears(id, news.roster)]
        for query in concerned:
            self._voice.lose(query)
            if (instant := self._order.last_instant(query, self._cursor)) is not None:
                self._last[query] = instant
        gaps = [self._gap(query, self._cursor, news, "restored") for query in concerned]
        return [*gaps[:-1], self._id(self._cursor) + (gaps[-1] if gaps else b"\n")]

    def _id(self, position: int) -> bytes:
        return b"id: %b\n" % event_id(self._order.lineage, position).encode()

    def _beginning(self, news: News) -> list[bytes]:
        """The newest answer of each query. If there is none, an id alone: to come back with."""
        newest, self._newest = self._newest, None
        pieces = [piece for place in newest or () if (piece := self._piece(place, news))]
        return pieces or [self._id(self._cursor) + b"\n"]

    def _piece(self, place: AnswerPlace, news: News) -> bytes | None:
        """The event of a place, empty if there is none; None if it is forgotten."""
        if place.instant is None:
            if place.position <= self._forgiven.get(place.query, 0) or place.query not in news.roster.known:
                return b""
            self._voice.lose(place.query)
            return self._id(place.position) + self._gap(place.query, place.position, news, "forgotten")
        if place.query not in news.roster.known:
            return b""  # its query is so long gone that not even its name is known
        try:
            piece = self._voice.tell(place, news)
        except (Damaged, TooLargeToTell) as error:
            reason = "damaged" if isinstance(error, Damaged) else "large"
            self._voice.lose(place.query)
            piece = self._id(place.position) + self._gap(
                place.query, place.position, news, reason, first=place.instant, last=place.instant
            )
        if piece is not None:
            self._last[place.query] = place.instant
        return piece

    def _gap(self, query: int, position: int, news: News, reason: str, **more: int | str) -> bytes:
        if reason == "forgotten":
            more["setting"] = KEEPING
        return notice(
            "gap",
            {
                "query": news.roster.known[query].name,
                "after": self._last.get(query),
                "next": self._order.next_instant(query, position),
                "reason": reason,
                **more,
            },
        )

    def _skipped(self, news: News) -> bytes | None:
        """The gaps up to the newest answers, if the client is too far behind: one piece, and the id at its end."""
        waiting = self._order.waiting(self._cursor, news.head, self._ids)
        if max((count for count, _, _ in waiting.values()), default=0) <= self._slow:
            return None
        cut = self._order.last(self._cursor, news.head, len(waiting) + 1, self._ids)[0].position
        gaps = []
        for query, (_, first, last) in self._order.waiting(self._cursor, cut, self._ids).items():
            if query in news.roster.known:
                self._voice.lose(query)
                gaps.append(self._gap(query, cut, news, "slow", first=first, last=last))
                self._last[query] = last
        skipped = self._order.waiting(self._cursor, cut, self._ids)
        gaps += [
            self._gap(place.query, cut, news, "forgotten")
            for place in self._order.gaps(self._cursor, cut)
            if place.query not in skipped
            and place.query in news.roster.known
            and (self._ids is None or place.query in self._ids)
        ]
        self._cursor = cut
        return b"".join(gaps[:-1]) + self._id(cut) + gaps[-1] if gaps else None
