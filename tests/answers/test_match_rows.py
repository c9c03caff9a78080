"""Rows of several members are as if each had a table of its own."""

from __future__ import annotations

import gc
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import match_rows as module
from csparql_spark.answers import row_journal
from csparql_spark.answers.match_rows import MatchRows
from csparql_spark.answers.row_journal import RowJournal
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.tags import NEVER
from tests.examples import examples

Row = tuple[int, ...]


class Apart:
    """Some tables, each a mapping from rows to tags."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.dictionary = TermDictionary()
        self.dictionary.encode([f"<urn:{n}>" for n in range(9)])
        self.rows = MatchRows(width, self.dictionary)
        self.tables: dict[int, dict[Row, int]] = {}
        self.versions: dict[int, tuple[int, dict[Row, int]]] = {}
        self.heard: dict[int, tuple[RowJournal, dict[Row, int]]] = {}  # by slot: what its journal says that there is
        self.now = 0

    def listen(self, slot: int) -> None:
        journal = RowJournal()
        self.rows.listen(slot, journal)
        self.heard[slot] = journal, dict(self.tables[slot])

    def hear(self, lost: set[int]) -> None:
        """Whoever listens has what there is, or is told that it has to look."""
        for slot, (journal, known) in self.heard.items():
            entries = journal.take()
            assert (entries is None) == (slot in lost)
            if entries is None:
                known.clear()
                known.update(self.tables[slot])
                continue
            for columns, had, has in entries:
                rows = list(zip(*(column.tolist() for column in columns))) if columns else [()] * len(has)
                assert len(set(rows)) == len(rows)
                for row, before, tag in zip(rows, had.tolist(), has.tolist(), strict=True):
                    # What is over need not be known any more.
                    assert before == known.get(row, NEVER) or (before == NEVER and known[row] <= self.now)
                    assert tag != before
                    known[row] = tag
            left = {row: tag for row, tag in known.items() if tag > self.now}
            assert left == self.tables[slot]
            known.clear()
            known.update(left)

    def some(self, random: Random, count: int) -> list[tuple[int, Row, int]]:
        ids = range(len(self.dictionary))
        return [
            (
                random.choice(list(self.tables)),
                tuple(random.choices(ids, k=self.width)),
                self.now + random.randint(1, 6),
            )
            for _ in range(count)
        ]

    def columns(self, rows: list[Row]) -> list[np.ndarray]:
        return [np.array([row[place] for row in rows], dtype=np.int64) for place in range(self.width)]

    def add(self, came: list[tuple[int, Row, int]], alone: bool) -> None:
        if alone:
            came = [one for one in came if one[0] == came[0][0]]
        slots = came[0][0] if alone else np.array([slot for slot, _, _ in came], dtype=np.int64)
        self.rows.add(slots, self.columns([row for _, row, _ in came]), np.array([tag for _, _, tag in came]))
        for slot, row, tag in came:
            self.tables[slot][row] = max(tag, self.tables[slot].get(row, tag))

    def drop(self, gone: list[tuple[int, Row, int]]) -> None:
        slots = np.array([slot for slot, _, _ in gone], dtype=np.int64)
        self.rows.drop(slots, self.rows.keys(slots, self.columns([row for _, row, _ in gone]), len(gone)))
        for slot, row, _ in gone:
            self.tables[slot].pop(row, None)

    def expire(self, now: int) -> None:
        self.now = now
        self.rows.expire(now)
        self.tables = {
            slot: {row: tag for row, tag in table.items() if tag > now} for slot, table in self.tables.items()
        }

    def check(self, after: int) -> None:
        keys, slots = self.rows.holding()
        columns = [column.tolist() for column in self.rows.columns(keys)]
        found = sorted(zip(slots.tolist(), *columns, strict=True))
        assert found == sorted((slot, *row) for slot, table in self.tables.items() for row in table)
        for slot, table in self.tables.items():
            keys, tags = self.rows.seen(slot, after)
            columns = [self.rows.column(keys, place).tolist() for place in range(self.width)]
            seen = sorted(zip(*columns, tags.tolist(), strict=True))
            assert seen == sorted((*row, tag) for row, tag in table.items() if tag > after)
            assert self.rows.count(slot, after) == len(seen)
            assert self.rows.rows(slot) >= len(table) and self.rows.nbytes(slot) >= 16 * len(table)
            # The version says what else is different than that time has passed.
            version, before = self.versions.get(slot, (-1, {}))
            left = {row: tag for row, tag in before.items() if tag > self.now}
            assert self.rows.version(slot) != version or table == left
            self.versions[slot] = self.rows.version(slot), dict(table)


@pytest.mark.parametrize("bits", (62, 7))  # 7: rows are numbered
@settings(max_examples=examples(120), deadline=None)
@given(width=st.integers(0, 4), seed=st.integers(0, 10**9))
def test_members_have_what_tables_apart_would_have(bits: int, width: int, seed: int) -> None:
    random, apart = Random(seed), Apart(width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BITS", bits)
        patch.setattr(module, "GIVEN", random.choice((0, 1000)))
        patch.setattr(module, "INSTANTS", random.choice((0, 1, 4)))
        patch.setattr(module, "ALONE", random.choice((0, 3, 16)))
        for now in range(1, 9):
            lost = set()
            for _ in range(random.randint(now == 1, 3)):
                apart.tables[slot := apart.rows.open()] = {}
                if random.random() < 0.5:
                    apart.listen(slot)
            if random.random() < 0.3 and len(apart.tables) > 1:
                gone = random.sample(list(apart.tables), 1)
                apart.rows.close(gone)
                for slot in gone:
                    del apart.tables[slot]
                    apart.versions.pop(slot, None)
                    apart.heard.pop(slot, None)
            if random.random() < 0.3:
                cleared = random.sample(list(apart.tables), 1)
                apart.rows.clear(cleared)
                apart.tables[cleared[0]] = {}
                lost |= {*cleared}
            if random.random() < 0.3:
                apart.dictionary.encode([f"<urn:{now}-{n}>" for n in range(40)])
            apart.expire(now)
            for alone in (False, True):
                apart.add(apart.some(random, random.randint(1, 12)), alone)
            apart.drop(
                [
                    *apart.some(random, 3),
                    *((slot, row, 0) for slot in apart.tables for row in [*apart.tables[slot]][:1]),
                ]
            )
            if random.random() < 0.3:
                table = np.arange(len(apart.dictionary))[::-1].copy()
                apart.rows.renumber(table)
                apart.tables = {
                    slot: {tuple(table[list(row)].tolist()): tag for row, tag in rows.items()}
                    for slot, rows in apart.tables.items()
                }
                apart.versions.clear()
                lost |= {*apart.tables}
            if random.random() < 0.7 or lost:
                apart.hear(lost)
            for after in (now, now + 2):
                apart.check(after)


def test_who_has_too_many_rows_is_found() -> None:
    apart = Apart(1)
    one, other = apart.rows.open(), apart.rows.open()
    apart.rows.add(np.array([one, other, other]), [np.array([1, 1, 2])], np.array([5, 5, 5]))
    assert apart.rows.largest(1) == [other]
    assert apart.rows.largest(2) == [] and apart.rows.total == 3


def test_a_journal_that_is_longer_than_the_table_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_journal, "LEAST", 4)
    apart, journal = Apart(1), RowJournal()
    slot = apart.rows.open()
    apart.rows.listen(slot, journal)
    for tag in (5, 6):
        apart.rows.add(slot, [np.arange(3)], np.full(3, tag))
    assert journal.take() is None and journal.take() == [] and len(journal) == journal.nbytes == 0
    apart.rows.add(slot, [np.arange(3)], np.full(3, 7))
    assert len(journal) == 3
    ((columns, had, has),) = journal.take()
    assert (columns[0].tolist(), had.tolist(), has.tolist()) == ([0, 1, 2], [6, 6, 6], [7, 7, 7])


def test_whoever_holds_no_journal_is_told_nothing() -> None:
    apart, journal = Apart(1), RowJournal()
    slot = apart.rows.open()
    apart.rows.listen(slot, journal)
    del journal
    gc.collect()
    apart.rows.add(np.array([slot]), [np.array([1])], np.array([5]))
    assert apart.rows._journals == {}
