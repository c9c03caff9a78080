"""View rows: what has come and gone in the rows of a maintained view, from one instant that it is asked at to the next.

    instants      1 ─────── 2 ─────── 3 ─────── 5
    steps             1→2       2→3       3→5           each is made once, for all who ask at that instant

A step costs what has changed. Who was told something at the instant that it is from (`since`) can be told what has
changed; all others have to compare wholes. So does everybody where nobody knows what has changed: at first, and after
what failed.

    rows = ViewRows(evaluator, widest)
    step = rows.step(instant)             # None: nobody knows
    step.since, step.rows                 # rows: how many there are now
    step.delta                            # of the answers; `step.change`: its bytes
    step.come, step.gone                  # answers, which say until when their rows hold

Invariant: `folded(whole at since, step.delta)` is the whole at the instant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from csparql_spark.answers import delta_bytes
from csparql_spark.answers.bindings import Result
from csparql_spark.answers.delta import Delta, delta_of
from csparql_spark.answers.incremental import Incremental, RowChanges
from csparql_spark.answers.over_ids import Plan
from csparql_spark.answers.tables import Table
from csparql_spark.windows.rule import ends_of


def by_rows(plan: Plan) -> bool:
    """Whether the answers of a plan can be compared as bags of ids."""
    return plan.form == "SELECT" and not plan.ordered and bool(plan.variables)


@dataclass(eq=False)
class RowStep:
    """From one instant to another."""

    since: int
    instant: int
    rows: int
    changes: RowChanges
    evaluator: Incremental
    widest: int | None

    @cached_property
    def _answers(self) -> list[Result]:
        """What has come, and what has gone, with their terms in common: so the two are soon compared."""
        rows = (self.changes.come, self.changes.gone)
        timed = [Table(some.columns, some.length, until_of(some.tag, self.widest)) for some in rows]
        return self.evaluator.answers_of(*timed)

    @property
    def come(self) -> Result:
        return self._answers[0]

    @property
    def gone(self) -> Result:
        return self._answers[1]

    @cached_property
    def delta(self) -> Delta:
        return delta_of(self.gone, self.come)

    @cached_property
    def change(self) -> bytes:
        return delta_bytes.to_bytes(self.delta)

    @property
    def least(self) -> int:
        """So many rows have changed at least: one that has come and one that has gone may be one that stays."""
        return max(self.changes.come.length, self.changes.gone.length)

    @property
    def empty(self) -> bool:
        return not self.changes.come.length and not self.changes.gone.length


class ViewRows:
    def __init__(self, evaluator: Incremental, widest: int | None) -> None:
        """`widest`: the RANGE by which tags are instants; None if nobody knows until when rows hold."""
        self._evaluator, self._widest = evaluator, widest
        self._at: int | None = None  # the instant at which it was asked last
        self._step: RowStep | None = None  # to there

    @property
    def nbytes(self) -> int:
        """What is held of the last step, besides what the evaluator holds."""
        changes = None if self._step is None else self._step.changes
        return 0 if changes is None else changes.come.nbytes + changes.gone.nbytes

    def forget(self) -> None:
        """Nobody asks what has changed any more: what is held for that goes, until somebody does."""
        if self._at is not None:
            self._at = self._step = None
            self._evaluator.forget_changes()

    def step(self, instant: int) -> RowStep | None:
        """From the instant at which this was asked last; the evaluator has moved there. `TooManyRows`, `TooMuch` as for
        a whole."""
        if self._at != instant:
            since, self._at, self._step = self._at, None, None  # unknown, should the next step fail
            changes = self._evaluator.changed()
            self._at = instant
            if changes is not None and since is not None:
                length = self._evaluator.length
                self._step = RowStep(since, instant, length, changes, self._evaluator, self._widest)
        return self._step


def answer_of(evaluator: Incremental, widest: int | None) -> Result:
    """The whole answer of an evaluator, saying until when its rows hold."""
    answer = evaluator.answer()
    return answer.holding(until_of(evaluator.until(), widest))


def until_of(tags: np.ndarray | None, widest: int | None) -> np.ndarray | None:
    """The instants up to which tags hold, in a window so wide."""
    return None if tags is None or widest is None else ends_of(tags, widest)
