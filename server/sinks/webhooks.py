"""Webhooks: tells observers what their queries say, one POST for each answer, in order, until it is taken.

    POST https://hooks.example.org/hot
    X-CSPARQL-Query: HotRooms
    X-CSPARQL-Version: 17
    X-CSPARQL-Instant: 1700000000000
    X-CSPARQL-Delivery: 5f0c…-1700000000000-qkzw…    the same when it is told again; another where a copy of the
                                                     database was put back, and the query says it anew
    X-CSPARQL-Signature: sha256=…                    HMAC of the body, when the observer has a secret
    X-CSPARQL-Gap: 1699999000000                     answers after this instant are kept no longer, are damaged, or are
                                                     too large to be told

    {"query":"HotRooms","version":17,"at":1700000000000,"windows":…,"results":…}

Who asks to hear `when` it is `nonempty` is not told what says nothing: a table without rows (for ISTREAM and DSTREAM:
no change), a graph without triples. An ASK always says something. Who asks for `changes` is told a whole, and then what
has changed since what it took last, where something has (see `subscribers.changes`); after a gap a whole again.

An answer is taken when the response is 2xx. Else it is told again, ever later: after a second, two, four, …, five
minutes. An observer that has missed too often or for too long (or says 410) is failed; it keeps its position. Where the
query is replaced, it is told the rest of what the version before has said, and then the next, beginning with a whole.

Invariants: an observer has at most one call at a time, and answers in the order of their instants, without a gap that
is not told. A few threads serve all observers; who is slow makes nobody else wait, and has no queue.

    webhooks = Webhooks(stores, fanout.order, Allowed(settings.webhooks)).start()
    webhooks.notify({17})           # these queries have new answers
"""

from __future__ import annotations

import hashlib
import hmac
import random
import sys
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

from csparql_spark import __version__
from csparql_spark.disk import StoreError
from csparql_spark.disk.damage import Damaged
from csparql_spark.server.sinks.outgoing_calls import Allowed, BadUrl, Undelivered, send
from csparql_spark.server.stores import Stores
from csparql_spark.server.subscribers.changes import MOST_COMPARED, change_body, delta_body
from csparql_spark.server.subscribers.instants import MOST_TOLD, TooLargeToTell, envelope, whole, windows_of
from csparql_spark.store import QueryRecord, StoredAnswer
from csparql_spark.store.chains import ChainReader, TooManyBytes
from csparql_spark.store.observers import CHANGES, NONEMPTY, Observer
from csparql_spark.store.order import AnswerOrder

THREADS = 8
PAGE_INSTANTS = 16
MOST_FAILURES = 30
LONGEST_FAILING = 24 * 3600 * 1000
LONGEST_PAUSE = 300.0
STORE_PAUSE = 1.0
LOOK_PAUSE = 0.1  # until it is asked again whether a version that is over has said all; each time twice as long,
MOST_LOOK_PAUSE = 1.0  # up to this
MOST_ORIGINS = 20_000
BEGINNING, END = -(1 << 62), 1 << 62

_dice = random.Random()  # its own: a seed of Python's gives what is expected, whatever threads wait here


class ToldAnswer(NamedTuple):
    """What an observer is told at an instant, empty if that is nothing, and the position of the answer."""

    instant: int
    position: int
    body: bytes


@dataclass
class VersionWait:
    """The observers that have been told what a version has said, and wait until that is all. Somebody asks for them
    together: at `at`, on the steady clock."""

    ended: int
    at: float
    pause: float = LOOK_PAUSE
    observers: dict[str, int] = field(default_factory=dict)  # and their queries

    def later(self) -> None:
        self.pause = min(MOST_LOOK_PAUSE, 2 * self.pause)
        self.at = time.monotonic() + self.pause


def pause_after(failures: int) -> float:
    """Seconds until the next try, not the same for all who failed together."""
    return min(LONGEST_PAUSE, 2.0 ** min(failures - 1, 20)) * _dice.uniform(0.5, 1.0)


