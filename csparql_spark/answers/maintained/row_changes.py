"""Row changes: which rows of a table have come, and which have gone, as bags.

    before  (a) until 9   (b) until 9            after  (a) until 9   (a) until 9   (b) until 12

    changes = compared(after, before)
    changes.come                            # (a) until 9   (b) until 12
    changes.gone                            # (b) until 9

Invariant: who has the bag of rows as it was, and puts in what has come and takes out what has gone, has it as it is. A
row whose tag is another one has gone and come. Where nobody knows until when rows hold there are no tags, in neither.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from csparql_spark.answers.bag_difference import unshared
from csparql_spark.answers.tables import Table


class RowChanges(NamedTuple):
    come: Table
    gone: Table

    @property
    def size(self) -> int:
        return self.come.length + self.gone.length

    def settled(self) -> RowChanges:
        """The same, without what has come as well as gone."""
        if not self.come.length or not self.gone.length:
            return self
        return compared(self.come, self.gone)


def compared(now: Table, before: Table) -> RowChanges:
    """What makes the one bag of rows of the other."""
    if (now.tag is None) != (before.tag is None):
        return RowChanges(now, before)
    mine, theirs = cells(now, list(now.columns)), cells(before, list(now.columns))
    come, gone = unshared(mine, theirs)
    return RowChanges(now.take(come), before.take(gone))


def cells(table: Table, names: list[str]) -> list[np.ndarray]:
    """The columns of a table by which its rows are told apart: these, and the tag. There is at least one."""
    columns = [table.column(name) for name in names]
    if table.tag is not None:
        columns.append(table.tag)
    return columns or [np.zeros(table.length, dtype=np.int64)]
