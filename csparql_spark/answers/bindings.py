"""Answers: what a query says at one instant. A table of bindings, a boolean, or a graph.

A table is columnar: a tuple of variable names (without `?`) and, for each, a column of terms in N-Triples syntax with
null where the variable is unbound. It is a bag with an order: rows keep their order and their repetitions. A table of
no variables still has a number of rows.

    answer = Result.bindings(("s", "n"), [["<urn:a>", "<urn:b>"], ['"1"', None]])
    answer.table.rows()[1]                                # {'s': '<urn:b>'}
    Result.from_bytes(answer.to_bytes()) == answer        # True
    Result.boolean(True), Result.graph("<urn:a> <urn:p> <urn:b> .\\n")
    answer.holding(np.array([17_000, 19_000]))            # until when each row holds

Equal answers have equal bytes, however they were made: the terms are told once, in the order of their text, and the
cells are places among them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate
from operator import lt
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.answers import batch_bytes
from csparql_spark.answers.batch_bytes import body_of_lists
from csparql_spark.kernel.table import body_of, parted
from csparql_spark.kernel.terms import distinct
from csparql_spark.kernel.texts import TableBody

ResultKind = Literal["bindings", "boolean", "graph"]
Column: TypeAlias = pa.Array | pa.ChunkedArray | Sequence[str | None]

_SCHEMA = pa.schema(
    [
        ("variables", pa.list_(pa.string())),
        ("length", pa.int64()),
        ("terms", pa.list_(pa.string())),
        ("ids", pa.list_(pa.int32())),
    ]
)
_VERSION = b"1"
FEW_TERMS = 64  # more terms than a table has cells
_MARKS: dict[ResultKind, bytes] = {"bindings": b"B", "boolean": b"?", "graph": b"G"}
_UNTIL = b"U"
_KINDS: dict[bytes, ResultKind] = {mark: kind for kind, mark in _MARKS.items()}


class CorruptAnswer(ValueError):
    """Bytes that are not an answer."""


@dataclass(frozen=True, eq=False)
class Bindings:
    """A table of `length` rows, one string column (null: unbound) per variable."""

    variables: tuple[str, ...]
    length: int
    _made_of: tuple[pa.StringArray, Sequence[np.ndarray]] | None = field(default=None, init=False, repr=False)
    _lists: tuple[list[str], Sequence[Sequence[int]]] | None = field(default=None, init=False, repr=False)

    def __init__(self, variables: Sequence[str], columns: Sequence[Column], length: int | None = None) -> None:
        arrays = tuple(_strings(column) for column in columns)
        if len(arrays) != len(variables) or len(set(variables)) != len(variables):
            raise ValueError(f"{len(variables)} variables ({', '.join(variables)}) do not name {len(arrays)} columns")
        if length is None:
            length = len(arrays[0]) if arrays else 0
        if any(len(array) != length for array in arrays):
            raise ValueError(f"a table of {length} rows cannot have columns of {[len(array) for array in arrays]}")
        object.__setattr__(self, "variables", tuple(variables))
        object.__setattr__(self, "columns", arrays)
        object.__setattr__(self, "length", length)

    @classmethod
    def from_rows(cls, variables: Sequence[str], rows: Iterable[Mapping[str, str]]) -> Bindings:
        """A table from one mapping per row; what a row does not map, or maps to None, is unbound."""
        table = list(rows)
        return cls(variables, [[row.get(name) for row in table] for name in variables], len(table))

    @classmethod
    def from_ids(
        cls,
        variables: Sequence[str],
        terms: pa.StringArray,
        ids: Sequence[np.ndarray],
        length: int | None = None,
        *,
        in_order: bool = False,
    ) -> Bindings:
        """A table from one array of ids into `terms` per variable; a negative id is unbound. `in_order`: each of
        `terms` comes before the next by its text, so that the table need not find out again which cells are equal."""
        if not in_order or not len(ids):
            return cls(variables, [_taken(terms, column) for column in ids], length)
        table = cls.__new__(cls)
        table.__dict__.update(variables=tuple(variables), length=len(ids[0]), _made_of=(terms, ids))
        return table

    @classmethod
    def from_lists(cls, variables: tuple[str, ...], terms: list[str], ids: Sequence[Sequence[int]]) -> Bindings:
        """A table of few cells: the distinct terms in the order of their text, each of which is in it, and for each
        variable, of which there are some, the places of its terms (-1: unbound)."""
        table = cls.__new__(cls)
        table.__dict__.update(variables=variables, length=len(ids[0]), _lists=(terms, ids))
        return table

    @classmethod
    def concat(cls, tables: Sequence[Bindings]) -> Bindings:
        """The rows of tables of the same variables, one after the other; no term is told twice for it."""
        first = tables[0]
        if not first.variables:
            return cls((), (), sum(map(len, tables)))
        terms, encoded = in_one_order(tables)
        columns = [np.concatenate(parts) for parts in zip(*encoded, strict=True)]
        return cls.from_ids(first.variables, terms, columns, in_order=True)

    @cached_property
    def columns(self) -> tuple[pa.StringArray, ...]:
        assert self._made_of is not None or self._lists is not None  # else they were given
        terms, ids = self.encoded() if self._made_of is None else self._made_of
        return tuple(_taken(terms, column) for column in ids)

    def batch(self) -> bytes | pa.Buffer:
        """The table as Arrow writes it, without the schema, which is always the same."""
        if not self.length:
            return _nothing(self.variables)
        body = self._body
        if body is not None and body.terms:
            batch = batch_bytes.written(_batch, self.variables, self.length, body)
            if batch is not None:
                return batch
        terms, ids = self.encoded()
        return _batch_of(self.variables, self.length, terms, np.concatenate(ids) if ids else np.empty(0, np.int32))

    @cached_property
    def _body(self) -> TableBody | None:
        """The terms that are named in it, and its cells; None for a table that was given as columns of texts."""
        if self._lists is not None:
            return body_of_lists(*self._lists)
        return None if self._made_of is None else body_of(*self._made_of)

    def __len__(self) -> int:
        return self.length

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bindings):
            return NotImplemented
        return (
            self.variables == other.variables
            and self.length == other.length
            and all(mine.equals(theirs) for mine, theirs in zip(self.columns, other.columns))
        )

    def rows(self) -> list[dict[str, str]]:
        """One mapping per row, without the unbound variables."""
        if not self.columns:
            return [{} for _ in range(self.length)]
        values = zip(*(column.to_pylist() for column in self.columns))
        return [{name: term for name, term in zip(self.variables, row) if term is not None} for row in values]

    def take(self, selection: np.ndarray) -> Bindings:
        """The rows that a boolean mask or an array of positions selects."""
        selection = np.asarray(selection)
        positions = np.flatnonzero(selection) if selection.dtype == np.bool_ else selection.astype(np.int64)
        if self.variables and (self._made_of is not None or self._lists is not None):  # no term is told twice
            terms, ids = self.encoded() if self._made_of is None else self._made_of
            return Bindings.from_ids(self.variables, terms, [column[positions] for column in ids], in_order=True)
        return Bindings(self.variables, [column.take(pa.array(positions)) for column in self.columns], len(positions))

    def coded(self) -> tuple[pa.StringArray, Sequence[np.ndarray]]:
        """The same, or with more terms, where it is made of few that it does not have."""
        if self._made_of is not None and len(self._made_of[0]) <= FEW_TERMS + self.length * len(self.variables):
            return self._made_of
        return self.encoded()

    def encoded(self) -> tuple[pa.StringArray, list[np.ndarray]]:
        """The distinct terms in the order of their text, and per column the ids (-1: unbound)."""
        if not self.variables:
            return pa.array([], pa.string()), []
        body = self._body
        if body is not None:
            terms, ids = parted(body, len(self.variables) * self.length)
            return terms, [ids[i * self.length : (i + 1) * self.length] for i in range(len(self.variables))]
        terms, ids = _in_order(pa.concat_arrays(self.columns).dictionary_encode())
        return terms, [ids[i * self.length : (i + 1) * self.length] for i in range(len(self.variables))]


@dataclass(frozen=True, eq=False)
class Result:
    """A table of bindings, a truth value, or a graph as N-Triples text: `kind` says which, the others are None.
    `solutions` and `triples` are the table and the text for those who know that they are there."""

    kind: ResultKind
    table: Bindings | None = None
    truth: bool | None = None
    ntriples: bytes | None = None
    until: np.ndarray | None = None  # of each row: the instant from which it does not hold any more, if known

    @classmethod
    def bindings(cls, variables: Sequence[str], columns: Sequence[Column], length: int | None = None) -> Result:
        """A table of the given columns; `length` is needed only when there are none."""
        return cls("bindings", table=Bindings(variables, columns, length))

    @classmethod
    def from_table(cls, table: Bindings) -> Result:
        return cls("bindings", table=table)

    @classmethod
    def from_rows(cls, variables: Sequence[str], rows: Iterable[Mapping[str, str]]) -> Result:
        return cls.from_table(Bindings.from_rows(variables, rows))

    @classmethod
    def boolean(cls, truth: bool) -> Result:
        return cls("boolean", truth=bool(truth))

    @classmethod
    def graph(cls, ntriples: str | bytes) -> Result:
        """A graph from N-Triples text, one line for each triple."""
        return cls("graph", ntriples=ntriples.encode() if isinstance(ntriples, str) else bytes(ntriples))

    @property
    def solutions(self) -> Bindings:
        """The table; `TypeError` if it is another kind of answer."""
        if self.table is None:
            raise TypeError(f"a {self.kind} answer has no table")
        return self.table

    @property
    def triples(self) -> bytes:
        """The text of the graph; `TypeError` if it is another kind of answer."""
        if self.ntriples is None:
            raise TypeError(f"a {self.kind} answer has no triples")
        return self.ntriples

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        return (self.kind, self.table, self.truth, self.ntriples) == (
            other.kind,
            other.table,
            other.truth,
            other.ntriples,
        ) and _same(self.until, other.until)

    def holding(self, until: np.ndarray | None) -> Result:
        """The same answer, saying until when each row holds (a boolean: until when it is true)."""
        return self if until is self.until else Result(self.kind, self.table, self.truth, self.ntriples, until)

    def take(self, rows: np.ndarray) -> Result:
        """Some rows of a table, by their places or a mask, holding as long as they do."""
        some = Result.from_table(self.solutions.take(rows))
        return some if self.until is None else some.holding(self.until[rows])

    @property
    def nbytes(self) -> int:
        """Bytes that it takes, about: as many as `to_bytes` tells, without what says what they are."""
        lasting = 0 if self.until is None else self.until.nbytes
        if self.table is None:
            return lasting + len(self.ntriples or b"")
        terms, ids = self.table.encoded()
        return lasting + terms.nbytes + sum(column.nbytes for column in ids)

    def __len__(self) -> int:
        """How many rows, or triples; a boolean counts one."""
        if self.table is not None:
            return len(self.table)
        return 1 if self.ntriples is None else self.ntriples.count(b"\n")

    def __bool__(self) -> bool:
        raise TypeError("an answer has no truth value: look at .truth or len()")

    @property
    def ordered(self) -> bool:
        """Whether the rows are in the order of their terms, of equal ones those first that hold longest, and triples in
        that of their lines, each once: so are all answers that have no order of their own."""
        if self.table is None:
            lines = (self.ntriples or b"").splitlines(keepends=True)
            return all(map(lt, lines, lines[1:]))
        columns = self.table.encoded()[1] + ([] if self.until is None else [~self.until])
        tied = np.ones(max(0, len(self) - 1), dtype=bool)  # all columns up to here are as in the row before
        for column in columns:
            if (column[1:] < column[:-1])[tied].any():
                return False
            tied &= column[1:] == column[:-1]
        return True

    def to_bytes(self) -> bytes:
        """The answer as bytes, the same for the same answer."""
        if self.until is not None:
            times = self.until.astype("<i8").tobytes()
            count = struct.pack("<q", len(self.until))
            return b"".join((_VERSION, _UNTIL, count, times, *self._parts()))
        return b"".join(self._parts())

    def _parts(self) -> tuple[bytes | pa.Buffer, ...]:
        head = _VERSION + _MARKS[self.kind]
        if self.table is None:
            return head, self.ntriples if self.ntriples is not None else b"1" if self.truth else b"0"
        return head, self.table.batch()

    @classmethod
    def _until_from(cls, payload: memoryview) -> Result:
        try:
            (count,) = struct.unpack_from("<q", payload)
            until = np.frombuffer(payload, dtype="<i8", count=count, offset=8)
        except (struct.error, ValueError) as error:
            raise CorruptAnswer(f"The instants of the answer are damaged: {error}.") from error
        answer = cls.from_bytes(payload[8 + 8 * count :])
        if answer.until is not None or count != (1 if answer.kind == "boolean" else len(answer)):
            raise CorruptAnswer(f"The answer has {len(answer)} rows and {count} instants.")
        return answer.holding(until)

    @staticmethod
    def until_of(payload: bytes) -> np.ndarray | None:
        """Until when the rows hold of an answer that is there as bytes, if it says so: nothing else is read for it."""
        if payload[:2] != _VERSION + _UNTIL or len(payload) < 10:
            return None
        (count,) = struct.unpack_from("<q", payload, 2)
        return np.frombuffer(payload, "<i8", count, 10) if 0 <= count <= (len(payload) - 10) // 8 else None

    @classmethod
    def from_bytes(cls, payload: bytes | memoryview) -> Result:
        """The answer of `to_bytes`. Raises `CorruptAnswer` for anything else."""
        payload = memoryview(payload)
        if payload[:2] == _VERSION + _UNTIL:
            return cls._until_from(payload[2:])
        version, kind = bytes(payload[:1]), _KINDS.get(bytes(payload[1:2]))
        if version != _VERSION or kind is None:
            raise CorruptAnswer(f"The {len(payload)} bytes are not an answer of this version.")
        rest = bytes(payload[2:])
        if kind == "graph":
            return cls.graph(rest)
        if kind == "boolean":
            if rest not in (b"0", b"1"):
                raise CorruptAnswer(f"The boolean answer has the value {rest!r}.")
            return cls.boolean(rest == b"1")
        try:
            batch = pa.ipc.read_record_batch(pa.py_buffer(rest), _SCHEMA)
            batch.validate(full=True)
            variables, length = batch.column(0)[0].as_py(), batch.column(1)[0].as_py()
            terms, cells = (batch.column(place)[0].values for place in (2, 3))
            if terms is None or cells is None:
                raise CorruptAnswer("The table of the answer is damaged: it has no terms, or no cells.")
            ids = cells.to_numpy().reshape(len(variables), length)
            if terms.null_count or len(ids) and ids.size and not -1 <= int(ids.min()) <= int(ids.max()) < len(terms):
                raise CorruptAnswer(f"The table of the answer is damaged: it has cells outside its {len(terms)} terms.")
            # They were written in their order (see `encoded`), so nothing is made of them before it is asked for.
            return cls.from_table(Bindings.from_ids(variables, terms, list(ids), length, in_order=True))
        except (pa.ArrowException, OSError, ValueError, TypeError, IndexError) as error:
            raise CorruptAnswer(f"The table of the answer is damaged: {error}.") from error


def in_one_order(tables: Sequence[Bindings]) -> tuple[pa.StringArray, list[list[np.ndarray]]]:
    """The distinct terms of tables together, in the order of their text, and per table and column the ids among these
    (-1: unbound), or more terms. No term is told twice for it."""
    if (shared := of_the_same_terms(tables)) is not None:
        return shared
    coded = [table.coded() for table in tables]
    own = {id(terms): terms for terms, _ in coded}  # tables may have them in common
    starts = dict(zip(own, accumulate(map(len, own.values()), initial=0)))
    known, codes = distinct(pa.concat_arrays(list(own.values())))
    terms, rank = _ranked(known)
    ids = np.append(rank[codes], np.int32(-1))  # the last is of what is unbound
    return terms, [
        [ids[np.where(column < 0, -1, column + starts[id(table)])] for column in columns] for table, columns in coded
    ]


def of_the_same_terms(tables: Sequence[Bindings]) -> tuple[pa.StringArray, list[list[np.ndarray]]] | None:
    """The same of tables that were made of the same terms, which need not be compared."""
    made = [table._made_of for table in tables]
    if made[0] is None or any(one is None or one[0] is not made[0][0] for one in made):
        return None
    return made[0][0], [list(one[1]) for one in made if one is not None]


def _in_order(encoded: pa.DictionaryArray) -> tuple[pa.StringArray, np.ndarray]:
    """The terms of an encoded column in the order of their text, and its cells among these (-1: unbound)."""
    terms, rank = _ranked(encoded.dictionary)
    rank = np.append(rank, np.int32(-1))  # the last is that of what is unbound
    cells = encoded.indices
    return terms, rank[(pc.fill_null(cells, -1) if cells.null_count else cells).to_numpy()]


def _ranked(terms: pa.StringArray) -> tuple[pa.StringArray, np.ndarray]:
    """Terms in the order of their text, and of each its place in that."""
    order = pc.array_sort_indices(terms)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    return terms.take(order), rank


def _taken(terms: pa.StringArray, ids: np.ndarray) -> pa.StringArray:
    ids = np.asarray(ids)
    return terms.take(pa.array(ids, mask=ids < 0))


def _same(first: np.ndarray | None, second: np.ndarray | None) -> bool:
    return first is second or first is not None and second is not None and np.array_equal(first, second)


def _strings(column: Column) -> pa.StringArray:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not isinstance(column, pa.Array):
        return pa.array(column, pa.string())
    return column if column.type == pa.string() else column.cast(pa.string())


def _batch_of(variables: tuple[str, ...], length: int, terms: pa.StringArray, cells: np.ndarray) -> pa.Buffer:
    columns = [
        _names(variables),
        pa.array([length], pa.int64()),
        _one_list(terms),
        _one_list(pa.array(cells, pa.int32())),
    ]
    return pa.record_batch(columns, schema=_SCHEMA).serialize()


def _batch(variables: tuple[str, ...], terms: Sequence[str], columns: Sequence[Sequence[int]]) -> bytes:
    """The same, of lists."""
    cells = np.array(columns, np.int32).reshape(-1)
    return _batch_of(variables, len(columns[0]), pa.array(terms, pa.string()), cells).to_pybytes()


@lru_cache(1024)
def _nothing(variables: tuple[str, ...]) -> bytes:
    """A table of no rows."""
    return _batch_of(variables, 0, pa.array([], pa.string()), np.empty(0, np.int32)).to_pybytes()


@lru_cache(1024)
def _names(variables: tuple[str, ...]) -> pa.ListArray:
    return _one_list(pa.array(variables, pa.string()))


def _one_list(values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
