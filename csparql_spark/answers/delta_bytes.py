"""Delta bytes: what has changed from one answer to a later one, as bytes.

    payload = to_bytes(delta_of(before, now))
    folded(before, from_bytes(payload)) == now
    len(to_bytes(delta_of(now, now)))              # 3: nothing has changed
    from_bytes(now.to_bytes())                     # CorruptAnswer

The rows of all parts of a table's change are told as one table, with one dictionary of terms, in the order of their
text; a cell takes one byte where there are few terms. Instants are told by how much they are later than the first of
them, in as few bytes as the latest needs.

Invariants: the same delta has the same bytes, and `to_bytes(from_bytes(payload)) == payload` for whatever is read.
Where there are no rows, variables are not told: a change that is read has none then. `fleeting` is not told, since a
query says that, and not its answers.
"""

from __future__ import annotations

import struct
from itertools import accumulate, pairwise
from operator import lt

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.answers.bindings import Bindings, CorruptAnswer, Result
from csparql_spark.answers.delta import NO_TRIPLES, NOTHING, UNTOLD, Delta
from csparql_spark.answers.tables import MOST_ROWS

_MARK = b"1D"
_TABLE, _GRAPH, _TRUTH = range(3)
_TIMED, _RETIMED, _LISTED, _TOLD = 4, 8, 16, 32  # beside the kind; the last: there are rows, triples, or a truth value
# Rows added, removed, stayed; variables; terms, bytes of their text; instants: bytes of each, and the first of them.
_HEAD = struct.Struct("<IIIHIIBq")
_LENGTH = struct.Struct("<I")
FEW = 64  # terms that are looked at one by one
NO_ROWS = Result.bindings((), [])


def to_bytes(delta: Delta) -> bytes:
    """The change as bytes, the same for the same change."""
    if delta.kind == "boolean":
        told = b"" if delta.truth is None else delta.truth.to_bytes()
        return _headed(_TRUTH | (_TOLD if told else 0)) + told
    if delta.kind == "graph":
        added, removed = delta.added.triples, delta.removed.triples
        if not added and not removed:
            return _headed(_GRAPH)
        return b"".join((_headed(_GRAPH | _TOLD), _LENGTH.pack(len(added)), added, removed))
    listed = delta.added_places is not None
    flags = _TIMED * delta.timed | _RETIMED * delta.retimed | _LISTED * listed
    tables = [part.solutions for part in (delta.added, delta.removed, delta.stayed)]
    if not any(map(len, tables)):
        return _headed(_TABLE | flags)
    return b"".join((_headed(_TABLE | flags | _TOLD), *_rows(delta, tables)))


def unchanged(answer: Result, *, listed: bool = False) -> bytes:
    """That nothing has changed since an answer: the bytes of `delta_of(answer, answer)`."""
    if answer.kind != "bindings":
        return _headed(_TRUTH if answer.kind == "boolean" else _GRAPH)
    return _headed(_TABLE | _TIMED * (answer.until is not None) | _LISTED * listed)


def changed_rows(payload: bytes) -> int:
    """How many rows a change tells of, read from its head. Raises `CorruptAnswer` where that is none."""
    if payload[:2] != _MARK or len(payload) < 3:
        raise CorruptAnswer(f"The {len(payload)} bytes are not a change of this version.")
    kind = payload[2] & 3
    if not payload[2] & _TOLD:
        return 0
    if kind == _TABLE and len(payload) >= 3 + _HEAD.size:
        return sum(_HEAD.unpack_from(payload, 3)[:3])
    return payload.count(b"\n", 7) if kind == _GRAPH else 1


def from_bytes(payload: bytes | memoryview) -> Delta:
    """The change of `to_bytes`. Raises `CorruptAnswer` for anything else."""
    payload = bytes(payload)
    if len(payload) < 3 or payload[:2] != _MARK:
        raise CorruptAnswer(f"The {len(payload)} bytes are not a change of this version.")
    flags, rest = payload[2], payload[3:]
    kind = flags & 3
    if kind > _TRUTH or flags >> 6 or kind != _TABLE and flags & (_TIMED | _RETIMED | _LISTED):
        raise CorruptAnswer(f"The change is of no kind that is known: {flags}.")
    if bool(rest) != bool(flags & _TOLD):
        raise CorruptAnswer(f"The change has {len(rest)} bytes that say something else than its head.")
    if kind == _TRUTH:
        return _truth(rest)
    if kind == _GRAPH:
        return _graph(rest)
    return _Reading(rest, flags).delta() if rest else _unchanged(flags)