class Webhooks:
    def __init__(
        self, stores: Stores, order: AnswerOrder, allowed: Allowed, *, pause: Callable[[int], float] = pause_after
    ) -> None:
        self._observers, self._registry = stores.observers, stores.registry
        self._answers, self._order = stores.answers, order
        self.allowed = allowed
        self._now, self._pause = stores.now, pause
        self._change = threading.Condition()
        self._news: set[int] | None = None  # queries with new answers; None: look at all
        self._due: dict[str, float] = {}  # when an observer is to be called, on the steady clock
        self._called: set[str] = set()  # who is being called now
        self._queries: dict[str, int] = {}  # of the observers that are due
        self._origins: dict[int, int] = {}  # which query a version is of, as far as somebody asked
        self._waits: dict[int, VersionWait] = {}  # by version
        self._running = True
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="webhook")
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)

    def start(self) -> Webhooks:
        self._thread.start()
        return self

    def stop(self) -> None:
        with self._change:
            self._running = False
            self._change.notify()
        self._thread.join()
        self._pool.shutdown(cancel_futures=True)

    def notify(self, queries: Collection[int]) -> None:
        """These queries have answers, or observers, that they had not before."""
        with self._change:
            if self._news is not None:
                self._news.update(queries)
            self._change.notify()

    def again(self, observer: Observer) -> None:
        """Call it now, however often it failed before."""
        with self._change:
            self._due.pop(observer.id, None)
        self.notify({observer.query})

    def _run(self) -> None:
        while True:
            with self._change:
                while self._running and self._news == set() and (wait := self._wait()) > 0:
                    self._change.wait(wait)
                if not self._running:
                    return
                news, self._news = self._news, set()
            try:
                if news is None or news:
                    self._look(news)
                self._look_for_ends()
            except StoreError as error:
                print(f"csparql-spark: observers wait, the store fails: {error}", file=sys.stderr, flush=True)
                with self._change:
                    self._change.wait_for(lambda: not self._running, STORE_PAUSE)
                    self._news = None
            self._call()

    def _wait(self) -> float:
        """Seconds until somebody is due."""
        due = (at for id, at in self._due.items() if id not in self._called)
        soonest = min((*due, *(wait.at for wait in self._waits.values())), default=None)
        return threading.TIMEOUT_MAX if soonest is None else max(0.0, soonest - time.monotonic())

    def _look(self, news: Collection[int] | None) -> None:
        if news is None:
            self._observers.forget()
        active = self._observers.active()
        told = None if news is None or not active else {self._origin(version) for version in news}
        interested = [observer for observer in active if told is None or observer.query in told]
        with self._change:
            for observer in interested:
                self._queries[observer.id] = observer.query
                self._due.setdefault(observer.id, 0.0)  # who waits after a failure goes on waiting

    def _look_for_ends(self) -> None:
        """Call those who have waited for a version that has said all."""
        with self._change:
            waits = [(version, wait) for version, wait in self._waits.items() if wait.at <= time.monotonic()]
        if not waits:
            return
        active = {observer.id for observer in self._observers.active()}
        for version, wait in waits:
            complete = self._answers.is_complete(version, wait.ended)
            with self._change:
                wait.observers = {id: query for id, query in wait.observers.items() if id in active}
                wait.later()
                if not complete and wait.observers:
                    continue
                del self._waits[version]
                for id, query in wait.observers.items():
                    self._queries[id] = query
                    self._due.setdefault(id, 0.0)

    def _wait_for_end(self, observer: Observer, version: int, ended: int) -> None:
        with self._change:
            wait = self._waits.setdefault(version, VersionWait(ended, time.monotonic() + LOOK_PAUSE))
            wait.observers[observer.id] = observer.query

    def _origin(self, version: int) -> int:
        """The query that a version is of, by its first one."""
        if version not in self._origins:
            if len(self._origins) > MOST_ORIGINS:
                self._origins.clear()
            record = self._registry.version(version)
            self._origins[version] = version if record is None else record.origin
        return self._origins[version]

    def _call(self) -> None:
        with self._change:
            ready = [id for id, at in self._due.items() if at <= time.monotonic() and id not in self._called]
            for id in ready:
                del self._due[id]
                self._called.add(id)
                self._pool.submit(self._served, id, self._queries[id])

    def _served(self, id: str, query: int) -> None:
        pause: float | None = None
        try:
            pause = self._serve(query, id)
        except StoreError as error:
            print(f"csparql-spark: the observer {id} waits, the store fails: {error}", file=sys.stderr, flush=True)
            pause = STORE_PAUSE
        finally:
            with self._change:
                self._called.discard(id)
                if pause is not None:
                    later = time.monotonic() + pause
                    self._due[id] = later if pause else 0.0
                elif id not in self._due:
                    self._queries.pop(id, None)
                self._change.notify()

    def _serve(self, query: int, id: str) -> float | None:
        """Tell an observer some of what it has not heard; after how many seconds to go on, None if there is no more."""
        observer = self._observers.one(query, id)
        if observer is None or observer.state != "active":
            return None
        record = self._version(observer)
        if record is None:
            self._observers.forget()
            return None
        # Asked before its answers are looked for: then these are all.
        complete = record.ended is not None and self._answers.is_complete(record.id, record.ended)
        if record.id != observer.version:  # that one is kept no longer
            self._observers.moved(id, record.id, position=BEGINNING, gap=_known(observer.position))
            return 0.0
        instants = self._answers.instants(record.id, observer.position + 1, END, PAGE_INSTANTS)
        gap = observer.gap
        if gap is None and self._gap(record.id, observer.position):
            gap = observer.position
        # The last instant since it was told something that it does not want, or that nobody can read.
        passed: int | None = None
        for instant in instants:
            if not self._running:
                return None
            try:
                told = self._told(observer, record, instant, gap, passed)
            except (TooLargeToTell, Damaged):
                passed, gap = instant, observer.position if gap is None else gap
                continue
            if told is None:  # forgotten in this moment
                gap = observer.position if gap is None else gap
                continue
            if not told.body:
                passed = instant
                continue
            try:
                self._deliver(observer, record, told, gap)
            except (Undelivered, BadUrl, ValueError) as error:
                if passed is not None:
                    self._observers.passed(id, passed, gap=gap)
                return self._missed(observer, error)
            self._observers.took(id, instant)
            observer = self._observers.one(query, id)
            if observer is None:
                return None  # deleted while it was being told
            gap = passed = None
        if passed is not None:
            self._observers.passed(id, passed, gap=gap)
        if len(instants) == PAGE_INSTANTS:
            return 0.0
        if record.ended is None:
            return None
        if not complete:
            self._wait_for_end(observer, record.id, record.ended)
            return None
        if gap is None and self._order.gone(record.ended) is not None:
            gap = _known(observer.position)
        self._observers.moved(id, record.ended, position=BEGINNING, gap=gap)
        return 0.0

    def _told(
        self, observer: Observer, record: QueryRecord, instant: int, gap: int | None, passed: int | None
    ) -> ToldAnswer | None:
        """What an observer is told at an instant; None if that is forgotten. `passed`: up to where it was told nothing
        since its position. Raises `TooLargeToTell` and `Damaged`."""
        # What was passed over since it took something is no other than that, unless there is a gap.
        since = observer.taken if observer.when == CHANGES and gap is None else None
        before = observer.position if passed is None else passed
        stored = None if since is None else self._answers.change(record.id, instant, MOST_TOLD)
        if stored is not None and stored.since == before and since is not None:
            return ToldAnswer(instant, stored.position, delta_body(record, stored.delta, instant, since) or b"")
        reader = self._answers.reader(record.id)  # of one after the other
        base = [] if since is None else _compared(reader, before)
        try:
            parts = reader.within(instant, MOST_TOLD)
        except TooManyBytes as large:
            raise TooLargeToTell from large
        if not parts:
            return None
        if observer.when == NONEMPTY and not any(part.rows for part in parts):
            whole(parts)
            body = b""
        elif observer.when != CHANGES:
            body = envelope(record.name, parts, windows_of(record, instant))
        else:
            body = change_body(record, base, parts, instant if since is None else since) or b""
        return ToldAnswer(instant, max(part.position for part in parts), body)

    def _deliver(self, observer: Observer, record: QueryRecord, told: ToldAnswer, gap: int | None) -> None:
        """Raises `Undelivered`."""
        refusal = self.allowed.refusal(observer.url)  # the setting may be another one since it was added
        if refusal is not None:
            raise Undelivered(refusal, gone=True)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"csparql-spark/{__version__}",
            "X-CSPARQL-Query": record.name.encode("ascii", "backslashreplace").decode(),
            "X-CSPARQL-Version": str(record.id),
            "X-CSPARQL-Instant": str(told.instant),
            "X-CSPARQL-Delivery": self._delivery(observer, record, told),
        }
        if gap is not None:
            headers["X-CSPARQL-Gap"] = str(gap)
        if observer.secret is not None:
            headers["X-CSPARQL-Signature"] = signature(observer.secret, told.body)
        send(observer.url, told.body, headers, public=self.allowed.needs_public(observer.url))

    def _delivery(self, observer: Observer, record: QueryRecord, told: ToldAnswer) -> str:
        incarnation = self._order.lineage.of(told.position)
        version = None if record.id == record.origin else str(record.id)  # two of them may have the same instant
        return "-".join(filter(None, (observer.id, version, str(told.instant), incarnation)))

    def _missed(self, observer: Observer, error: Exception) -> float | None:
        now, failures = self._now(), observer.failures + 1
        # What is no `Undelivered` will not be otherwise next time.
        hopeless = error.gone if isinstance(error, Undelivered) else True
        too_long = observer.failing is not None and now - observer.failing >= LONGEST_FAILING
        fail = hopeless or too_long or failures >= MOST_FAILURES
        self._observers.missed(observer.id, str(error), at=now, fail=fail)
        return None if fail else self._pause(failures)

    def _version(self, observer: Observer) -> QueryRecord | None:
        """The version of its query that it is told, or the oldest that is still kept; None if the query is gone."""
        record = self._registry.version(observer.version)
        if record is not None:
            return record
        live = next((query for query in self._registry.queries() if query.origin == observer.query), None)
        return None if live is None else next(iter(self._registry.versions(live.name)), None)

    def _gap(self, query: int, after: int) -> bool:
        """Whether answers after an instant are forgotten."""
        gone = self._order.gone(query)
        return gone is not None and BEGINNING < after < gone[1]


def _compared(reader: ChainReader, instant: int) -> list[StoredAnswer]:
    """An answer that another one is compared with; nothing if it is too large for that."""
    try:
        return reader.within(instant, MOST_COMPARED)
    except TooManyBytes:
        return []


def _known(position: int) -> int | None:
    """The last instant that an observer was told, if there is one."""
    return None if position == BEGINNING else position


def signature(secret: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
