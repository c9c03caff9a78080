"""Listening: a process of subscribers, each a connection of its own, and what each of them was told and when.

One thread reads all connections. Lines of the file that it writes:

    told    subscriber  query  instant  id  ms since the instant  digest of the event's data
    wrong   subscriber  query  a sentence

Subscribers to changes write what they are told into another file, too, from which it can be folded (see `folding`):

    subscriber  query  id  ms since the instant  the event's data

    with Listening(port, [Seat("q0", 1000), …], path) as listening:
        ...
    told(path)          # what was written down

A connection that breaks is made again with the last id that it has seen, as a browser does, and is written down.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import re
import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

CONNECT_SECONDS = 60.0
SILENCE_SECONDS = 60.0  # the server says something each quarter of a minute
AGAIN_SECONDS = 1.0
FIELD = re.compile(rb"^([a-z]+):? ?(.*)$", re.MULTILINE)
_AT = re.compile(rb'"at":(-?[0-9]+)')
TOLD = ((b"answer",), (b"keyframe", b"change", b"unchanged"))  # to those who ask for wholes, and for changes
_processes = multiprocessing.get_context("spawn")


class Seat(NamedTuple):
    query: str
    step: int  # ms between its instants


class Heard(NamedTuple):
    subscriber: int
    query: str
    instant: int
    id: int  # the position in it
    ms: float
    digest: str


class Listening:
    def __init__(self, port: int, seats: Sequence[Seat], path: Path, changes: Path | None = None) -> None:
        """`changes`: who listens asks for changes, and this is the other file."""
        self._over = _processes.Event()
        files = str(path), None if changes is None else str(changes)
        self._process = _processes.Process(target=_work, args=(port, list(seats), *files, self._over), daemon=True)

    def __enter__(self) -> Listening:
        self._process.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._process.join(30)

    @property
    def pid(self) -> int:
        return self._process.pid


class Follower:
    """One subscriber: what it hears is cut into events, and looked at for order, repetition and gaps."""

    def __init__(self, number: int, seat: Seat, changes: TextIO | None = None) -> None:
        self.number, self.seat, self.changes = number, seat, changes
        self.last: int | None = None  # the instant
        self.id = b""
        self._rest = b""

    def take(self, piece: bytes, now: float) -> Iterator[str]:
        """The lines to write down for what has come at `now` (epoch ms)."""
        *events, self._rest = (self._rest + piece).split(b"\n\n")
        for event in events:
            fields = dict(FIELD.findall(event))
            self.id = fields.get(b"id", self.id)
            kind, data = fields.get(b"event"), fields.get(b"data", b"")
            if kind in TOLD[self.changes is not None]:
                yield from self._answer(data, now)
            elif kind is not None:
                yield self._wrong(f"{kind.decode()} {data.decode()}")

    def _answer(self, data: bytes, now: float) -> Iterator[str]:
        instant = int(_AT.search(data)[1])
        if self.last is not None and instant != self.last + self.seat.step:
            yield self._wrong(f"{instant} is told {'again' if instant <= self.last else f'after {self.last}'}")
        self.last = instant if self.last is None else max(instant, self.last)
        if self.changes is not None:
            self.changes.write(
                f"{self.number}\t{self.seat.query}\t{self.id.decode()}\t{now - instant:.1f}\t{data.decode()}\n"
            )
        yield (
            f"told\t{self.number}\t{self.seat.query}\t{instant}\t{self.id.decode()}\t{now - instant:.1f}\t"
            f"{digest(data)}\n"
        )

    def again(self) -> str:
        self._rest = b""
        return self._wrong(f"the connection broke after the id {self.id.decode()}, and was made again")

    def _wrong(self, sentence: str) -> str:
        return f"wrong\t{self.number}\t{self.seat.query}\t{sentence}\n"


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def told(path: Path, start: int = 0) -> tuple[list[Heard], list[str], int]:
    """What was told, and what was wrong, as it was written down from a place in the file on; and where that ends."""
    heard, wrong = [], []
    with path.open("rb") as file:
        file.seek(start)
        for line in file:
            if not line.endswith(b"\n"):
                break  # it is still being written
            start += len(line)
            kind, subscriber, query, *rest = line.decode().rstrip("\n").split("\t")
            if kind == "told":
                instant, id, ms, sum_ = rest
                position = int(id.partition("-")[0] or 0)
                heard.append(Heard(int(subscriber), query, int(instant), position, float(ms), sum_))
            else:
                wrong.append(f"subscriber {subscriber} of {query}: {rest[0]}")
    return heard, wrong, start


def _work(port: int, seats: list[Seat], path: str, changes: str | None, over) -> None:
    with contextlib.ExitStack() as open_:
        file = open_.enter_context(open(path, "a", encoding="utf-8"))
        told = None if changes is None else open_.enter_context(open(changes, "a", encoding="utf-8"))
        selector = open_.enter_context(selectors.DefaultSelector())
        for number, seat in enumerate(seats):
            follower = Follower(number, seat, told)
            selector.register(_connected(port, follower), selectors.EVENT_READ, follower)
        while not over.is_set() and os.getppid() != 1:
            for key, _ in selector.select(0.5):
                _read(port, key, selector, file)
            file.flush()


def _read(port: int, key: selectors.SelectorKey, selector: selectors.BaseSelector, file: TextIO) -> None:
    try:
        piece = key.fileobj.recv(1 << 18)
    except OSError:
        piece = b""
    if piece:
        file.writelines(key.data.take(piece, 1000 * time.time()))
        return
    selector.unregister(key.fileobj)
    key.fileobj.close()
    file.write(key.data.again())
    selector.register(_connected(port, key.data), selectors.EVENT_READ, key.data)


def _connected(port: int, follower: Follower) -> socket.socket:
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            return _asked(port, follower)
        except OSError as error:
            if time.monotonic() > deadline:
                raise ConnectionError(f"a subscriber of {follower.seat.query} gets no connection: {error}") from error
            time.sleep(AGAIN_SECONDS)


def _asked(port: int, follower: Follower) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=SILENCE_SECONDS)
    seen = f"Last-Event-ID: {follower.id.decode()}\r\n" if follower.id else ""
    connection.sendall(
        f"GET /queries/{follower.seat.query}/answers?from=beginning{'&changes=all' * (follower.changes is not None)} HTTP/1.1\r\nHost: localhost\r\n"
        f"Accept: text/event-stream\r\n{seen}\r\n".encode()
    )
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(1)  # nothing of what follows the head
        if not piece:
            raise ConnectionError(f"the server closed the connection after {head!r}")
        head += piece
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise ConnectionError(head.decode("latin-1"))
    if b"chunked" in head.lower():
        raise ConnectionError(f"the events come in chunks: {json.dumps(head.decode('latin-1'))}")
    connection.setblocking(False)
    return connection
