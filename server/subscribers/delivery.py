"""Delivery: one thread writes to the sockets of all subscribers, and waits for none of them.

    delivery = Delivery(fanout, heartbeat_seconds=15.0, stall_seconds=30.0).start()
    delivery.take(connection, subscription)         # from the thread that has sent the response's head

A seat is a subscriber's connection, and is at any time in one place:

    written to      pieces wait until its socket takes them: those of one page, which all who are sent them share
    hungry          everything is sent: the thread that catches up asks its subscription for more
    resting         there is nothing more: it is fed as soon as there is news, by the thread that has the news

So a reader who takes nothing costs a page at most, and nobody's time; after `stall_seconds` they are sent home, and can
come back where they were. Nothing here wakes up while there is nothing to send but the heartbeats.
"""

from __future__ import annotations

import queue
import selectors
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Collection

from csparql_spark.server.http.wakeup import Wakeup
from csparql_spark.server.subscribers.fanout import Fanout
from csparql_spark.server.subscribers.subscription import RETRY, Subscription

BUFFER_BYTES = 64 << 10  # of a socket, which the kernel doubles
CHATTER_BYTES = 64 << 10  # that a subscriber may send; nobody has a reason to
PATIENCE_SECONDS = 5.0  # who takes longer for a page is slow
BEATS = 4  # looks at the clock in the time of a heartbeat


class Seat:
    __slots__ = ("blocked", "closed", "heard", "moved", "paged", "since", "slow", "socket", "subscription", "waiting")

    def __init__(self, connection: socket.socket, subscription: Subscription) -> None:
        self.socket, self.subscription = connection, subscription
        self.waiting: deque[memoryview] = deque()
        self.paged = False  # a page is among what waits, or was: when all is sent, another one is wanted
        self.moved = self.since = time.monotonic()  # when it took something last; when its page was begun
        self.blocked = False  # the selector tells when it takes more
        self.slow = False
        self.heard = 0
        self.closed = False


