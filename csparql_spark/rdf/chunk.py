"""A chunk: the triples of one push, as columns.

`terms` holds each distinct term once, in N-Triples syntax and in order of first appearance; `s`, `p` and `o` are ids
into it, one per triple; `t` is the instant the producer gave to each triple, in milliseconds since the epoch, or
`Chunk.UNSTAMPED` where it gave none.

    chunk = Chunk.from_triples([("<urn:a>", "<urn:p>", '"1"')], stamps=[1000])
    chunk.terms.to_pylist()                       # ['<urn:a>', '<urn:p>', '"1"']
    Chunk.from_ipc(chunk.to_ipc()).triples()      # [('<urn:a>', '<urn:p>', '"1"')]
    chunk.first, chunk.last, chunk.unstamped      # (1000, 1000, 0)

Invariants: the four columns have one length; every id is inside `terms`; `terms` has neither nulls nor duplicates;
every term is used, first uses being in increasing order. Equal content therefore has equal bytes (`to_ipc`). A triple
may occur more than once. The arrays are never changed in place: they may be views of a file or of shared memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.kernel.terms import distinct
from csparql_spark.rdf.errors import CorruptChunk

_SCHEMA = pa.schema(
    [
        ("terms", pa.list_(pa.string())),
        ("s", pa.list_(pa.int32())),
        ("p", pa.list_(pa.int32())),
        ("o", pa.list_(pa.int32())),
        ("t", pa.list_(pa.int64())),
    ]
)
# Payloads may begin anywhere in somebody's memory; columns that cannot be used where they lie are copied.
_ALIGNED = pa.ipc.IpcReadOptions(ensure_alignment=pa.ipc.Alignment.DataTypeSpecific)


@dataclass(frozen=True, eq=False)
class Chunk:
    terms: pa.StringArray
    s: np.ndarray
    p: np.ndarray
    o: np.ndarray
    t: np.ndarray

    UNSTAMPED: ClassVar[int] = int(np.iinfo(np.int64).min)

    def __len__(self) -> int:
        return len(self.s)

    @classmethod
    def empty(cls) -> Chunk:
        none = np.empty(0, np.int32)
        return cls(pa.array([], pa.string()), none, none, none, np.empty(0, np.int64))

    @classmethod
    def from_columns(
        cls, terms: pa.StringArray, s: np.ndarray, p: np.ndarray, o: np.ndarray, t: np.ndarray | None = None
    ) -> Chunk:
        """A chunk from ids into distinct `terms`, which may be in any order and not all used."""
        stamps = np.full(len(s), cls.UNSTAMPED, np.int64) if t is None else np.asarray(t, np.int64)
        triples = np.empty((len(s), 3), np.int32)
        triples[:, 0], triples[:, 1], triples[:, 2] = s, p, o
        used, ids = _in_order_of_first_use(triples.reshape(-1), len(terms))
        if used is not None:
            terms = terms.take(pa.array(used))
        triples = ids.reshape(-1, 3)
        s, p, o = (np.ascontiguousarray(triples[:, i]) for i in range(3))
        return cls(terms, s, p, o, stamps)

    @classmethod
    def from_triples(cls, triples: Iterable[tuple[str, str, str]], stamps: Sequence[int] | None = None) -> Chunk:
        """A chunk from term strings, one triple at a time: for tests and for small, hand-made pushes."""
        rows = list(triples)
        encoded = pa.array([term for row in rows for term in row], pa.string()).dictionary_encode()
        ids = encoded.indices.to_numpy().reshape(-1, 3)
        times = None if stamps is None else np.asarray(stamps, np.int64).reshape(len(rows))
        return cls.from_columns(encoded.dictionary, ids[:, 0], ids[:, 1], ids[:, 2], times)

    @classmethod
    def concat(cls, chunks: Sequence[Chunk]) -> Chunk:
        """All triples of `chunks`, in their order, over one unified list of terms."""
        if not chunks:
            return cls.empty()
        if len(chunks) == 1:
            return chunks[0]
        terms, unified = distinct(pa.concat_arrays([chunk.terms for chunk in chunks]))
        starts = np.cumsum([0] + [len(chunk.terms) for chunk in chunks[:-1]])
        s, p, o = (
            np.concatenate([unified[start + getattr(chunk, name)] for start, chunk in zip(starts, chunks)])
            for name in ("s", "p", "o")
        )
        # Each chunk's terms are in order of first use, hence so are the unified ones: nothing is left to reorder.
        return cls(terms, s, p, o, np.concatenate([chunk.t for chunk in chunks]))

    def take(self, selection: np.ndarray) -> Chunk:
        """The triples that a boolean mask or an array of positions selects, with the terms they use."""
        selection = np.asarray(selection)
        if selection.dtype == np.bool_ and len(selection) == len(self) and selection.all():
            return self
        if len(selection) == 0:
            return Chunk.empty()
        return Chunk.from_columns(
            self.terms, self.s[selection], self.p[selection], self.o[selection], self.t[selection]
        )

    def stamped(self, at: int) -> Chunk:
        """The same triples, those without a stamp being stamped with `at`."""
        if not self.unstamped:
            return self
        return Chunk(self.terms, self.s, self.p, self.o, np.where(self.t == self.UNSTAMPED, np.int64(at), self.t))

    @property
    def unstamped(self) -> int:
        """How many triples have no stamp."""
        return int(np.count_nonzero(self.t == self.UNSTAMPED))

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return int(self.terms.nbytes + sum(column.nbytes for column in (self.s, self.p, self.o, self.t)))

    @property
    def first(self) -> int | None:
        """The earliest stamp the producer gave."""
        explicit = self.t[self.t != self.UNSTAMPED]
        return int(explicit.min()) if len(explicit) else None

    @property
    def last(self) -> int | None:
        """The latest stamp the producer gave."""
        # UNSTAMPED is the least int64, so it is the maximum only when nothing is stamped.
        latest = int(self.t.max()) if len(self) else self.UNSTAMPED
        return None if latest == self.UNSTAMPED else latest

    def triples(self) -> list[tuple[str, str, str]]:
        """The triples as term strings: for tests and for display, not for the hot path."""
        return list(zip(*(self.terms.take(pa.array(ids)).to_pylist() for ids in (self.s, self.p, self.o))))

    def to_ntriples(self) -> bytes:
        """The triples as an N-Triples document, one line each, in order."""
        # Joined lines lie back to back in the result's data buffer: that buffer is the document.
        terms = self.terms.cast(pa.large_string())
        s, p, o = (terms.take(pa.array(ids)) for ids in (self.s, self.p, self.o))
        end, gap = pa.scalar(".\n", pa.large_string()), pa.scalar(" ", pa.large_string())
        lines = pc.binary_join_element_wise(s, p, o, end, gap)
        return lines.buffers()[2].to_pybytes() if len(lines) else b""

    def to_ipc(self) -> bytes:
        """The chunk as an Arrow IPC stream that holds one record batch of one row, each column being a list."""
        ids = (pa.array(column, pa.int32()) for column in (self.s, self.p, self.o))
        values = [self.terms, *ids, pa.array(self.t, pa.int64())]
        lists = [pa.ListArray.from_arrays(pa.array([0, len(column)], pa.int32()), column) for column in values]
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, _SCHEMA) as writer:
            writer.write_batch(pa.record_batch(lists, schema=_SCHEMA))
        return sink.getvalue().to_pybytes()

    @classmethod
    def from_ipc(cls, payload: bytes | memoryview | pa.Buffer) -> Chunk:
        """The chunk in `payload`, whose memory it shares. Raises `CorruptChunk` if the payload is not one."""
        try:
            with pa.ipc.open_stream(pa.py_buffer(payload), options=_ALIGNED) as reader:
                batches = list(reader)
            if len(batches) != 1 or batches[0].num_rows != 1 or not batches[0].schema.equals(_SCHEMA):
                raise CorruptChunk("The payload is Arrow data, but not one row of terms, s, p, o and t.")
            batches[0].validate(full=True)
        except (pa.ArrowInvalid, OSError) as error:
            raise CorruptChunk(f"The payload is not a chunk: {error}.") from error
        terms, *ids, t = (column.flatten() for column in batches[0].columns)
        if terms.null_count or t.null_count or any(column.null_count for column in ids):
            raise CorruptChunk("The chunk has a null among its terms, ids or stamps.")
        s, p, o = (column.to_numpy() for column in ids)
        if not len(s) == len(p) == len(o) == len(t):
            raise CorruptChunk(
                f"The columns of the chunk differ in length: s {len(s)}, p {len(p)}, o {len(o)}, t {len(t)}."
            )
        for name, column in (("s", s), ("p", p), ("o", o)):
            if len(column) and not 0 <= int(column.min()) <= int(column.max()) < len(terms):
                raise CorruptChunk(f"Column {name} of the chunk has an id outside its {len(terms)} terms.")
        return cls(terms, s, p, o, t.to_numpy())


def _in_order_of_first_use(ids: np.ndarray, size: int) -> tuple[np.ndarray | None, np.ndarray]:
    """Which of `size` ids are used, in order of first use, and the ids renumbered accordingly.

    The first is None if they are all used, in order: then nothing changes.
    A use is a first use when no earlier position has its id: writing positions backwards leaves the first in each cell.
    """
    first = np.full(size, -1, np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)
    used = np.flatnonzero(first >= 0)
    used = used[np.argsort(first[used], kind="stable")]
    if len(used) == size and bool((used[1:] > used[:-1]).all()):
        return None, ids
    renumbered = np.empty(size, np.int32)
    renumbered[used] = np.arange(len(used), dtype=np.int32)
    return used, renumbered[ids]
