"""Pieces: a recording cut into the pushes that a command sends, at places where that changes nothing.

    source = Recording(chunk, batch=500)
    for piece in source.by_size(): …                  # chunks of about 500 triples
    for at, piece in source.by_time(): …              # (ms since its first timestamp, chunk)
    body = as_arrow(piece)                            # the fast path of a push

Blank nodes belong to their push, so a piece is never cut where a blank node stands on both sides: it is then longer.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.rdf.chunk import Chunk

TICK_MS = 100  # of the recording's own time: what is closer together is sent together


class Recording:
    def __init__(self, chunk: Chunk, batch: int) -> None:
        self._batch = batch
        stamped = chunk.t != Chunk.UNSTAMPED
        self.timed = bool(stamped.any())
        # What has no timestamp goes with what stands before it.
        t = np.where(stamped, chunk.t, np.iinfo(np.int64).min)
        t = np.maximum.accumulate(t) if not stamped.all() else t
        order = np.argsort(t, kind="stable")
        self.chunk = chunk.take(order) if self.timed else chunk
        self._t = t[order] if self.timed else t
        self._cuts = _cuts(self.chunk)

    def by_size(self) -> Iterator[Chunk]:
        start = 0
        while start < len(self.chunk):
            end = self._cut(start + self._batch)
            yield self._piece(start, end)
            start = end

    def by_time(self, speed: float) -> Iterator[tuple[int, Chunk]]:
        """Pieces, and when each is due: ms of the recording since its first timestamp."""
        first, tick, start = self.chunk.first, max(1, round(TICK_MS * speed)), 0
        if first is None:
            return
        while start < len(self.chunk):
            due = max(0, int(self._t[start]) - first)
            until = int(np.searchsorted(self._t, first + due - due % tick + tick))
            end = self._cut(max(start + 1, min(until, start + self._batch)))
            yield due, self._piece(start, end)
            start = end

    @property
    def span(self) -> int:
        """From the first timestamp to the last one, in ms; 0 where there is none."""
        first, last = self.chunk.first, self.chunk.last
        return 0 if first is None or last is None else last - first

    def _piece(self, start: int, end: int) -> Chunk:
        return self.chunk.take(np.arange(start, end))

    def _cut(self, wanted: int) -> int:
        """The first place at or behind the wanted one where it may be cut."""
        return int(self._cuts[np.searchsorted(self._cuts, wanted)]) if wanted < len(self.chunk) else len(self.chunk)


def later(chunk: Chunk, ms: int) -> Chunk:
    """The same, its timestamps being later."""
    t = np.where(chunk.t == Chunk.UNSTAMPED, chunk.t, chunk.t + ms)
    return Chunk(chunk.terms, chunk.s, chunk.p, chunk.o, t)


def as_arrow(chunk: Chunk) -> bytes:
    """The body of a push, as an Arrow IPC stream."""
    columns = [pa.DictionaryArray.from_arrays(pa.array(ids), chunk.terms) for ids in (chunk.s, chunk.p, chunk.o)]
    t = pa.array(chunk.t, mask=chunk.t == Chunk.UNSTAMPED)
    batch = pa.record_batch([*columns, t], names=["s", "p", "o", "t"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _cuts(chunk: Chunk) -> np.ndarray:
    """The places between triples that no blank node reaches over; the end is one."""
    count = len(chunk)
    blank = np.flatnonzero(pc.starts_with(chunk.terms, "_:").to_numpy(zero_copy_only=False))
    first, last = np.full(len(chunk.terms), count), np.full(len(chunk.terms), -1)
    rows = np.arange(count)
    for ids in (chunk.s, chunk.o):
        np.minimum.at(first, ids, rows)
        np.maximum.at(last, ids, rows)
    over = np.zeros(count + 2, np.int64)
    used = blank[last[blank] >= 0]
    np.add.at(over, first[used] + 1, 1)
    np.add.at(over, last[used] + 1, -1)
    return np.flatnonzero(np.cumsum(over)[: count + 1] == 0)