def _headed(flags: int) -> bytes:
    return _MARK + bytes((flags,))


def _rows(delta: Delta, tables: list[Bindings]) -> list[bytes | memoryview]:
    there = [table for table in tables if len(table)]
    table = there[0] if len(there) == 1 else Bindings.concat(there)
    terms, columns = table.encoded()
    buffers = terms.buffers()
    offsets = np.frombuffer(buffers[1], np.int32, len(terms) + 1, 4 * terms.offset) if len(terms) else np.zeros(1, int)
    begin, end = int(offsets[0]), int(offsets[-1])
    text = memoryview(buffers[2])[begin:end] if end > begin else b""
    names = [name.encode() for name in table.variables]
    cells = np.concatenate(columns) + 1 if columns else NOTHING
    parts = (delta.added, delta.removed, delta.stayed)
    times = [part.until for part in parts if part.until is not None]
    if delta.was_timed:
        times.append(delta.was)
    size, least, told = _instants(np.concatenate(times) if times else NOTHING)
    places = [some for some in (delta.added_places, delta.removed_places, delta.stayed_places) if some is not None]
    return [
        _HEAD.pack(*map(len, tables), len(names), len(terms), end - begin, size, least),
        *(_LENGTH.pack(len(name)) + name for name in names),
        np.diff(offsets).astype("<u4").tobytes(),
        text,
        cells.astype(_width(len(terms))).tobytes(),
        told,
        *(some.astype("<u4").tobytes() for some in places),
    ]


def _width(most: int) -> str:
    return "u1" if most < 1 << 8 else "<u2" if most < 1 << 16 else "<u4"


def _instants(numbers: np.ndarray) -> tuple[int, int, bytes]:
    """The bytes of each, the least of them, and by how much each is later."""
    if not len(numbers):
        return 0, 0, b""
    least = int(numbers.min())
    size = _size(int(numbers.max()) - least)
    # Those of the least and the greatest number wrap around.
    return size, least, (numbers - least).astype(f"<u{size}").tobytes() if size else b""


def _size(most: int) -> int:
    """Bytes that numbers up to that take."""
    return 0 if not most else 1 if most < 1 << 8 else 2 if most < 1 << 16 else 4 if most < 1 << 32 else 8


def _unchanged(flags: int) -> Delta:
    places = (NOTHING, NOTHING, NOTHING) if flags & _LISTED else (None, None, None)
    none, timed, retimed = NO_ROWS.holding(NOTHING), bool(flags & _TIMED), bool(flags & _RETIMED)
    now, before = (none if timed else NO_ROWS), (none if timed != retimed else NO_ROWS)
    return Delta("bindings", now, before, now, NOTHING, timed, retimed, *places)


def _truth(rest: bytes) -> Delta:
    truth = Result.from_bytes(rest) if rest else None
    if truth is not None and truth.kind != "boolean":
        raise CorruptAnswer("What the change says in the place of a truth value is none.")
    return Delta("boolean", NO_TRIPLES, NO_TRIPLES, NO_TRIPLES, NOTHING, truth=truth)


def _graph(rest: bytes) -> Delta:
    added = removed = b""
    if rest:
        end = 4 + _LENGTH.unpack_from(rest)[0] if len(rest) > 4 else len(rest) + 1
        if end > len(rest):
            raise CorruptAnswer("The triples of the change are not all there.")
        added, removed = rest[4:end], rest[end:]
    return Delta("graph", Result.graph(added), Result.graph(removed), NO_TRIPLES, NOTHING)


