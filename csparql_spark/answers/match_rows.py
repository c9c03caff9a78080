"""Match rows: the rows of ids that several members keep, each with a tag, in one sorted map.

The number of a member, its *slot*, is the first of what a row is packed of: so the rows of a member are one slice of
each of the runs, and rows that many members get at once are added at once.

    slot 0 │ row │ row │ row │ slot 1 │ row │ slot 2 │ row │ row │ …

    rows = MatchRows(3, dictionary)
    slot = rows.open()                              # rows.close([slot]) when nobody keeps any there
    rows.add(slots, [a, b, c], tags)                # of each row its slot; or one slot for all of them
    rows.seen(slot, after)                          # keys and tags of its rows that hold later than `after`
    rows.column(keys, 2)                            # c
    rows.listen(slot, journal)                      # is told from now on what becomes of them (see `row_journal`)

Invariants: a member's row is there once, with the latest of its tags; `version(slot)` grows when a row comes, holds
longer, or is taken away before its time. A row is written in as few bits as its ids need: as there come to be more of
them, or more members, all are written again.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import partial

import numpy as np

from csparql_spark.answers.row_journal import RowEntry, RowJournal
from csparql_spark.kernel.sort import distinct, order_of, ordered
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.records import BITS, NUMBER_BITS, KeysTooWide, Numbers, Records
from csparql_spark.relations.runs import Run, Runs
from csparql_spark.relations.tags import NEVER, UNTIL

SPARE = 2  # bits: terms may become four times as many before keys are packed again
MORE_SLOTS = 2  # bits: and members, too
GIVEN = 65_536  # numbers that are given besides four for each row, before those of rows that are gone are forgotten
ALONE = 16  # times that it is found out for one member only, where its rows are
ROW_BYTES = 16  # a key and a tag
INSTANTS = 4  # at once for which it is counted for all members how many rows hold later

Slots = np.ndarray | int


class MatchRows:
    def __init__(self, width: int, dictionary: TermDictionary) -> None:
        self._width, self._dictionary = width, dictionary
        self._versions = np.zeros(1, dtype=np.int64)
        self._free: list[int] = []
        self._journals: dict[int, weakref.WeakSet[RowJournal]] = {}  # by slot
        self._hears = np.zeros(0, dtype=bool)  # by slot, whether there is any; made when it is asked for
        self.slots = 0  # that were ever open at once
        self._layout(0, NEVER)

    def _layout(self, slot_bits: int, now: int) -> None:
        """How rows are packed, from now on; there are none yet."""
        self._records = Records(self._width, len(self._dictionary).bit_length() + SPARE)
        self._slot_bits = slot_bits
        self._numbers: Numbers | None = None  # of rows, where they and a slot do not fit beside each other
        self._shift = self._width * self._records.bits
        if slot_bits and self._shift + slot_bits > BITS:
            self._numbers, self._shift = Numbers(), NUMBER_BITS
        self._runs = Runs(now)
        self._changed()

    def _changed(self) -> None:
        self._asked = 0  # how often since then
        self._bounds: list[list[int]] | None = None  # by run and slot, where its rows begin
        self._counts: dict[int, list[int]] = {}  # by instant and slot, how many rows hold later

    # --- members

    def open(self) -> int:
        """The number of a new member."""
        if self._free:
            return self._free.pop()
        slot, self.slots = self.slots, self.slots + 1
        if self.slots > 1 << self._slot_bits:
            self._rewrite(self._slot_bits + MORE_SLOTS)
            self._versions = np.concatenate([self._versions, np.zeros((1 << self._slot_bits) - slot, dtype=np.int64)])
        self._changed()
        return slot

    def close(self, slots: Sequence[int]) -> None:
        """There are no such members any more."""
        self.clear(slots)
        for slot in slots:
            self._stop(slot)
        self._free += slots

    def clear(self, slots: Sequence[int]) -> None:
        """Forget the rows of these members."""
        for slot in slots:
            for journal in self._journals.get(slot, ()):
                journal.lose()
        slots = [slot for slot in slots if self.rows(slot)]
        if not slots:
            return
        keys, tags = self._runs.holding()
        gone = np.zeros(self.slots, dtype=bool)
        gone[slots] = True
        self._versions[slots] += 1
        rest = ~gone[self._slots_of(keys)]
        self._runs = Runs(self._runs.now)
        if rest.any():
            self._runs.add(keys[rest], tags[rest])
            self._runs.settle()
        self._changed()

    def version(self, slot: int) -> int:
        return self._versions.item(slot)

    # --- rows

    @property
    def total(self) -> int:
        """The number of rows of all, dead ones included."""
        return self._runs.rows

    @property
    def now(self) -> int:
        return self._runs.now

    def expire(self, now: int) -> None:
        before = self._runs.runs
        if now > self._runs.now:
            self._counts = {}
        self._runs.expire(now)
        if self._runs.runs is not before:
            self._changed()

    def keys(self, slots: Slots, columns: Sequence[np.ndarray], length: int) -> np.ndarray:
        """Rows, packed. Those that are there may be written again for it: keys from before mean nothing then."""
        if len(self._dictionary) >> self._records.bits:
            self._rewrite(self._slot_bits)
        try:
            return self._packed(slots, columns, length)
        except KeysTooWide:
            self._rewrite(self._slot_bits)
            return self._packed(slots, columns, length)

    def _packed(self, slots: Slots, columns: Sequence[np.ndarray], length: int) -> np.ndarray:
        keys = self._records.packed(columns) if columns else np.zeros(length, dtype=np.int64)
        if self._numbers is not None:
            keys = self._numbers.of(keys)
        return keys | slots << self._shift if self._slot_bits else keys

    def add(self, slots: Slots, columns: Sequence[np.ndarray], tags: np.ndarray) -> None:
        if not len(tags):
            return
        keys = self.keys(slots, columns, len(tags))  # before the runs are looked at: they may be written again for it
        keys, tags = UNTIL.united(keys, tags)
        heard = self._heard(slots, keys)
        had = None if heard is None else self._runs.tags_of(keys[heard])
        grown, _ = self._runs.add(keys, tags)
        self._runs.settle()
        if had is not None:
            self._tell(keys[heard], had, np.maximum(had, tags[heard]))
        self._note(slots, keys, grown)
        given = max(self._records.given, 0 if self._numbers is None else self._numbers.given)
        if given > GIVEN + 4 * self._runs.rows:
            self._rewrite(self._slot_bits)

    def drop(self, slots: Slots, keys: np.ndarray) -> None:
        """Rows that are not there do not matter."""
        keys = distinct(ordered(keys))
        had = self._runs.tags_of(keys)
        there = had > NEVER
        if there.any():
            keys, had = keys[there], had[there]
            heard = self._heard(slots, keys)
            if heard is not None:
                self._tell(keys[heard], had[heard], np.full(len(had[heard]), NEVER))
            self._runs.remove(keys)
            self._note(slots, keys, np.ones(len(keys), dtype=bool))

    def _note(self, slots: Slots, keys: np.ndarray, changed: np.ndarray) -> None:
        if isinstance(slots, int):
            self._versions[slots] += bool(changed.any())
        else:
            self._versions[distinct(self._slots_of(keys[changed]))] += 1
        self._changed()

    def _slots_of(self, keys: np.ndarray) -> np.ndarray:
        return keys >> self._shift if self._slot_bits else np.zeros(len(keys), dtype=np.int64)

    def _rewrite(self, slot_bits: int, table: np.ndarray | None = None) -> None:
        """Write what is kept again: for more members, for wider ids, or for others."""
        keys, tags = self._runs.holding()
        slots = self._slots_of(keys)
        columns = self.columns(keys)
        if table is not None:
            columns = [table[column] for column in columns]
        self._layout(slot_bits, self._runs.now)
        if len(tags):
            keys = self._packed(slots, columns, len(tags))
            order = order_of(keys)
            self._runs.add(keys[order], tags[order])
            self._runs.settle()

    def renumber(self, table: np.ndarray) -> None:
        """The id `i` has become `table[i]`."""
        self._rewrite(self._slot_bits, table)
        for slot in self._journals:
            for journal in self._journals[slot]:
                journal.lose()

    # --- those who are told

    def listen(self, slot: int, journal: RowJournal) -> None:
        """Tell somebody what becomes of a member's rows, as long as the journal is held."""
        self._journals.setdefault(slot, weakref.WeakSet()).add(journal)
        self._hears = np.zeros(0, dtype=bool)

    def _stop(self, slot: int) -> None:
        if self._journals.pop(slot, None) is not None:
            self._hears = np.zeros(0, dtype=bool)

    def _heard(self, slots: Slots, keys: np.ndarray) -> np.ndarray | slice | None:
        """Of which of these rows somebody is told; None: of none."""
        if not self._journals:
            return None
        if isinstance(slots, int):
            return slice(None) if slots in self._journals else None
        if not len(self._hears):
            self._hears = np.zeros(self.slots, dtype=bool)
            self._hears[list(self._journals)] = True
        heard = np.flatnonzero(self._hears.take(self._slots_of(keys), mode="clip"))
        return heard if len(heard) else None

    def _tell(self, keys: np.ndarray, had: np.ndarray, has: np.ndarray) -> None:
        """Note what has become of rows that somebody is told of; keys are in their order, and so are slots."""
        other = had != has
        if not other.any():
            return
        keys, had, has = keys[other], had[other], has[other]
        slots = self._slots_of(keys)
        begins = np.flatnonzero(np.concatenate([[True], slots[1:] != slots[:-1]]))
        for slot, begin, end in zip(slots[begins].tolist(), begins.tolist(), [*begins[1:].tolist(), len(slots)]):
            journals = list(self._journals.get(slot, ()))
            if not journals:
                self._stop(slot)
                continue
            part = slice(begin, end)
            entry = RowEntry(self.columns(keys[part]), had[part], has[part])
            for journal in journals:
                journal.note(entry, partial(self.rows, slot))

    # --- looking

    def column(self, keys: np.ndarray, place: int) -> np.ndarray:
        if self._numbers is not None:
            keys = self._numbers.values(keys & (1 << self._shift) - 1)
        return self._records.column(keys, place)

    def columns(self, keys: np.ndarray) -> list[np.ndarray]:
        if self._numbers is not None:
            keys = self._numbers.values(keys & (1 << self._shift) - 1)
        return [self._records.column(keys, place) for place in range(self._width)]

    def holding(self) -> tuple[np.ndarray, np.ndarray]:
        """The keys of all rows that hold, and of each its slot."""
        keys, _ = self._runs.holding()
        return keys, self._slots_of(keys)

    def seen(self, slot: int, after: int) -> tuple[np.ndarray, np.ndarray]:
        """Keys and tags of a member's rows with tags later than `after`."""
        after, keys, tags = max(after, self._runs.now), [], []
        for run, begin, end in self._parts(slot):
            some, until = run.keys[begin:end], run.tags[begin:end]
            if not run.all_hold(after):
                later = until > after
                some, until = some[later], until[later]
            keys.append(some)
            tags.append(until)
        if len(keys) == 1:
            return keys[0], tags[0]
        nothing = np.empty(0, dtype=np.int64)
        return np.concatenate([nothing, *keys]), np.concatenate([nothing, *tags])

    def _parts(self, slot: int) -> list[tuple[Run, int, int]]:
        """The runs that a member has rows in, from where to where."""
        runs = self._runs.runs
        if not self._slot_bits:
            return [(run, 0, len(run.keys)) for run in runs]
        if not self._for_all():
            ends = np.array([slot, slot + 1]) << self._shift
            parts = [(run, *run.keys.searchsorted(ends).tolist()) for run in runs]
        else:
            parts = [(run, one[slot], one[slot + 1]) for run, one in zip(runs, self._starts())]
        return [part for part in parts if part[1] < part[2]]

    def _for_all(self) -> bool:
        """Whether it is asked so often that it pays to find out for all members at once."""
        self._asked += 1
        return self._asked > ALONE

    def _starts(self) -> list[list[int]]:
        if self._bounds is None:
            low = np.arange(self.slots + 1) << self._shift
            self._bounds = [run.keys.searchsorted(low).tolist() for run in self._runs.runs]
        return self._bounds

    def rows(self, slot: int) -> int:
        """How many rows of a member are in memory, dead ones included."""
        return sum(end - begin for _, begin, end in self._parts(slot))

    def nbytes(self, slot: int) -> int:
        """What these take, and what they have part in of the numbers of rows."""
        rows = self.rows(slot)
        numbers = self._records.nbytes + (0 if self._numbers is None else self._numbers.nbytes)
        return ROW_BYTES * rows + (numbers * rows // self._runs.rows if rows else 0)

    def largest(self, most: int) -> list[int]:
        """The members that have more rows than this."""
        return [] if self._runs.rows <= most else [slot for slot in range(self.slots) if self.rows(slot) > most]

    def count(self, slot: int, after: int) -> int:
        """How many rows of a member hold later than `after`."""
        after = max(after, self._runs.now)
        counts = self._counts.get(after)
        if counts is None:
            if not self._slot_bits or len(self._counts) >= INSTANTS or not self._for_all():
                return sum(
                    end - begin if run.all_hold(after) else int(np.count_nonzero(run.tags[begin:end] > after))
                    for run, begin, end in self._parts(slot)
                )
            counts = self._counts[after] = self._counted(after)
        return counts[slot]

    def _counted(self, after: int) -> list[int]:
        counts = np.zeros(self.slots, dtype=np.int64)
        for run, starts in zip(self._runs.runs, self._starts()):
            if run.all_hold(after):
                counts += np.diff(starts)
            else:
                counts += np.bincount(run.keys[run.tags > after] >> self._shift, minlength=self.slots)
        return counts.tolist()
