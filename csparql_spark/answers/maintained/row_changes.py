"""Row changes: which rows of a table have come, and which have gone, as bags.

    before  (a) until 9   (b) until 9            after  (a) until 9   (a) until 9   (b) until 12

    rows = compared(after, before)          # with one column more, SIGN: 1 for what has come, -1 for what has gone
    parted(rows)                            # the two tables: come (a) until 9, (b) until 12; gone (b) until 9

Signed rows flow from operator to operator as one table: what is done with each row is done once.

Invariant: who has the bag of rows as it was, and puts in what has come and takes out what has gone, has it as it is. A
row whose tag is another one has gone and come. Where nobody knows until when rows hold there are no tags. What has come
as well as gone may be told, until rows are `settled`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from csparql_spark.answers.bag_difference import unshared
from csparql_spark.answers.tables import Table, united

SIGN = "±"  # the name of a column; no variable has it


class RowChanges(NamedTuple):
    come: Table
    gone: Table

    @property
    def size(self) -> int:
        return self.come.length + self.gone.length


def signed(rows: Table, sign: int) -> Table:
    """All of these rows have come, or gone."""
    return rows.extend(SIGN, np.full(rows.length, sign))


def parted(rows: Table) -> RowChanges:
    columns = dict(rows.columns)
    come = columns.pop(SIGN) > 0
    rows = Table(columns, rows.length, rows.tag)
    return RowChanges(rows.take(come), rows.take(~come))


def settled(rows: Table) -> Table:
    """The same, without what has come as well as gone."""
    signs = rows.columns[SIGN]
    if not rows.length or signs[0] == signs[-1] and (signs == signs[0]).all():
        return rows
    come, gone = np.flatnonzero(signs > 0), np.flatnonzero(signs < 0)
    columns = cells(rows, [name for name in rows.columns if name != SIGN])
    new, old = unshared([column[come] for column in columns], [column[gone] for column in columns])
    if len(new) == len(come):
        return rows
    return rows.take(np.concatenate([come[new], gone[old]]))


def compared(now: Table, before: Table) -> Table:
    """What makes the one bag of rows of the other."""
    names = list(now.columns)
    new, old = unshared(cells(now, names), cells(before, names))
    return united([signed(now.take(new), 1), signed(before.take(old), -1)])


def cells(table: Table, names: list[str]) -> list[np.ndarray]:
    """The columns of a table by which its rows are told apart: these, and the tag. There is at least one."""
    columns = [table.column(name) for name in names]
    if table.tag is not None:
        columns.append(table.tag)
    return columns or [np.zeros(table.length, dtype=np.int64)]