class _Reading:
    """Bytes of a change of a table, taken from the front."""

    def __init__(self, payload: bytes, flags: int) -> None:
        self._payload, self._place, self._flags = payload, 0, flags

    def delta(self) -> Delta:
        try:
            delta = self._delta()
        except (pa.ArrowException, struct.error, ValueError, OverflowError) as error:
            if isinstance(error, CorruptAnswer):
                raise
            raise CorruptAnswer(f"The change is damaged: {error}.") from error
        self._expect(self._place == len(self._payload), "it has more bytes than it says")
        return delta

    def _delta(self) -> Delta:
        added, removed, stayed, width, terms, length, size, least = _HEAD.unpack(self._take(_HEAD.size))
        counts, rows = (added, removed, stayed), added + removed + stayed
        # Each cell has a byte of its own, so what is said to be there is not more than what is there.
        most = len(self._payload)
        self._expect(max(terms, width) <= most and 0 < rows <= (most if width else MOST_ROWS), "it is cut off")
        names = [self._take(*_LENGTH.unpack(self._take(4))).decode() for _ in range(width)]
        self._expect(len(set(names)) == width, "two columns have one name")
        texts = self._terms(terms, length)
        ids = self._cells(width, rows, terms)
        timed, retimed = bool(self._flags & _TIMED), bool(self._flags & _RETIMED)
        lasting = [timed, timed != retimed, timed, timed != retimed]
        times = self._times([count * told for count, told in zip((*counts, stayed), lasting)], size, least)
        listed = bool(self._flags & _LISTED)
        places = [self._places(count) if listed else None for count in counts]
        parts, begin = [], 0
        for count, until, told in zip(counts, times, lasting):
            columns = list(ids[:, begin : begin + count])
            part = Result.from_table(Bindings.from_ids(names, texts, columns, count, in_order=True))
            parts.append(part.holding(until) if told else part)
            begin += count
        was = times[3] if lasting[3] else np.full(stayed, UNTOLD)
        return Delta("bindings", parts[0], parts[1], parts[2], was, timed, retimed, places[0], places[1], places[2])

    def _terms(self, count: int, length: int) -> pa.StringArray:
        lengths, text = np.frombuffer(self._take(4 * count), "<u4"), self._take(length)
        offsets = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        self._expect(int(offsets[-1]) == length < 1 << 31, "its terms are cut off")
        terms = pa.StringArray.from_buffers(count, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(text))
        terms.validate(full=True)
        if count > FEW:
            ascending = pc.all(pc.less(terms[:-1], terms[1:])).as_py()
        else:
            few = [text[begin:end] for begin, end in pairwise(offsets.tolist())]
            ascending = all(map(lt, few, few[1:]))
        self._expect(ascending, "its terms are not in their order")
        return terms

    def _cells(self, width: int, rows: int, terms: int) -> np.ndarray:
        """The places of terms, column by column."""
        kind = np.dtype(_width(terms))
        cells = np.frombuffer(self._take(width * rows * kind.itemsize), kind)
        self._expect(not len(cells) or int(cells.max()) <= terms, "it has cells outside its terms")
        used = np.zeros(terms + 1, dtype=bool)
        used[cells] = True
        self._expect(bool(used[1:].all()), "it has terms that are in no row")
        return (cells.astype(np.int32) - 1).reshape(width, rows)

    def _times(self, counts: list[int], size: int, least: int) -> list[np.ndarray]:
        """Instants, of which so many belong together."""
        count = sum(counts)
        self._expect(size in (0, 1, 2, 4, 8) and bool(count or not (size or least)), "its instants are none")
        if size:
            later = np.frombuffer(self._take(size * count), f"<u{size}")
            most = int(later.max())
            self._expect(not int(later.min()) and _size(most) == size, "its instants are not as they are told")
            self._expect(least + most < 1 << 63, "its instants are none")
            times = later.astype(np.int64) + np.int64(least)
        else:
            times = np.full(count, least)
        ends = list(accumulate(counts, initial=0))
        return [times[begin:end] for begin, end in pairwise(ends)]

    def _places(self, count: int) -> np.ndarray:
        places = np.frombuffer(self._take(4 * count), "<u4").astype(np.int64)
        self._expect(bool((places[1:] > places[:-1]).all()), "its places are none")
        return places

    def _take(self, length: int) -> bytes:
        end = self._place + length
        self._expect(end <= len(self._payload), "it is cut off")
        taken, self._place = self._payload[self._place : end], end
        return taken

    def _expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise CorruptAnswer(f"The change is damaged: {otherwise}.")
