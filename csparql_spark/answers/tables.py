"""Tables of solutions, as columns: the operators of SPARQL's algebra over all rows at once.

A table is a bag of rows: a column of ids for each variable, -1 where it is unbound. Where what it was made from says
how long a row holds, `tag` does; after an operator that can make rows come when others go, nobody knows: it is None.

    people = Table({"?s": ids, "?n": names}, tag)
    joined(people, other)                   # tags: the earlier of both
    left_joined(people, other, condition)   # no tags
    distinct(people.project(["?n"]))        # tags: the latest of the rows that became one

Two rows are compatible when no variable is bound differently in both: an unbound cell fits everything. So rows are
joined by the variables that they have in common, for each way in which these are bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from csparql_spark.answers.computing import Columns
from csparql_spark.answers.matches import TooManyMatches
from csparql_spark.kernel.group import reduced
from csparql_spark.kernel.join import pairs
from csparql_spark.kernel.limits import TooMuchAtOnce
from csparql_spark.kernel.rows import dense_rows
from csparql_spark.kernel.sort import dense_ranks, order_of, ordered
from csparql_spark.kernel.sort import distinct as distinct_of_sorted
from csparql_spark.relations.tags import ALWAYS, UNTIL

UNBOUND = -1
MOST_ROWS = 20_000_000  # rows of any table on the way to an answer
MOST_CELLS = 64_000_000  # its rows, times its columns and the tag: half a gigabyte
ROOM = 62  # bits of a number for a row

Pairs = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    columns: Columns
    length: int
    tag: np.ndarray | None

    @classmethod
    def of(cls, columns: Columns, tag: np.ndarray) -> Table:
        return cls(columns, len(tag), tag)

    @classmethod
    def unit(cls) -> Table:
        """One row, in which nothing is bound."""
        return cls({}, 1, np.full(1, ALWAYS))

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns.values()) + (0 if self.tag is None else self.tag.nbytes)

    @classmethod
    def none(cls, names: Sequence[str]) -> Table:
        nothing = np.empty(0, dtype=np.int64)
        return cls(dict.fromkeys(names, nothing), 0, nothing)

    def take(self, rows: np.ndarray | slice) -> Table:
        """The rows at these places, or those of a mask."""
        if isinstance(rows, np.ndarray) and rows.dtype == np.bool_:
            if rows.all():
                return self
            rows = np.flatnonzero(rows)
        length = len(rows) if isinstance(rows, np.ndarray) else len(range(*rows.indices(self.length)))
        return Table(
            {name: column[rows] for name, column in self.columns.items()},
            length,
            None if self.tag is None else self.tag[rows],
        )

    def column(self, name: str) -> np.ndarray:
        found = self.columns.get(name)
        return np.full(self.length, UNBOUND) if found is None else found

    def project(self, names: Sequence[str]) -> Table:
        """These columns only, in this order. No row goes."""
        return Table({name: self.column(name) for name in names}, self.length, self.tag)

    def extend(self, name: str, column: np.ndarray) -> Table:
        return Table({**self.columns, name: column}, self.length, self.tag)

    def untagged(self) -> Table:
        return Table(self.columns, self.length, None)


def united(tables: Sequence[Table]) -> Table:
    """All rows of all tables."""
    names = dict.fromkeys(name for table in tables for name in table.columns)
    tagged = all(table.tag is not None for table in tables)
    return Table(
        {name: np.concatenate([table.column(name) for table in tables]) for name in names},
        sum(table.length for table in tables),
        np.concatenate([table.tag for table in tables]) if tagged else None,
    )


def distinct(table: Table) -> Table:
    """Each row once, where it stood first, with the latest tag that it had."""
    if table.columns:
        numbers, firsts = dense_rows(list(table.columns.values()))
    else:
        numbers, firsts = np.zeros(table.length, dtype=np.int64), np.arange(min(table.length, 1))
    if len(firsts) == table.length:
        return table
    first = table.untagged().take(firsts)
    return Table(
        first.columns, first.length, None if table.tag is None else latest_of(numbers, table.tag, first.length)
    )


def joined(left: Table, right: Table) -> Table:
    """Each pair of compatible rows, as one row."""
    if not left.columns and left.length == 1:
        return _with_tag(right, left)
    if not right.columns and right.length == 1:
        return _with_tag(left, right)
    return merged(left, right, compatible(left, right))


def left_joined(left: Table, right: Table, holds: Callable[[Table], np.ndarray] | None = None) -> Table:
    """Each row of the left with each compatible one of the right for which the condition holds; alone without any."""
    pairs = compatible(left, right)
    both = merged(left, right, pairs)
    rows = pairs[0]
    if holds is not None:
        mask = holds(both)
        both, rows = both.take(mask), rows[mask]
    alone = np.ones(left.length, dtype=bool)
    alone[rows] = False
    return united([both.untagged(), left.untagged().take(alone)])


def minus(left: Table, right: Table) -> Table:
    """The rows of the left that share no binding with a compatible row of the right."""
    mask = np.ones(left.length, dtype=bool)
    mask[compatible(left, right, overlapping=True)[0]] = False
    return left.untagged().take(mask)


def merged(left: Table, right: Table, pairs: Pairs) -> Table:
    """The rows that pairs of compatible rows become."""
    mine, theirs = pairs
    _check_cells(len(mine) * (1 + len(left.columns.keys() | right.columns.keys())))
    columns = {name: column[mine] for name, column in left.columns.items()}
    for name, column in right.columns.items():
        column = column[theirs]
        columns[name] = np.where(columns[name] == UNBOUND, column, columns[name]) if name in columns else column
    tag = None
    if left.tag is not None and right.tag is not None:
        tag = UNTIL.join(left.tag[mine], right.tag[theirs])
    return Table(columns, len(mine), tag)


def compatible(left: Table, right: Table, overlapping: bool = False) -> Pairs:
    """The places of all pairs of compatible rows. `overlapping`: only those that both bind some variable; then it is
    enough that each row of the left is there when it is in a pair."""
    shared = [name for name in left.columns if name in right.columns]
    parts: list[Pairs] = []
    for mine, of_left in _ways(left, shared):
        for theirs, of_right in _ways(right, shared):
            names = [name for name in shared if name in of_left and name in of_right]
            if overlapping and not names:
                continue
            left_rows = [left.columns[name][mine] for name in names]
            right_rows = [right.columns[name][theirs] for name in names]
            found = (
                _members(left_rows, right_rows)
                if overlapping
                else matching(left_rows, right_rows, len(mine), len(theirs))
            )
            parts.append((mine[found[0]], theirs[found[1]]))
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate([mine for mine, _ in parts]), np.concatenate([theirs for _, theirs in parts])


def matching(left: Sequence[np.ndarray], right: Sequence[np.ndarray], lefts: int, rights: int) -> Pairs:
    """The places of all pairs of rows whose columns are equal; without columns, of all pairs."""
    if not left:
        _check(lefts * rights)
        return np.repeat(np.arange(lefts), rights), np.tile(np.arange(rights), lefts)
    mine, theirs = _numbered_alike(left, right)
    order = order_of(theirs)
    try:
        hits, rows = pairs(theirs[order], mine, MOST_ROWS)
    except TooMuchAtOnce:
        raise _too_many_rows() from None
    return hits, order[rows]


def numbered(columns: Sequence[np.ndarray]) -> np.ndarray:
    """One number for each row, the same for equal rows."""
    numbers, room = columns[0], _bits(columns[0])
    for column in columns[1:]:
        bits = _bits(column)
        if room + bits > ROOM:
            numbers = dense(numbers)
            room = _bits(numbers)
        if room + bits > ROOM:
            column = dense(column)
            bits = _bits(column)
        numbers = ((numbers + 1) << bits) | (column + 1)
        room += bits
    return numbers


def dense(values: np.ndarray) -> np.ndarray:
    """The place of each value among the distinct ones."""
    return dense_ranks(values)[1]


def _with_tag(table: Table, unit: Table) -> Table:
    if table.tag is None or unit.tag is None:
        return table.untagged()
    return table if unit.tag[0] == ALWAYS else Table(table.columns, table.length, UNTIL.join(table.tag, unit.tag[0]))


def _ways(table: Table, shared: Sequence[str]) -> Iterator[tuple[np.ndarray, frozenset[str]]]:
    """The rows of a table by which of the shared variables they bind."""
    ways = np.zeros(table.length, dtype=np.int64)
    for place, name in enumerate(shared):
        column = table.columns[name]
        if len(column) and column.min() < 0:
            ways |= (column < 0).astype(np.int64) << place
    for way in distinct_of_sorted(ordered(ways)).tolist():
        yield np.flatnonzero(ways == way), frozenset(name for place, name in enumerate(shared) if not way >> place & 1)


def _members(left: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> Pairs:
    if len(left) == 1:
        found = np.flatnonzero(np.isin(left[0], right[0]))
    else:
        numbers, firsts = dense_rows([np.concatenate(pair) for pair in zip(left, right)])
        there = np.zeros(len(firsts), dtype=bool)
        there[numbers[len(left[0]) :]] = True
        found = np.flatnonzero(there[numbers[: len(left[0])]])
    return found, np.zeros(len(found), dtype=np.int64)


def _numbered_alike(left: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> Pairs:
    if len(left) == 1:
        return left[0], right[0]
    numbers = numbered([np.concatenate(pair) for pair in zip(left, right)])
    return numbers[: len(left[0])], numbers[len(left[0]) :]


def _bits(column: np.ndarray) -> int:
    return (int(column.max(initial=0)) + 2).bit_length()


def _check(rows: int) -> None:
    if rows > MOST_ROWS:
        raise _too_many_rows()


def _too_many_rows() -> TooManyMatches:
    return TooManyMatches(f"a table on the way to the answer has more than {MOST_ROWS:,} rows")


def _check_cells(cells: int) -> None:
    if cells > MOST_CELLS:
        raise TooManyMatches(f"a table on the way to the answer has more than {MOST_CELLS:,} cells")


def latest_of(rows: np.ndarray, tags: np.ndarray, length: int) -> np.ndarray:
    """For each of `length` places the latest of the tags that its rows have, NEVER if it has none."""
    return reduced(rows, tags, length)[2]  # the greatest: what UNTIL unites; that of none is NEVER
