"""Scans: which matches of a pattern have come, have been taken back, and are over, from what their table notes.

    scan = ScanOperator(evaluation, algebra.Scan(...))
    scan.start()                            # its rows; their table notes from now on what becomes of them
    scan.changes()                          # it costs that, however many stay

A row is seen while its tag is later than what the query sees (`Evaluation.after`, and as much later as the tags of a
named graph are). Where its time is over nobody tells: rows are written down by when that is. Where the table does not
know what has happened there is no way from the rows before to those now: `Lost`.
"""

from __future__ import annotations

import numpy as np

from csparql_spark.answers import algebra
from csparql_spark.answers.maintained.row_calendar import EndingRows, RowCalendar
from csparql_spark.answers.maintained.row_changes import SIGN, settled
from csparql_spark.answers.operators import Evaluation
from csparql_spark.answers.row_journal import RowJournal
from csparql_spark.answers.tables import Table
from csparql_spark.relations.tags import ALWAYS


class Lost(Exception):
    """It is not known what has become of rows."""


class ScanOperator:
    def __init__(self, evaluation: Evaluation, scan: algebra.Scan) -> None:
        self._evaluation, self._scan = evaluation, scan
        self._table, names, self._offset = evaluation.scanned(scan)
        places = {name: place for place, name in enumerate(self._table.variables)}
        self._places = [places[names.get(name, name)] for name in scan.shown]
        self._journal = RowJournal()
        self._calendar = RowCalendar(len(scan.shown))
        self._after = 0
        self.noted = 0  # rows that had come or gone when it was asked last

    def start(self) -> Table:
        self._journal = RowJournal()
        self._table.listen(self._journal)
        rows = self._evaluation.table(self._scan)
        assert rows.tag is not None
        self._after = self._seen_after()
        self._calendar = RowCalendar(len(self._places))
        self._calendar.add(list(rows.columns.values()), rows.tag.copy())
        return rows

    def changes(self) -> Table:
        """`Lost` if they are not known."""
        before, self._after = self._after, self._seen_after()
        entries = self._journal.take()
        if entries is None or self._after < before:
            raise Lost
        come, gone = [], []
        for columns, had, has in entries:
            shown = [columns[place] for place in self._places]
            gone += self._noted(shown, had, before, -1)
            come += self._noted(shown, has, before, 1)
        gone.append(self._calendar.take(self._after))
        self.noted = sum(len(tags) for _, tags in (*come, *gone))
        found = self._rows([*come, *gone], sum(len(tags) for _, tags in come))
        return settled(found) if len(entries) > 1 else found

    def _seen_after(self) -> int:
        return max(self._evaluation.after, self._table.now - self._offset)

    def _noted(self, columns: list[np.ndarray], tags: np.ndarray, after: int, sign: int) -> list[EndingRows]:
        """Those of the rows that were seen, or would have been; it is written down when they end."""
        seen = tags > after + self._offset
        if not seen.all():
            if not seen.any():
                return []
            columns, tags = [column[seen] for column in columns], tags[seen]
        if self._offset:
            tags = np.where(tags == ALWAYS, ALWAYS, tags - self._offset)
        self._calendar.add(columns, tags, sign)
        return [(columns, tags)]

    def _rows(self, parts: list[EndingRows], come: int) -> Table:
        """All of these rows, of which so many have come."""
        columns = [np.concatenate([part[0][place] for part in parts]) for place in range(len(self._places))]
        tags = np.concatenate([part[1] for part in parts])
        signs = np.ones(len(tags), dtype=np.int64)
        signs[come:] = -1
        return Table.of({**dict(zip(self._scan.shown, columns, strict=True)), SIGN: signs}, tags)

    @property
    def nbytes(self) -> int:
        return self._journal.nbytes + self._calendar.nbytes
