"""An inbox: the messages that a broker has sent and that are not done yet, bounded in number and in bytes.

    inbox = Inbox(stopping)
    inbox.put(message)              # in the thread of the connection: waits a while for room; raises queue.Full
    group = inbox.group()           # those that wait together; they are counted until they are done
    inbox.done(group)

Whoever puts is whom the broker talks to: while that waits, nothing is taken from the connection, and so the broker
waits. Invariants: the messages that are not done have `WAITING_BYTES` together at most, or are one; as many as
`WAITING` wait.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Iterable
from dataclasses import dataclass

PREFIX = "mqtt "  # of keys: nobody's Idempotency-Key has a blank
WAITING = 20_000  # messages in memory; more come only of those with QoS 0, and are dropped
WAITING_BYTES = 256 << 20  # of them; one that is larger is taken alone
PATIENCE_SECONDS = 10.0  # for which nothing is taken from the connection at a time, which has to be kept alive
GROUP_MESSAGES, GROUP_BYTES = 500, 16 << 20
GROUP_SECONDS = 0.1  # for which a first message is waited for


@dataclass(frozen=True)
class MqttMessage:
    """One as it came: `mid` is its number in its session, on its connection; `again`: it was sent before;
    `subscriptions`: the numbers of those that it came for."""

    connection: int
    session: str
    mid: int
    qos: int
    again: bool
    topic: str
    payload: bytes
    content_type: str | None
    subscriptions: tuple[int, ...]

    @property
    def key(self) -> str:
        return f"{PREFIX}{self.session} {self.mid}"

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.topic.encode() + b"\0" + self.payload).digest()


class Inbox:
    def __init__(self, stopping: threading.Event) -> None:
        """When it is `stopping` nobody waits for room any more."""
        self._stopping = stopping
        self._arrived: queue.Queue[MqttMessage] = queue.Queue(WAITING)
        self._bytes, self._room = 0, threading.Condition()

    def __len__(self) -> int:
        """How many wait that nobody has taken."""
        return self._arrived.qsize()

    @property
    def size(self) -> int:
        """Bytes of those that are not done."""
        return self._bytes

    def put(self, message: MqttMessage) -> None:
        """Waits, but not for ever, until there is room. Raises `queue.Full`."""
        size = len(message.payload)
        with self._room:
            if not self._room.wait_for(lambda: self._has_room(size), PATIENCE_SECONDS):
                raise queue.Full
            self._arrived.put_nowait(message)
            self._bytes += size

    def _has_room(self, size: int) -> bool:
        return not self._bytes or self._bytes + size <= WAITING_BYTES or self._stopping.is_set()

    def group(self) -> list[MqttMessage]:
        """Those that wait, some at most; nothing if none comes soon."""
        try:
            group = [self._arrived.get(timeout=GROUP_SECONDS)]
        except queue.Empty:
            return []
        size = len(group[0].payload)
        while len(group) < GROUP_MESSAGES and size < GROUP_BYTES:
            try:
                group.append(self._arrived.get_nowait())
            except queue.Empty:
                break
            size += len(group[-1].payload)
        return group

    def done(self, messages: Iterable[MqttMessage]) -> None:
        """They are written, or given up."""
        size = sum(len(message.payload) for message in messages)
        with self._room:
            self._bytes -= size
            self._room.notify()
