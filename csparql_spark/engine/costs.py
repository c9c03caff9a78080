"""Costs: what the queries of a group take while they answer, noted on the way and told once a batch.

A note is about one query in one batch: its instants and how long they took, what its windows saw at the newest of
them, what is held for it, and what made its instants due. Nothing here is looked at by anything that answers: clocks
are read, and no answer is another one for it.

    costs = Costs()
    costs.note(member, instant=5000, rows=2, micros=310, due=5000)
    costs.refused += 3                            # patterns that a rule could not match (see
                                                  # `entailment.evaluate.patterns`)
    costs.report(elements=…, state=…, nodes=…)    # bytes of JSON, None if nobody has answered; then it begins anew

`due` is when (epoch ms) an answer could have been given at the earliest: on the arrival clock that is its instant; on
another one, when that arrived which moved the clock past it; None where that is not known.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from csparql_spark.engine.member import Member

MOST_DUE = 256  # instants of one query in one batch whose latency is told: the newest
MOST_TREES = 10  # plan trees that are told at once
TREE_SECONDS = 5.0  # between two of one query
REMEMBERED_SECONDS = 600.0  # when a query's tree was told


@dataclass(slots=True)
class Note:
    """What a query has taken since it was told last."""

    member: Member
    instant: int = 0
    instants: int = 0
    rows: int = 0  # of all its answers
    last_rows: int = 0  # of the newest
    micros: int = 0
    last_micros: int = 0
    due: list[int | None] = field(default_factory=list)


class Costs:
    def __init__(self) -> None:
        self._notes: dict[int, Note] = {}
        self._trees: dict[int, float] = {}  # when the plan tree of a query was told
        self.refused = 0  # patterns of rules, which the whole group has a part in

    def note(self, member: Member, *, instant: int, rows: int, micros: int, due: int | None) -> None:
        note = self._notes.get(member.id)
        if note is None:
            note = self._notes[member.id] = Note(member)
        note.instant, note.last_rows, note.last_micros = instant, rows, micros
        note.instants += 1
        note.rows += rows
        note.micros += micros
        note.due.append(due)
        if len(note.due) >= 2 * MOST_DUE:
            del note.due[:-MOST_DUE]

    def report(
        self, *, elements: Callable[[int], int], state: Callable[[int], int], nodes: Callable[[int], object]
    ) -> bytes | None:
        """What was noted, as JSON; the functions say of a query what is not noted on the way."""
        if not self._notes:
            return None
        notes, self._notes = self._notes, {}
        refused, self.refused = self.refused, 0
        trees = self._due_trees(notes)
        reports = []
        for id, note in notes.items():
            one = {
                "query": id,
                "instant": note.instant,
                "instants": note.instants,
                "rows": note.rows,
                "last_rows": note.last_rows,
                "micros": note.micros,
                "last_micros": note.last_micros,
                "elements": elements(id),
                "late": note.member.progress.late,
                "state": state(id),
                "due": note.due[-MOST_DUE:],
                "refused_patterns": refused,
            }
            if id in trees and (tree := nodes(id)) is not None:
                one["nodes"] = tree
            reports.append(one)
        return json.dumps(reports, separators=(",", ":")).encode()

    def _due_trees(self, notes: dict[int, Note]) -> set[int]:
        """The queries whose plan trees are told now: few at once, and each in its turn."""
        now = time.monotonic()
        old = sorted((at, id) for id in notes if now - (at := self._trees.get(id, -TREE_SECONDS)) >= TREE_SECONDS)
        chosen = {id for _, id in old[:MOST_TREES]}
        self._trees = {id: at for id, at in self._trees.items() if now - at < REMEMBERED_SECONDS}
        self._trees |= dict.fromkeys(chosen, now)
        return chosen
