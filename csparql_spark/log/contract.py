"""The contract of a log: what may be asked of one, and what it guarantees, wherever it keeps its entries.

`log.sqlite` keeps them in the database of the data directory (`Log` reads, `LogWriter` writes), `log.memory` in memory
(`MemoryLog` does both). Both are held to this by one suite of tests, and to giving equal entries and equal refusals.

Of all logs: entries have places 1, 2, 3, … without holes, but for what is forgotten; what has a place keeps it, and
what it says. What `append` has returned is seen by everybody who reads afterwards. `read` and `registrations` give a
damaged entry as one that says so (`damage` is a sentence, `payload` is None, and the kind is `damaged` if it cannot be
told whom it concerned); who asks for more of it is told by `Damaged`. So is an entry of the kind `damaged` in the place
of what a stream has lost.

    def push(log: WritableLog, draft: Draft) -> Entry:
        return log.append(draft, Same("streams", 17))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from csparql_spark.log.entries import Draft, Entry, Reply
from csparql_spark.log.guards import AnyGuard

KEPT_MS = 24 * 60 * 60 * 1000  # for so long the key of a push is remembered
KEPT_KEYS = 100_000  # and so many of one stream


class Reused(Exception):
    """A key was used before, for another push."""


class StampSpan(NamedTuple):
    """Of some chunks of a stream: the newest stamp of their arrival; the oldest and the newest stamp in them, given or
    of their arrival."""

    at: int
    first: int
    last: int


class WritableLog(Protocol):
    """The writing side. Any number of threads may call it, at any time."""

    def append(self, draft: Draft, guard: AnyGuard | None = None) -> Entry:
        """The entry that the draft has become; it is durable, and so is what is `beside` it.

        The guard is decided by what stands before the entry, with nothing in between. Stamps never go back: an entry is
        stamped by the arrival clock, and not before the one in front of it. A tick of the arrival clock is stamped with
        what it claims (`at`), but not earlier than one before what has arrived already, and what follows is stamped
        later; one of a stream's own clock is stamped with what it claims, and holds up nothing.

        Raises `Refused` if the guard does not hold: then there is no trace of it. Raises `StoreError` if it cannot be
        written, and nothing was; or if it is not known whether it will be, which the sentence says."""

    def reply_to(self, stream: int, key: str, digest: bytes) -> Reply | None:
        """What was answered to the push into the stream (by its id) that had this key; None if none is remembered.
        Raises `Reused` if that was another push."""

    def now(self) -> int:
        """What an entry would be stamped with that came now (epoch ms). It never goes back."""

    def appended(self, stream: str) -> tuple[int, int]:
        """How many chunks, and how many triples, were appended to a stream since the log was opened here."""

    def relayed_to(self, query: int) -> int | None:
        """The newest instant of the query (by its id) whose answer is in the log; None if there is none."""

    def forget_keys(self, now: int, *, kept_ms: int = KEPT_MS, kept_keys: int = KEPT_KEYS) -> int:
        """Let go of keys that are old, that are too many of one stream, or whose stream is gone; how many went."""

    def stop(self) -> None:
        """Write what was appended before, then end. Whoever appends later is refused with `StoreError`."""


class ReadableLog(Protocol):
    """The reading side. Whoever reads holds up nobody who writes; what comes meanwhile is seen or not."""

    def tail(self) -> int:
        """The place of the newest entry; 0 for an empty log."""

    def waiting_since(self, after: int) -> int | None:
        """The arrival stamp of the first entry after a place; None if there is none. A tick of a stream's own clock is
        stamped with that clock: it waits since what came before it, or since what came after."""

    def read(self, after: int, upto: int) -> Iterable[Entry]:
        """The entries after a place, up to and including another, in order, whole or with their damage."""

    def one(self, seq: int) -> Entry | None:
        """The entry of a place as `read` gives it; None if there is none (any more)."""

    def payload(self, seq: int) -> bytes | None:
        """The payload of an entry; None if it has none, or is not there (any more). Raises `Damaged`."""

    def size(self, seq: int) -> int:
        """Bytes of the payload of an entry, which is not looked at; 0 if it has none, or is not there (any more)."""

    def outline(self, after: int, limit: int) -> list[Entry]:
        """The next entries after a place, so many at most, without payloads, and unchecked: what they say is a hint."""

    def registrations(self, after: int, upto: int) -> Iterable[Entry]:
        """Those of `read` that say which streams, queries, graphs and rule sets there are; graphs without payloads."""

    def last(self, subject: str, kind: str, upto: int) -> Entry | None:
        """The newest entry of the kind about the subject up to a place; None if there is none. Raises `Damaged`."""

    def last_as_is(self, subject: str, kind: str, upto: int) -> Entry | None:
        """The same, also if it is damaged."""

    def chunks(self, stream: str, *, low: int, high: int, after: int) -> Iterator[Entry]:
        """The chunks of a stream that may hold elements stamped low < t <= high, logged after a place, in order. Raises
        `Damaged`, also on the way: if there is an entry that may have been one of them, and is damaged."""

    def outlines(self, stream: str, *, after: int, newest_first: bool = False) -> Iterator[Entry]:
        """The chunks of a stream that were logged after a place, in order or against it, without payloads,
        unchecked."""

    def recent(self, stream: str, after: int = 0, upto: int | None = None) -> Iterator[Entry]:
        """The chunks of a stream that were logged after a place, and up to another, the newest first. Raises `Damaged`
        when it comes to an entry that may have been one of them."""

    def forgotten(self, stream: str) -> int:
        """A place after which no chunk of a stream is forgotten; 0 if none is. What is not known counts as that."""

    def logged_at(self, at: int, *, after: int) -> int | None:
        """The place of the first entry after a place that is stamped so or later by the arrival clock, or is a tick of
        it after which all is; None if there is none. That never goes back: only what lies near it is read."""

    def reached(self, stream: str, stamp: int, *, after: int) -> int | None:
        """The place of the first chunk of a stream, after a place, that holds an element stamped so or later, given or
        of its arrival; None if there is none. Unchecked."""

    def ticked(self, stream: str, at: int, *, after: int, upto: int) -> int | None:
        """The place of the first tick of a stream's own clock after a place, up to another, that says that an instant
        has passed, this one or a later one; None if there is none. Unchecked."""

    def newest(self, stream: str) -> int | None:
        """The newest stamp among the chunks of a stream, given or of their arrival; None if there are none."""

    def span(self, stream: str, *, after: int) -> StampSpan | None:
        """That of the chunks of a stream that were logged after a place; None if there are none. Unchecked, and in
        memory of a fixed size, however many they are."""

    def totals(self, stream: str) -> tuple[int, int]:
        """Chunks and triples of a stream that the log holds."""