class Delivery:
    def __init__(self, fanout: Fanout, *, heartbeat_seconds: float, stall_seconds: float) -> None:
        self._fanout = fanout
        self._heartbeat, self._stall = heartbeat_seconds, stall_seconds
        self._inbox: deque[tuple[Seat, list[bytes]]] = deque()
        self._hungry: queue.SimpleQueue[list[Seat] | None] = queue.SimpleQueue()
        self._resting: set[Seat] = set()
        self._lock = threading.Lock()
        self._seats: set[Seat] = set()
        self._running = True
        self._threads = [
            threading.Thread(target=work, name=name, daemon=True)
            for name, work in (("delivery", self._run), ("catching-up", self._catch_up))
        ]

    def start(self) -> Delivery:
        self._selector = selectors.DefaultSelector()
        self._wakeup = Wakeup()
        self._selector.register(self._wakeup, selectors.EVENT_READ)
        self._fanout.listener = self._news
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        """Everybody goes home."""
        self._end()
        for thread in self._threads:
            thread.join()
        self._selector.close()
        self._wakeup.close()

    def take(self, connection: socket.socket, subscription: Subscription) -> None:
        """Write to this connection from now on; it is ours."""
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        # A peer that is gone without a word is noticed as one that takes nothing.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * self._stall))
        self._send([(Seat(connection, subscription), [RETRY])])

    # --- the threads that read the store

    def _end(self) -> None:
        self._running = False
        self._wakeup.ring()
        self._hungry.put(None)

    def _news(self, queries: Collection[int], roster_changed: bool) -> None:
        if not self._fanout.running:
            self._end()
            return
        with self._lock:
            seats = [seat for seat in self._resting if roster_changed or seat.subscription.concerned(queries)]
            self._resting.difference_update(seats)
        self._feed(seats)

    def _catch_up(self) -> None:
        while (seats := self._hungry.get()) is not None:
            for seat in seats:
                self._feed([seat])

    def _feed(self, seats: list[Seat]) -> None:
        """Ask the subscriptions for more; who has nothing rests."""
        fed = []
        for seat in seats:
            if seat.closed:
                continue
            try:
                while not (pieces := seat.subscription.more(slow=seat.slow)) and not seat.subscription.finished:
                    if self._rests(seat):
                        break
                else:
                    fed.append((seat, pieces))
            # Whatever it is, it is this one's misfortune, and not that of all who listen; it comes back and tries
            # again.
            except Exception as error:
                print(
                    f"csparql-spark: a subscriber is sent home, it cannot be told what follows: {error}",
                    file=sys.stderr,
                    flush=True,
                )
                seat.subscription.finished = True
                fed.append((seat, []))
        self._send(fed)

    def _rests(self, seat: Seat) -> bool:
        """Whether it may rest: there was no news since it was told everything."""
        with self._lock:
            if seat.subscription.caught_up != self._fanout.news.version:
                return False
            self._resting.add(seat)
            return True

    def _send(self, fed: list[tuple[Seat, list[bytes]]]) -> None:
        if fed:
            self._inbox.extend(fed)
            self._wakeup.ring()

    # --- the thread that writes

    def _run(self) -> None:
        beat = self._heartbeat / BEATS
        due = time.monotonic() + beat
        while self._running:
            ready = self._selector.select(max(0.0, due - time.monotonic()) if self._seats else None)
            done: list[Seat] = []
            for key, events in ready:
                if key.data is None:
                    self._wakeup.heard()
                elif events & selectors.EVENT_WRITE:
                    self._write(key.data, done)
                elif not self._listen(key.data):
                    self._close(key.data)
            while self._inbox:
                seat, pieces = self._inbox.popleft()
                self._accept(seat, pieces, done)
            done = [seat for seat in done if not seat.closed and not self._rests(seat)]
            if done:
                self._hungry.put(done)
            if time.monotonic() >= due:
                self._beat()
                due = time.monotonic() + beat
        for seat in [*self._seats, *(seat for seat, _ in self._inbox)]:
            self._close(seat)

    def _accept(self, seat: Seat, pieces: list[bytes], done: list[Seat]) -> None:
        if seat.closed:
            return
        if seat not in self._seats:
            self._seats.add(seat)
            self._selector.register(seat.socket, selectors.EVENT_READ, seat)
        seat.since, seat.paged = time.monotonic(), True
        seat.waiting.extend(map(memoryview, pieces))
        self._write(seat, done)

    def _write(self, seat: Seat, done: list[Seat]) -> None:
        """Send what it takes. When that was all, it is `done` with its page."""
        try:
            while seat.waiting:
                sent = seat.socket.send(seat.waiting[0])
                seat.moved = time.monotonic()
                if sent < len(seat.waiting[0]):
                    seat.waiting[0] = seat.waiting[0][sent:]
                else:
                    seat.waiting.popleft()
        except BlockingIOError:
            self._watch(seat, blocked=True)
            return
        except OSError:
            self._close(seat)
            return
        self._watch(seat, blocked=False)
        if not seat.paged:
            return
        seat.paged = False
        if seat.subscription.finished:
            self._close(seat)
        else:
            seat.slow = seat.moved - seat.since > PATIENCE_SECONDS
            done.append(seat)

    def _watch(self, seat: Seat, *, blocked: bool) -> None:
        if blocked != seat.blocked:
            seat.blocked = blocked
            events = selectors.EVENT_READ | selectors.EVENT_WRITE if blocked else selectors.EVENT_READ
            self._selector.modify(seat.socket, events, seat)

    def _listen(self, seat: Seat) -> bool:
        """Whether it is still there. What it says is not answered."""
        try:
            received = len(seat.socket.recv(4096))
        except BlockingIOError:
            return True
        except OSError:
            return False
        seat.heard += received
        return bool(received) and seat.heard <= CHATTER_BYTES

    def _beat(self) -> None:
        """Signs of life for those who were told nothing for so long; who takes nothing at all is sent home."""
        now = time.monotonic()
        for seat in list(self._seats):
            silent = now - seat.moved
            if seat.waiting:
                if silent >= self._stall:
                    self._close(seat)
            elif silent >= self._heartbeat * (BEATS - 1) / BEATS and (piece := self._sign(seat)):
                seat.waiting.append(memoryview(piece))
                self._write(seat, [])

    def _sign(self, seat: Seat) -> bytes | None:
        # While it rests nobody else asks its subscription for anything.
        with self._lock:
            return seat.subscription.heartbeat() if seat in self._resting else None

    def _close(self, seat: Seat) -> None:
        if seat.closed:
            return
        seat.closed = True
        with self._lock:
            self._resting.discard(seat)
        if seat in self._seats:
            self._seats.discard(seat)
            self._selector.unregister(seat.socket)
        seat.subscription.close()
        seat.socket.close()
