"""Fan-out: one thread looks for what is new, and each answer is spelled once for all who hear of it.

Nobody has a queue. A subscriber is a cursor into the one order in which all answers were told (see `store.order`), and
asks for what follows it. A slow subscriber therefore costs what a quick one costs, and what a dead one leaves behind is
nothing.

    fanout.join(subscription)                       # raises TooManySubscribers; leave(subscription) afterwards
    news = fanout.news                              # one consistent look: head, roster, version
    for place in fanout.following(48000, news, queries=[17]):
        fanout.spelled(place, news)                 # the bytes to send; None if they have just been forgotten
        fanout.change(16_000, place, news)          # what has changed since an instant
    fanout.wait(news.version, timeout=15)           # until there may be more

`heard` is told of all that is new: the ids of the queries that have answers, or none where others have come, gone or
failed.

Invariants: what follows a place up to a head never changes, but for what is forgotten, which leaves its place behind.
The roster of a look is read after its head, so it knows every query that has answered up to there.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

from csparql_spark.disk import Database, StoreError
from csparql_spark.disk.bell import Bell
from csparql_spark.language import LanguageError
from csparql_spark.language.queries.query_cache import read
from csparql_spark.server.dependents import asked_of
from csparql_spark.server.subscribers import instants
from csparql_spark.server.subscribers.changes import (
    MOST_COMPARED,
    change_since,
    change_text,
    delta_from,
    fleeting,
    order_of,
)
from csparql_spark.server.subscribers.event_cache import EventCache, Key
from csparql_spark.server.subscribers.event_ids import event_id
from csparql_spark.server.subscribers.roster import Roster, RosterReader
from csparql_spark.server.subscribers.whole_readers import WholeReaders
from csparql_spark.store import AnswerStore, QueryRecord, Registry, StoredAnswer
from csparql_spark.store.chains import TooManyBytes
from csparql_spark.store.order import AnswerOrder, AnswerPlace
from csparql_spark.windows.grid import Grid
from csparql_spark.windows.rule import grid_of, is_known_before

if TYPE_CHECKING:
    from csparql_spark.server.subscribers.subscription import Subscription

LOOK_SECONDS = 0.5  # a bell may be missed; the store is looked at this often
PAGE_PLACES = 16
REMEMBERED = 256  # answers to "what follows?", between two looks


class TooManySubscribers(Exception):
    """All places are taken."""


class NoBase(Exception):
    """The answer that a change would be from is not there, or damaged; or answers are too large to be compared."""


class News(NamedTuple):
    """What was there at a look."""

    version: int
    head: int
    roster: Roster


class Fanout:
    def __init__(
        self,
        database: Database,
        answers: AnswerStore,
        bell: Bell,
        *,
        places: int,
        heard: Callable[[Collection[int]], None] = lambda queries: None,
    ) -> None:
        self.order = AnswerOrder(database)
        self._answers, self._wholes = answers, WholeReaders(answers)
        self._bell = bell  # that the thread listens to
        self._places = places
        self._heard = heard
        self._reader = RosterReader(database, Registry(database))
        self.news = News(0, 0, Roster())
        self.stopped = threading.Event()
        # Who is to be told at once that there is news: of which queries, and whether the roster is another one. At
        # the end, too.
        self.listener: Callable[[Collection[int], bool], None] = lambda queries, roster_changed: None
        self._subscriptions: set[Subscription] = set()
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._change = threading.Condition()
        self._cache = EventCache()
        self._followed: tuple[int, OrderedDict[object, list[AnswerPlace]]] = (0, OrderedDict())
        self._thread = threading.Thread(target=self._run, name="fanout", daemon=True)

    def start(self) -> Fanout:
        # Who joins from now on finds in the store what was told before this.
        self.news = News(1, self.order.head(), self._reader.read())
        self._thread.start()
        return self

    def stop(self) -> None:
        """Send every subscriber home."""
        self.stopped.set()
        with self._change:
            self._change.notify_all()
        self.listener((), True)
        self._bell.ring()
        if self._thread.ident is not None:
            self._thread.join()
        self._bell.close()

    @property
    def running(self) -> bool:
        return not self.stopped.is_set()

    @property
    def subscribers(self) -> int:
        return len(self._subscriptions)

    def join(self, subscription: Subscription) -> None:
        with self._lock:
            if len(self._subscriptions) >= self._places:
                raise TooManySubscribers
            self._subscriptions.add(subscription)

    def leave(self, subscription: Subscription) -> None:
        with self._lock:
            self._subscriptions.discard(subscription)

    def changed(self) -> None:
        """A query was registered, deleted, paused or resumed: look at once."""
        self._bell.ring()

    def is_over(self, names: Collection[str], position: int) -> bool:
        """Whether these queries are gone, and nothing of what they said after a position is left."""
        news = self.look()
        if any(name in news.roster.ids for name in names):
            return False
        ids = {id for id, query in news.roster.known.items() if query.name in names}
        return not self.following(position, news, ids)

    def look(self) -> News:
        """See what is new, and tell it."""
        with self._looking:
            before = self.news
            head = self.order.head()
            queries = self.order.queries_since(before.head, head) if head != before.head else set()
            roster = self._reader.read()
            roster_changed = roster is not before.roster
            if head != before.head or roster_changed:
                self.news = News(before.version + 1, head, roster)
        if queries or roster_changed:
            self._heard(queries)
            with self._change:
                self._change.notify_all()
            self.listener(queries, roster_changed)
        return self.news

    def wait(self, version: int, timeout: float) -> bool:
        """Sleep until there is other news than that, at most `timeout` seconds; false if there is none."""
        with self._change:
            return self._change.wait_for(lambda: self.news.version != version or self.stopped.is_set(), timeout)

    def following(self, position: int, news: News, queries: Collection[int] | None) -> list[AnswerPlace]:
        """Some of the places after a position, in order; none if there are none up to the head."""
        key = (position, None if queries is None else frozenset(queries))
        version, followed = self._followed
        if version != news.version:
            followed = OrderedDict()
            self._followed = (news.version, followed)
        places = followed.get(key)
        if places is None:
            places = self.order.after(position, head=news.head, limit=PAGE_PLACES, queries=queries)
            followed[key] = places
            if len(followed) > REMEMBERED:
                followed.popitem(last=False)
        return places

    def missed(self) -> None:
        """Something that was found is forgotten meanwhile: ask the store again."""
        self._followed = (0, OrderedDict())

    def spelled(self, place: AnswerPlace, news: News) -> bytes | None:
        """The event of an answer; None if it is forgotten. Raises `Damaged` and `TooLargeToTell`."""
        return self._once((place.query, place.position), lambda: self._spell(place, news.roster))

    def keyframe(self, place: AnswerPlace, news: News) -> bytes | None:
        """The same, as an event that changes begin with."""
        return self._once((place.query, place.position, "keyframe"), lambda: self._spell(place, news.roster, key=True))

    def change(self, base: int, place: AnswerPlace, news: News) -> bytes | None:
        """What has changed since the instant `base` of its query; empty if nothing has, None if it is forgotten. Raises
        `NoBase`, `Damaged` and `TooLargeToTell`."""
        key = (place.query, place.position, base)
        return self._once(key, lambda: self._changed(base, place, news.roster))

    def _once(self, key: Key, spell: Callable[[], bytes | None]) -> bytes | None:
        event = self._cache.get(key)
        if event is None:
            with self._cache.lock(key):  # nobody spells what another one is spelling
                event = self._cache.get(key)
                if event is None:
                    event = spell()
                    if event is not None:
                        self._cache.put(key, event)
        return event

    def _spell(self, place: AnswerPlace, roster: Roster, *, key: bool = False) -> bytes | None:
        if (parts := self._parts(place.query, place.instant)) is None:
            return None
        query, id = roster.known[place.query], event_id(self.order.lineage, place.position)
        windows = instants.windows_of(query, parts[0].instant)
        if key:
            return instants.keyframe(id, query.name, parts, windows, order_of(query))
        return instants.event(id, query.name, parts, windows)

    def _changed(self, base: int, place: AnswerPlace, roster: Roster) -> bytes | None:
        if place.instant is None:
            return None
        query = roster.known[place.query]
        delta = change_since(self._answers, query.id, place.instant, base)
        if delta is None:
            try:  # one after the other: what the former is put together of, the latter goes on from
                before, now = [self._wholes.at(query.id, at, MOST_COMPARED) for at in (base, place.instant)]
            except TooManyBytes as large:
                raise NoBase from large
            if not now:
                return None
            delta = delta_from(query, before, now)
        if delta is None:
            raise NoBase
        return b"" if delta.empty else change_text(fleeting(asked_of(query), delta), place.instant)

    def _parts(self, query: int, instant: int | None) -> list[StoredAnswer] | None:
        """Those of an answer, if it is there. Raises `TooLargeToTell`."""
        if instant is None:
            return None
        try:
            return self._wholes.at(query, instant, instants.MOST_TOLD) or None
        except TooManyBytes as large:
            raise instants.TooLargeToTell from large

    def _run(self) -> None:
        while self.running:
            try:
                self.look()
                self._bell.wait(LOOK_SECONDS)
            except StoreError as error:
                print(f"csparql-spark: subscribers wait, the store fails: {error}", file=sys.stderr, flush=True)
                time.sleep(LOOK_SECONDS)


def instants_of(query: QueryRecord) -> Grid | None:
    """The instants of a query, if they are known before they come."""
    try:
        asked = read(query.text, query.base, query.compiled)
    except LanguageError:
        return None
    return grid_of(asked) if is_known_before(asked) else None
