"""Operators: the algebra of a body, evaluated over the matches that are kept, all rows at once.

What basic graph patterns match is there already; the rest is made from it at each instant. As long as nothing on the
way depends on what is *not* there, tables know how long each of their rows holds.

    evaluation = Evaluation({None: GraphTables(tables)}, computing, operator)
    evaluation.move(after)                       # follow the graph; see what holds later than `after`
    evaluation.answer(operator, Deadline(limits))

No operator is begun after the deadline, and none makes more than `tables` lets it, which it knows before: so an answer
is not much longer on its way than it may be.

Each graph has tables of its own, by its IRI, the default graph by None. Where the tags of a graph are of other windows,
they are brought to the query's time when they are looked at: a named window whose RANGE is shorter by its *offset* sees
what the query's widest would see of elements that are older by that (see `windows.rule`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from csparql_spark.answers import algebra
from csparql_spark.answers.algebra import Operator
from csparql_spark.answers.computing import Columns, Computing, Expression, Test
from csparql_spark.answers.deadline import Deadline
from csparql_spark.answers.graph_scan import GraphScan
from csparql_spark.answers.grouping import Grouping
from csparql_spark.answers.limits import Limits
from csparql_spark.answers.matches import Matches, MatchTables, renamed
from csparql_spark.answers.order import order_text
from csparql_spark.answers.paths import Paths, reached
from csparql_spark.answers.patterns import is_variable
from csparql_spark.answers.ranks import ranks_by
from csparql_spark.answers.tables import (
    UNBOUND,
    Table,
    compatible,
    distinct,
    joined,
    latest_of,
    left_joined,
    merged,
    minus,
    united,
)
from csparql_spark.relations.tags import ALWAYS, UNTIL

Links = tuple[np.ndarray, np.ndarray, np.ndarray]  # where steps lead from, where to, and until when


class GraphTables(NamedTuple):
    """The matches in one graph, and by how much its tags are later than the query's."""

    tables: MatchTables
    offset: int = 0


class ScannedTable(NamedTuple):
    """The matches of a scan, the names of its variables there, and by how much the tags are later than the query's."""

    table: Matches | GraphScan
    names: dict[str, str]
    offset: int


