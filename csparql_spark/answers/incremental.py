"""The incremental evaluator: answers that cost what changed, over a moving graph that queries share.

It says what the snapshot evaluator says, row by row and byte by byte (see `snapshot`), for the bodies that it takes
(`why_not` tells which it does not). The matches of basic graph patterns move with the graph; what is made from them is
made at each answer, by columns. An answer of a body in which nothing depends on what is *not* there also says until
when each of its rows holds.

    facts  = Expiration(dictionary, rules)                # moved by whoever owns it: expire, then insert
    shared = Shared(facts.moving, content)                # one for all queries over these facts
    query  = Incremental(plan, body, shared)
    query.move(after=instant - range_)                    # after the facts have moved to the instant
    query.answer(limit=1_000_000)
    query.until()                                         # of each row: its tag; it holds until its tag is not later
                                                          # than `after`
    query.answers_of(query.rows().take(some))                  # some of the rows only, as an answer
    query.changed()                                            # which rows have come and gone since it was asked last

A dataset may have named graphs besides, each over a moving graph of its own: a GRAPH block is asked of each by itself.

    Incremental(plan, body, shared, named={"urn:w": NamedGraph(of_window, offset)})     # what it is tagged there is so
                                                          # much later than the query has it

`Shared` holds ids: whoever has them renumbered tells it, after the facts (`terms`, `renumber`). It and the queries go
on with the ids' new meaning. `TooManyMatches` says that a query needs more room than there is; it can still be answered
by the snapshot evaluator, which looks no further than the limit of an answer. `TooMuch` says that it needs more than it
may have (see `limits`).
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from csparql_spark.answers.algebra import NotMaintainable
from csparql_spark.answers.bindings import Bindings, Result
from csparql_spark.answers.computing import Computing
from csparql_spark.answers.construct import instantiated
from csparql_spark.answers.deadline import Deadline
from csparql_spark.answers.few_rows import few_in_order, is_few
from csparql_spark.answers.graph_scan import GraphScan
from csparql_spark.answers.limits import Limits, TooManyRows, TooMuch
from csparql_spark.answers.maintained.body import MaintainedBody
from csparql_spark.answers.maintained.row_changes import RowChanges
from csparql_spark.answers.matches import Matches, MatchTables, TooManyMatches
from csparql_spark.answers.nodes import PlanNode, tree
from csparql_spark.answers.operators import Evaluation, GraphTables
from csparql_spark.answers.ordering import Ordered, Ordering, in_order, longest_first
from csparql_spark.answers.over_ids import Plan
from csparql_spark.answers.ranks import Ranks
from csparql_spark.answers.tables import Table
from csparql_spark.answers.translation import translated, why_not
from csparql_spark.relations.moving import Moving
from csparql_spark.windows.content import Content

__all__ = [
    "Incremental",
    "NamedGraph",
    "NotMaintainable",
    "RowChanges",
    "Shared",
    "TooManyMatches",
    "TooManyRows",
    "TooMuch",
    "why_not",
]


class Shared:
    """What queries over one moving graph have in common: the matches of their patterns, and what was computed."""

    def __init__(self, moving: Moving, content: Content, computing: Computing | None = None) -> None:
        """`computing` may be shared among all graphs of a content."""
        self.content = content
        self.tables = MatchTables(moving, content.dictionary)
        self.computing = Computing(content) if computing is None else computing
        self._orderings: weakref.WeakValueDictionary[object, Ordering] = weakref.WeakValueDictionary()

    def ordering(self, plan: Plan, body: str, named: Mapping[str, NamedGraph]) -> Ordering:
        """That of all who ask the same of the same graphs."""
        key = plan, body, tuple(named.items())
        ordering = self._orderings.get(key)
        if ordering is None:
            ordering = self._orderings[key] = Ordering()
        return ordering

    def terms(self) -> np.ndarray:
        """The ids that are held here, and not in the graph alone."""
        return self.tables.terms()

    def renumber(self, table: np.ndarray) -> None:
        self.tables.renumber(table)


class NamedGraph(NamedTuple):
    """A graph that has a name, and by how much its tags are later than those of the query."""

    shared: Shared
    offset: int = 0


class Incremental:
    """A plan over a moving graph, and over those that have names. Raises `NotMaintainable` for a body that is not for
    it."""

    def __init__(
        self,
        plan: Plan,
        body: str,
        shared: Shared,
        limits: Limits | None = None,
        named: Mapping[str, NamedGraph] | None = None,
    ) -> None:
        named = {} if named is None else named
        self.plan = plan
        self.limits = Limits() if limits is None else limits
        self.version = 0  # grows when what is seen may have changed
        self._body, self._operator = body, translated(plan, body, tuple(named))
        self._shared = shared
        graphs: dict[str | None, GraphTables] = {
            name: GraphTables(graph.shared.tables, graph.offset) for name, graph in named.items()
        }
        graphs[None] = GraphTables(shared.tables)
        self._evaluation = Evaluation(graphs, shared.computing, self._operator)
        self._maintained = MaintainedBody(self._evaluation, self._operator)
        self._ranks = Ranks(shared.content.dictionary)
        self._ordering = shared.ordering(plan, body, named)
        self._ordering.join(self)
        self._after = 0
        self._versions: tuple[int, ...] = ()
        self._generation = shared.content.dictionary.generation
        self._marks: tuple[tuple[int, int], ...] | None = None
        self._until: np.ndarray | None = None

    def move(self, *, after: int) -> None:
        """See what holds later than `after`, in the graphs as they are now."""
        before, self._marks = self._marks, None  # unknown, should the next step fail
        now = self._evaluation.move(after)
        self._after = after
        if now != before:
            self._versions = tuple([version for version, _ in now])
            self.version += 1
        self._marks = now

    @property
    def matches(self) -> list[Matches | GraphScan]:
        """The tables that answers are made of."""
        return self._evaluation.matches

    def nodes(self) -> PlanNode:
        """The plan as a tree (see `nodes`), with what its parts took for the last answer."""
        return tree(self._evaluation, self._operator, self._body)

    @property
    def state_bytes(self) -> int:
        """What is held for the plan, also where others have a part in it."""
        return self._evaluation.nbytes + self._ranks.nbytes + self._ordering.nbytes + self._maintained.nbytes

    def answer(self, *, limit: int | None = None) -> Result:
        """What the plan says of what is seen; `TooManyRows` if that is more than `limit` rows or triples (the plan's
        limit, if nothing else is said), `TooMuch` if it takes too long."""
        limits = self.limits if limit is None else replace(self.limits, rows=limit)
        deadline = Deadline(limits)
        self._meant()
        plan, self._until = self.plan, None
        if plan.form == "ASK":
            rows = self._evaluation.answer(self._operator, deadline)
            if rows.tag is not None and rows.length:
                self._until = rows.tag.max(keepdims=True)
            return Result.boolean(rows.length > 0)
        table = self._cut(limits)
        if table is None:
            table = self._table(self._solutions(limits, deadline))
        if plan.form == "SELECT":
            return Result.from_table(table)
        self._until = None
        lines = instantiated(plan, table)
        limits.check_rows(len(lines), "triples")
        return Result.graph("".join(lines))

    def rows(self) -> Table:
        """What a SELECT says of what is seen, as ids: a column for each variable. `TooManyRows`, `TooMuch` as above."""
        self._meant()
        rows = self._solutions(self.limits, Deadline(self.limits))
        return rows.project([f"?{name}" for name in self.plan.variables])

    def changed(self) -> RowChanges | None:
        """Which of the `rows` have come and which have gone since this was asked last, as bags; a row with another tag
        has gone and come. None: that is not known, and has to be found out by comparing wholes. So it is at first,
        after ids have changed their meaning and after what failed, and always for ASK, CONSTRUCT and ORDER BY.
        `TooManyRows`, `TooMuch` as for the whole."""
        plan = self.plan
        if plan.form != "SELECT" or plan.ordered or not plan.variables:
            return None
        self._meant()
        found = self._maintained.changed(self.version, Deadline(self.limits))
        if found is None:
            return None
        names = [f"?{name}" for name in plan.variables]
        return RowChanges(found.come.project(names), found.gone.project(names))

    def forget_changes(self) -> None:
        """Nobody asks what has changed any more: what is held for that goes, until somebody does."""
        self._maintained.restart()

    @property
    def length(self) -> int:
        """How many rows there were when `changed` was asked last."""
        return self._maintained.length

    def answers_of(self, *tables: Table) -> list[Result]:
        """Each of some tables of such rows, as answers with their terms in common."""
        names = [f"?{name}" for name in self.plan.variables]
        columns = [np.concatenate([rows.column(name) for rows in tables]) for name in names]
        terms, ranks = self._ranks.alone(columns)
        answers, start = [], 0
        for rows in tables:
            mine, tag = in_order([column[start : start + rows.length] for column in ranks], rows.tag)
            table = Bindings.from_ids(self.plan.variables, terms, mine, rows.length, in_order=True)
            answers.append(Result.from_table(table).holding(tag))
            start += rows.length
        return answers

    def until(self) -> np.ndarray | None:
        """The tags of the rows of the last answer; None where one cannot tell by tags how long a row holds. A true ASK
        has the tag of the solution that holds longest."""
        return self._until

    def _cut(self, limits: Limits) -> Bindings | None:
        """The rows, cut out of those that somebody with a wider window has put in order."""
        begun = time.perf_counter_ns()
        found = self._ordering.later(self._versions, self._after)
        if found is None:
            return None
        length = len(found.tag)
        limits.check_rows(length)
        self._evaluation.took = {id(self._operator): (length, time.perf_counter_ns() - begun)}
        self._until = found.tag
        return Bindings.from_ids(self.plan.variables, found.terms, found.ranks, length, in_order=True)

    def _meant(self) -> None:
        """See whether ids mean other terms now."""
        if self._generation != self._shared.content.dictionary.generation:
            self._generation = self._shared.content.dictionary.generation
            self._ranks.restart()
            self._evaluation.restart()
            self._maintained.restart()

    def _solutions(self, limits: Limits, deadline: Deadline) -> Table:
        rows = self._evaluation.answer(self._operator, deadline)
        limits.check_rows(rows.length)
        deadline.check()
        return rows

    def _table(self, rows: Table) -> Bindings:
        plan = self.plan
        if not plan.ordered and not self._ordering.shared and is_few(rows, plan.variables):
            table, self._until = few_in_order(self._shared.content.dictionary, plan.variables, rows)
            return table
        terms, ranks = self._ranks.of([rows.column(f"?{name}") for name in plan.variables])
        if not plan.ordered and ranks:
            ranks, self._until = in_order(ranks, rows.tag)
        else:
            self._until = None if rows.tag is None else longest_first(ranks, rows.tag)
        if ranks and self._until is not None:
            self._ordering.hold(Ordered(self._versions, self._after, terms, ranks, self._until))
        return Bindings.from_ids(plan.variables, terms, ranks, rows.length, in_order=True)
