"""A background wait: whether a group answers nothing for now, since its background is being closed beside (see
`closings`), and which of its rows wait meanwhile.

    rows     ── none is in need of an answer ──▶ taken          background pending, and nothing is due: no wait
             ── one makes an instant due ──▶ taken              the wait begins: that instant is answered later
             ── whatever comes then ──▶ held
    ready    ──▶ what is due is answered, held rows are released in their order, each when the one before is taken

Invariants: nothing is answered while a wait is on; rows are released in the order in which they were held; who holds
more than `MOST_BYTES` waits no longer, and closes its background itself.

    wait = BackgroundWait("1f0c…", members, views)
    wait.set_background("urn:g", triples=100_000)
    if wait.stops(row): ...                     # it is to be held
    wait.begin_if_due()                         # True: what is due has to wait, from now on
    if wait.end():                              # what is due is to be answered now, and then
        for row in wait.released(): ...
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from csparql_spark.engine.closings import Closing, Closings
from csparql_spark.engine.held_entries import MOST_BYTES, HeldEntries
from csparql_spark.engine.member import Member
from csparql_spark.engine.views import Views
from csparql_spark.schedule.routing import DAMAGED, REPLACED, Row

# Entries that need what is due before them to be answered.
ANSWERING = frozenset({"pause", "resume", "fail", REPLACED, DAMAGED})


class BackgroundWait:
    def __init__(self, key: str, members: Mapping[int, Member], views: Views) -> None:
        self._key, self._members, self._views = key, members, views
        self.closings = Closings()  # where backgrounds are closed
        self.is_on = False  # an instant may be due that is not answered before that is done
        self.held = HeldEntries()  # and what has come since
        self._sizes: dict[str, int] = {}  # of the background graphs, in triples
        self._pending: bool | None = None  # whether the background is being closed elsewhere; None: not asked

    @property
    def triples(self) -> int:
        """Of the background, before it is closed."""
        return sum(self._sizes.values())

    def set_background(self, graph: str, triples: int) -> None:
        self._sizes[graph] = triples
        self.ask_again()

    def ask_again(self) -> None:
        """Something else may have to be closed, or be ready, by now."""
        self._pending = None

    def must_wait(self) -> bool:
        """Whether the background is being closed elsewhere: then nothing can be answered yet. Who asks has it begun."""
        if self._pending is None:
            asker = next((member for member in self._members.values() if member.failed is None), None)
            closing = None if asker is None else self._closing(asker)
            if closing is None or self.held.nbytes > MOST_BYTES:
                self._pending = False
                self.closings.release(self._key)
            else:
                self._pending = self.closings.pending(self._key, closing)
        return self._pending

    def _closing(self, member: Member) -> Closing | None:
        triples = self.triples
        return self._views.closing(member, triples) if triples and self.closings.takes(triples) else None

    def _due_must_wait(self) -> bool:
        return self.must_wait() and any(member.has_due for member in self._members.values())

    def stops(self, row: Row) -> bool:
        """Whether a row cannot be taken yet."""
        return self.is_on or self._is_answering(row) and self.must_wait()

    def _is_answering(self, row: Row) -> bool:
        """Whether what is due before a row has to be answered before it: who is replaced answers to its end."""
        return row.kind in ANSWERING or row.kind == "register" and "ends" in json.loads(row.payload or b"{}")

    def begin_if_due(self) -> bool:
        """Begin to wait if something is due that cannot be answered yet. Whether that is so."""
        self.is_on = self._due_must_wait()
        return self.is_on

    def end(self) -> bool:
        """End a wait, if there is one and nothing is left to wait for. Whether that is so."""
        if not self.is_on or self._due_must_wait():
            return False
        self.is_on = False
        return True

    def released(self) -> Iterator[Row]:
        """The held rows that need not wait any longer: to be taken one after the other, and what one of them makes due
        may begin a wait again."""
        while self.held and not self.is_on:
            if self._is_answering(self.held.head) and self.must_wait():
                self.is_on = True
            else:
                yield self.held.take()