class Evaluation:
    def __init__(self, graphs: Mapping[str | None, GraphTables], computing: Computing, operator: Operator) -> None:
        self._dictionary, self._computing = graphs[None].tables.dictionary, computing
        self.grouping = Grouping(computing, self._dictionary)
        self.after = 0
        self.seen = 0  # matches
        self.deadline = Deadline(Limits())
        self.took: dict[int, tuple[int, int]] = {}  # of each operator, by its id(): rows and ns of the last time
        self._paths: dict[algebra.Reach, Paths] = {}
        self._scans: dict[algebra.Scan, ScannedTable] = {}
        for part in algebra.all_of(operator):
            if isinstance(part, algebra.Scan) and part not in self._scans:
                patterns, names = renamed(part.patterns) if not part.tests else (part.patterns, {})
                tests = tuple(Test(computing, test) for test in part.tests)
                tables, offset = graphs[part.graph]
                self._scans[part] = ScannedTable(tables.table(patterns, tests), names, offset)
        self._scanned = list(self._scans.values())

    @property
    def matches(self) -> list[Matches | GraphScan]:
        return [scanned.table for scanned in self._scanned]

    def scanned(self, scan: algebra.Scan) -> ScannedTable:
        return self._scans[scan]

    @property
    def nbytes(self) -> int:
        return sum(table.nbytes for table in self.matches) + sum(paths.nbytes for paths in self._paths.values())

    def restart(self) -> None:
        """Ids mean other terms now."""
        for paths in self._paths.values():
            paths.restart()

    def move(self, after: int) -> tuple[tuple[int, int], ...]:
        """See what holds later than `after`. Two moves that return the same see the same."""
        self.after = after
        for table, _, _ in self._scanned:
            table.move()
        found = tuple([(table.version, table.count(after + offset)) for table, _, offset in self._scanned])
        self.seen = sum([count for _, count in found])
        return found

    def answer(self, operator: Operator, deadline: Deadline) -> Table:
        """The solutions of a body; `TooMuch` if they are not there in time."""
        self.deadline = deadline
        return self.table(operator)

    def table(self, operator: Operator) -> Table:
        self.deadline.check()
        begun = time.perf_counter_ns()
        made = self.applied(operator, [self.table(part) for part in algebra.parts_of(operator)])
        self.took[id(operator)] = made.length, time.perf_counter_ns() - begun
        return made

    def applied(self, operator: Operator, parts: Sequence[Table]) -> Table:
        """What an operator makes of the solutions of its parts."""
        match operator:
            case algebra.Unit():
                return Table.unit()
            case algebra.Scan():
                return self._scan(operator)
            case algebra.Reach():
                return self._reach(operator, *parts)
            case algebra.GraphBlock():
                return self._graph_block(operator, *parts)
            case algebra.Data():
                return self._data(operator)
            case algebra.Join():
                return joined(*parts)
            case algebra.Union():
                return united(parts)
            case algebra.LeftJoin():
                left, right = parts
                tests = operator.tests
                return left_joined(left, right, (lambda rows: self._passing(rows, tests)) if tests else None)
            case algebra.Minus():
                return minus(*parts)
            case algebra.Exists():
                return self._existing(operator, *parts)
            case algebra.GroupBy():
                return self.grouping.grouped(parts[0], operator.keys, operator.aggregates)
        return self._of_rows(operator, parts[0])

    def _of_rows(self, operator: Operator, rows: Table) -> Table:
        match operator:
            case algebra.Filter():
                return rows.take(self._passing(rows, operator.tests))
            case algebra.Extend():
                return rows.extend(operator.name, self.computed(operator.expression, rows.columns, rows.length))
            case algebra.Project():
                rows = rows.project(operator.names)
                return distinct(rows) if operator.distinct else rows
            case algebra.OrderBy():
                return self._ordered(operator, rows)
            case algebra.Slice():
                end = None if operator.limit is None else operator.offset + operator.limit
                return rows.untagged().take(slice(operator.offset, end))
        raise TypeError(f"no operator: {operator}")

    def _scan(self, scan: algebra.Scan) -> Table:
        table, names, offset = self._scans[scan]
        columns, tag = table.visible(self.after + offset, [names.get(name, name) for name in scan.shown])
        if offset:
            tag = np.where(tag == ALWAYS, ALWAYS, tag - offset)
        return Table.of({name: columns[names.get(name, name)] for name in scan.shown}, tag)

    def _graph_block(self, block: algebra.GraphBlock, rows: Table) -> Table:
        if block.name is None:
            return rows
        graph = np.full(rows.length, self._dictionary.encode([f"<{block.graph}>"])[0])
        if block.name not in rows.columns:
            return rows.extend(block.name, graph)
        return joined(rows, Table.of({block.name: graph[:1]}, np.full(1, ALWAYS))) if rows.length else rows

    def _reach(self, reach: algebra.Reach, steps: Table, nodes: Table | None = None) -> Table:
        assert steps.tag is not None  # steps are what is there: matches, and what is projected from them
        (start, end), tag = steps.columns.values(), steps.tag
        first, last = (
            None if is_variable(node) else int(self._dictionary.encode([node])[0]) for node in (reach.start, reach.end)
        )
        if first is not None:
            return self._reached(reach, (start, end, tag), first, last)
        if last is not None:  # it is walked back
            return self._reached(reach, (end, start, tag), last, None)
        if reach.far:
            paths = self._paths.setdefault(reach, Paths())
            paths.move(start, end, tag, self.after, self.deadline)
            start, end, tag = paths.pairs()
        names = reach.names
        if len(names) == 1:
            alike = start == end
            start, tag = start[alike], tag[alike]
        found = Table.of(dict(zip(names, (start, end))), tag)
        if nodes is None:
            return found
        (itself,) = nodes.columns.values()
        return distinct(united([found, Table(dict.fromkeys(names, itself), nodes.length, nodes.tag)]))

    def _reached(self, reach: algebra.Reach, steps: Links, node: int, other: int | None) -> Table:
        """What a path says that begins at a constant, and may have one at its other end, too."""
        start, end, tag = steps
        if reach.far:
            nodes, until = reached(start, end, tag, node, self.deadline)
        else:
            leads = start == node
            nodes, until = end[leads], tag[leads]
        if reach.zero:
            alone = nodes != node
            nodes, until = np.append(nodes[alone], node), np.append(until[alone], ALWAYS)
        if other is not None:
            there = nodes == other
            return Table.of({}, until[there])
        return Table.of({reach.names[0]: nodes}, until)

    def _data(self, data: algebra.Data) -> Table:
        columns = {}
        for place, name in enumerate(data.names):
            terms = [row[place] for row in data.rows]
            ids = self._dictionary.encode([term for term in terms if term is not None])
            columns[name] = np.full(len(terms), UNBOUND)
            columns[name][[term is not None for term in terms]] = ids
        return Table.of(columns, np.full(len(data.rows), ALWAYS))

    def _passing(self, rows: Table, tests: tuple[Expression, ...]) -> np.ndarray:
        return reduce(np.logical_and, (self._computing.test(test, rows.columns, rows.length) for test in tests))

    def computed(self, expression: Expression, columns: Columns, length: int) -> np.ndarray:
        """The ids of what an expression says in each of the rows."""
        return self._computing.term(expression, columns, length)

    def _existing(self, operator: algebra.Exists, rows: Table, found: Table) -> Table:
        wanted = set(rows.columns).union(*(test.names for test in operator.tests))
        found = distinct(found.project([name for name in found.columns if name in wanted]))
        mine, theirs = compatible(rows, found)
        if operator.tests and len(mine):
            passing = self._passing(merged(rows, found, (mine, theirs)), operator.tests)
            mine, theirs = mine[passing], theirs[passing]
        there = np.zeros(rows.length, dtype=bool)
        there[mine] = True
        if operator.denied:
            return rows.untagged().take(~there)
        if rows.tag is not None and found.tag is not None:
            latest = latest_of(mine, found.tag[theirs], rows.length)
            rows = Table(rows.columns, rows.length, UNTIL.join(rows.tag, latest))
        else:
            rows = rows.untagged()
        return rows.take(there)

    def _ordered(self, operator: algebra.OrderBy, rows: Table) -> Table:
        keys = []
        for expression, descending in operator.conditions:
            ranks = ranks_by(order_text, self._dictionary, self.computed(expression, rows.columns, rows.length))
            keys.append(-ranks if descending else ranks)
        keys += [ranks_by(None, self._dictionary, rows.column(name)) for name in operator.ties]
        return rows.take(np.lexsort(keys[::-1])) if keys else rows
