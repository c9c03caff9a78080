"""Pushing: from triples to a durable entry of the log, whoever brought them.

    pusher = Pusher(stores, BodyReader(stores, pool))
    stream = pusher.stream(iri)                  # raises Problem: unknown-stream, derived-stream
    chunk, unmapped = pusher.reader.push(body, format, iri)
    body = pusher.push(iri, chunk)               # {"stream", "accepted", "seq", "at", "first", "last", "warnings"}
    body = pusher.push(iri, chunk, Idempotency.of("key", body))     # counted once, however often it is sent
    body = pusher.push(iri, chunk, unmapped=unmapped)               # with a warning, if keys of JSON were left out

On the arrival clock the log stamps what is pushed, and stamps of the producer are dropped, with a warning. On the event
clock they are kept, with a warning where they are surely seconds, and triples without one are stamped on arrival. What
the web process remembers of streams does not outlive them: the log looks again, in its own order.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NotRequired, TypedDict, cast

import numpy as np

from csparql_spark.asking.timeline import written
from csparql_spark.language.durations import in_words
from csparql_spark.log import Entry, Refused
from csparql_spark.log.contents import TriplesPushed, draft_of
from csparql_spark.log.contract import Reused
from csparql_spark.log.entries import Draft, Keys, Reply
from csparql_spark.log.guards import Every, Same, Unused
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.stamps import likely_seconds
from csparql_spark.rdf.unmapped import told
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.sources.reading import BodyReader
from csparql_spark.server.stores import Stores
from csparql_spark.store import StreamRecord


class PushWarningBody(TypedDict):
    """What a producer should know: about its stamps, so many `triples`, or so many `keys` that were left out."""

    code: str
    triples: NotRequired[int]
    keys: NotRequired[int]
    message: str


class PushBody(TypedDict):
    """What a push made; `first` and `last` are stamps. Of one that was sent again, what was made the first time."""

    stream: str
    accepted: int
    seq: int | None
    at: int | None
    first: int | None
    last: int | None
    warnings: list[PushWarningBody]
    repeated: NotRequired[bool]


_KEY = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True)
class Idempotency:
    """Under which keys a push is remembered, each with a digest of what was sent. `checked`: they are new, as whoever
    made this has seen to; else there is one, which the log looks for."""

    keys: Mapping[str, bytes]
    checked: bool = False
    prefix: str = ""
    newest: int | None = None

    @classmethod
    def of(cls, key: str, *contents: bytes) -> Idempotency:
        """For the Idempotency-Key of a request. Raises `Problem`."""
        if not _KEY.fullmatch(key):
            raise Problem(
                "bad-idempotency-key",
                f"The Idempotency-Key {key[:50]!r} cannot be one: use 1 to 200 "
                "visible ASCII characters, and another key for each push.",
            )
        digest = hashlib.sha256()
        for content in contents:
            digest.update(b"%d:" % len(content))
            digest.update(content)
        return cls({key: digest.digest()})


class Pusher:
    def __init__(self, stores: Stores, reader: BodyReader) -> None:
        self.reader = reader
        self._names, self._registry = stores.names, stores.registry
        self._writer = stores.writer
        # Streams that were pushed into. One may be gone by now.
        self._known: dict[str, StreamRecord] = {}

    def stream(self, iri: str) -> StreamRecord:
        """The stream, if it can be pushed into. Raises `Problem`."""
        stream = self._known.get(iri)
        if stream is None:
            stream = self._registry.stream(iri)
            if stream is None:
                raise self._names.no_stream(iri)
            if stream.damaged:
                raise Problem(
                    "damaged",
                    f"The entry {stream.id} that made the stream <{iri}> is damaged on the disk, "
                    "and its clock is not known: delete the queries that read it and the stream, and create "
                    "it again.",
                    stream=iri,
                )
            if stream.producer is not None:
                raise Problem(
                    "derived-stream",
                    f"The stream <{stream.iri}> holds what the query {stream.producer} "
                    "says, and nothing else: push into a stream that the query reads.",
                    stream=stream.iri,
                    query=stream.producer,
                )
            self._known[iri] = stream
        return stream

    def repeated(self, iri: str, once: Idempotency) -> PushBody | None:
        """What was told of the push that came with the same key, if one did. Raises `Problem` if it was another one."""
        ((key, digest),) = once.keys.items()
        while True:
            stream = self.stream(iri)
            if self._registry.stream(iri) == stream:
                break
            self._known.pop(iri, None)
        try:
            reply = self._writer.reply_to(stream.id, key, digest)
        except Reused:
            raise reused(key) from None
        return None if reply is None else _again(reply)

    def push(self, iri: str, pushed: Chunk, once: Idempotency | None = None, *, unmapped: int = 0) -> PushBody:
        """Durable when this returns; `unmapped` keys were left out. Raises `Problem`."""
        left_out: list[PushWarningBody] = (
            [{"code": "keys-left-out", "keys": unmapped, "message": told(unmapped)}] if unmapped else []
        )
        while True:
            stream = self.stream(iri)
            chunk, warnings = clocked(pushed, stream, self._writer.now())
            body: PushBody = {
                "stream": iri,
                "accepted": len(chunk),
                "seq": None,
                "at": None,
                "first": chunk.first,
                "last": chunk.last,
                "warnings": left_out + warnings,
            }
            keys = Keys(
                stream.id,
                () if once is None else tuple(once.keys.items()),
                dict(body),
                *(() if once is None else (once.prefix, once.newest)),
            )
            if len(chunk):
                try:
                    entry = self._appended(stream, chunk, keys, checked=once is None or once.checked)
                    return {**body, "seq": entry.seq, "at": entry.at}
                except Refused as refused:
                    if isinstance(refused.guard, Unused):
                        if refused.reply is None:
                            raise reused(refused.guard.key) from None
                        return _again(refused.reply)
            elif self._registry.stream(iri) == stream:
                return body
            # The stream is another one now, or none: its clock may be another one too.
            self._known.pop(iri, None)

    def _appended(self, stream: StreamRecord, chunk: Chunk, keys: Keys, *, checked: bool) -> Entry:
        guards = [] if checked else [Unused(stream.id, key, digest) for key, digest in keys.digests]
        draft = draft_of_chunk(chunk, stream.iri)
        if keys.digests:
            draft = dataclasses.replace(draft, beside=keys)
        return self._writer.append(draft, Every((Same("streams", stream.id), *guards)))


def _again(reply: Reply) -> PushBody:
    return {**cast(PushBody, reply), "repeated": True}  # as it was kept


def reused(key: str) -> Problem:
    return Problem(
        "idempotency-key-reused",
        f"The Idempotency-Key {key!r} was used for another push into this stream: "
        "nothing of this one was kept. Use a new key for each push, and the same one only to send the same "
        "again.",
        key=key,
    )


def draft_of_chunk(chunk: Chunk, iri: str) -> Draft:
    return draft_of(TriplesPushed(chunk.to_ipc(), len(chunk), chunk.first, chunk.last, chunk.unstamped), iri)


def clocked(chunk: Chunk, stream: StreamRecord, now: int) -> tuple[Chunk, list[PushWarningBody]]:
    """The chunk as the stream's clock wants it, and what the producer should know about that."""
    unstamped = chunk.unstamped
    if stream.clock == "event":
        seconds = _seconds(chunk, now)
        if not unstamped:
            return chunk, seconds
        behind = f"{in_words(stream.delay)} before now" if stream.delay else "now"
        return chunk, [
            *seconds,
            {
                "code": "stamped-on-arrival",
                "triples": unstamped,
                "message": f"{unstamped} of the triples had no timestamp, and this stream is on the event clock: they "
                f"are stamped with the time of their arrival. The stream's clock moves on to {behind} with them, and "
                "what comes with an older timestamp after that is late: give all triples a timestamp, or none.",
            },
        ]
    stamped = len(chunk) - unstamped
    if not stamped:
        return chunk, []
    bare = dataclasses.replace(chunk, t=np.full(len(chunk), Chunk.UNSTAMPED, np.int64))
    return bare, [
        {
            "code": "timestamps-ignored",
            "triples": stamped,
            "message": f"{stamped} of the triples had a timestamp, and this stream is on the arrival clock: all are "
            'stamped with the time of their arrival. Create a stream with clock "event" to keep timestamps.',
        }
    ]


def _seconds(chunk: Chunk, now: int) -> list[PushWarningBody]:
    """A warning, if stamps are surely seconds that were taken for milliseconds: such a push lies in January 1970."""
    found = np.flatnonzero(likely_seconds(chunk.t, now))
    if not len(found):
        return []
    stamp = int(chunk.t[found[0]])
    return [
        {
            "code": "stamps-in-seconds",
            "triples": len(found),
            "message": f"The timestamp {stamp} is {written(stamp)}: if these are seconds, write milliseconds: "
            f"{stamp}000.",
        }
    ]
