"""The algebra of a body, as far as it is answered incrementally: what is matched, and what becomes of the matches.

    read("SELECT ?s { ?s <urn:p> ?n OPTIONAL { ?s <urn:q> ?m } FILTER(?n > 1) }").pattern
    # LeftJoin(Scan((('?s', '<urn:p>', '?n'),), tests=(?n > 1,)), Scan((('?s', '<urn:q>', '?m'),)), ())

It is SPARQL's algebra, bottom-up: a group is the join of its parts, its filters hold for the whole of it, and a filter
of an OPTIONAL group belongs to the left join. A filter that looks only at what one basic graph pattern binds is moved
into it. What has no place here is `NotMaintainable`, with the reason.

What stands in a GRAPH block is asked of one named graph after the other: its scans say of which (`asked_of`), those of
the default graph of none. The graph's name is joined to what it says by itself (see `graph_blocks`).

Variables are written with their `?`; those that a user cannot name have other names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from csparql_spark.answers.computing import Expression
from csparql_spark.answers.matches import parted
from csparql_spark.answers.patterns import Node as Name
from csparql_spark.answers.patterns import Pattern, is_variable


class NotMaintainable(Exception):
    """The body is answered by the snapshot evaluator; the text says why."""


@dataclass(frozen=True)
class Unit:
    """One solution, in which nothing is bound."""


@dataclass(frozen=True)
class Scan:
    """The matches of a basic graph pattern whose triples hang together. `shown`: the variables that others look at;
    `graph`: the IRI of the named graph that it looks into."""

    patterns: tuple[Pattern, ...]
    shown: tuple[str, ...]
    tests: tuple[Expression, ...] = ()
    graph: str | None = None

    @property
    def names(self) -> frozenset[str]:
        return frozenset(node for triple in self.patterns for node in triple if is_variable(node))


@dataclass(frozen=True)
class Reach:
    """The pairs of nodes that a path leads from and to, each once: along one of the `steps`, or, `far`, along any
    number of them. `zero`: from each of the `nodes` to itself too; where an end is a constant, from that."""

    steps: Operator  # its first two columns
    nodes: Operator | None  # its first column
    start: Name
    end: Name
    zero: bool
    far: bool
    written: str = field(default="", compare=False)  # the path, as the user has it

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(node for node in (self.start, self.end) if is_variable(node)))


@dataclass(frozen=True)
class GraphBlock:
    """What one named graph says, whose IRI is then joined to each solution as `name`, unless the text has the IRI."""

    graph: str
    inner: Operator
    name: str | None


@dataclass(frozen=True)
class Data:
    names: tuple[str, ...]
    rows: tuple[tuple[Name | None, ...], ...]


@dataclass(frozen=True)
class Join:
    left: Operator
    right: Operator


@dataclass(frozen=True)
class Union:
    parts: tuple[Operator, ...]


@dataclass(frozen=True)
class LeftJoin:
    left: Operator
    right: Operator
    tests: tuple[Expression, ...]


@dataclass(frozen=True)
class Minus:
    left: Operator
    right: Operator


@dataclass(frozen=True)
class Filter:
    inner: Operator
    tests: tuple[Expression, ...]


@dataclass(frozen=True)
class Exists:
    """The solutions of `inner` to which there is one of `pattern`, or, `denied`, none."""

    inner: Operator
    pattern: Operator
    tests: tuple[Expression, ...]
    denied: bool


@dataclass(frozen=True)
class Extend:
    inner: Operator
    name: str
    expression: Expression


@dataclass(frozen=True)
class Project:
    """Some of the variables; `distinct`: each solution once."""

    inner: Operator
    names: tuple[str, ...]
    distinct: bool = False


@dataclass(frozen=True)
class Aggregate:
    """`function` is a name of `aggregates.AGGREGATES`, or "count"; without an expression, rows are counted."""

    name: str
    function: str
    expression: Expression | None
    distinct: bool
    separator: str = " "
    written: str = field(default="", compare=False)


@dataclass(frozen=True)
class GroupBy:
    """One solution for each distinct combination of the keys."""

    inner: Operator
    keys: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True)
class OrderBy:
    """The solutions by these expressions (True: descending), then by the terms of all the `ties`."""

    inner: Operator
    conditions: tuple[tuple[Expression, bool], ...]
    ties: tuple[str, ...]


@dataclass(frozen=True)
class Slice:
    inner: Operator
    offset: int
    limit: int | None


Operator = (
    Unit
    | Scan
    | Reach
    | GraphBlock
    | Data
    | Join
    | Union
    | LeftJoin
    | Minus
    | Filter
    | Exists
    | Extend
    | Project
    | GroupBy
    | OrderBy
    | Slice
)


def scans(patterns: Iterable[Pattern], shown: Iterable[str]) -> Operator:
    """The matches of a basic graph pattern: of each part of it that hangs together."""
    shown = set(shown)
    made: Operator = Unit()
    for part in parted(list(patterns)):
        names = dict.fromkeys(node for triple in part for node in triple if is_variable(node))
        made = join(made, Scan(part, tuple(name for name in names if name in shown)))
    return made


def join(left: Operator, right: Operator) -> Operator:
    if isinstance(left, Unit):
        return right
    return left if isinstance(right, Unit) else Join(left, right)


def filtered(inner: Operator, tests: Iterable[Expression]) -> Operator:
    """The solutions that pass all tests, each test as far inside as it means the same."""
    left: list[Expression] = []
    for test in tests:
        moved = _inside(inner, test)
        if moved is None:
            left.append(test)
        else:
            inner = moved
    return Filter(inner, tuple(left)) if left else inner


def _inside(inner: Operator, test: Expression) -> Operator | None:
    """The pattern with a test moved into one of its scans, if there is one that binds all its variables."""
    match inner:
        case Scan():
            if test.names and set(test.names) <= inner.names:
                return replace(inner, tests=tuple(dict.fromkeys([*inner.tests, test])))
        case Join():
            for side in ("left", "right"):
                if (moved := _inside(getattr(inner, side), test)) is not None:
                    return replace(inner, **{side: moved})
        case LeftJoin() | Minus():
            if (moved := _inside(inner.left, test)) is not None:
                return replace(inner, left=moved)
        case Extend() | Exists() | Filter() | GraphBlock():
            if (moved := _inside(inner.inner, test)) is not None:
                return replace(inner, inner=moved)
        case Union():
            parts = [part for one in inner.parts if (part := _inside(one, test)) is not None]
            if len(parts) == len(inner.parts):
                return Union(tuple(parts))
    return None


def asked_of(operator: Operator, graph: str) -> Operator:
    """An operator that looks into a named graph, where it looked into the default graph."""
    match operator:
        case Scan():
            return replace(operator, graph=graph) if operator.graph is None else operator
        case Join() | LeftJoin() | Minus():
            return replace(operator, left=asked_of(operator.left, graph), right=asked_of(operator.right, graph))
        case Union():
            return Union(tuple(asked_of(part, graph) for part in operator.parts))
        case Reach():
            nodes = None if operator.nodes is None else asked_of(operator.nodes, graph)
            return replace(operator, steps=asked_of(operator.steps, graph), nodes=nodes)
        case Exists():
            return replace(operator, inner=asked_of(operator.inner, graph), pattern=asked_of(operator.pattern, graph))
        case Unit() | Data():
            return operator
    return replace(operator, inner=asked_of(operator.inner, graph))


def parts_of(operator: Operator) -> tuple[Operator, ...]:
    """The operators right below one."""
    match operator:
        case Join() | LeftJoin() | Minus():
            return operator.left, operator.right
        case Union():
            return operator.parts
        case Reach():
            return (operator.steps,) if operator.nodes is None else (operator.steps, operator.nodes)
        case Exists():
            return operator.inner, operator.pattern
        case Filter() | Extend() | Project() | GroupBy() | OrderBy() | Slice() | GraphBlock():
            return (operator.inner,)
    return ()


def all_of(operator: Operator) -> Iterable[Operator]:
    """An operator and all that are below it."""
    yield operator
    for part in parts_of(operator):
        yield from all_of(part)


def bound(operator: Operator) -> frozenset[str]:
    """The variables that are bound in all solutions, as far as one can tell without the data."""
    match operator:
        case Scan():
            return frozenset(operator.shown)
        case Reach():
            return frozenset(operator.names)
        case Data():
            return frozenset(
                name
                for place, name in enumerate(operator.names)
                if all(row[place] is not None for row in operator.rows)
            )
        case Join():
            return bound(operator.left) | bound(operator.right)
        case Union():
            return frozenset.intersection(*map(bound, operator.parts))
        case LeftJoin() | Minus():
            return bound(operator.left)
        case Project():
            return bound(operator.inner) & frozenset(operator.names)
        case Filter() | Exists() | Extend() | OrderBy() | Slice():
            return bound(operator.inner)
        case GraphBlock():
            return bound(operator.inner) | ({operator.name} if operator.name is not None else frozenset())
    return frozenset()


def named(operator: Operator) -> frozenset[str]:
    """The variables that may be bound in solutions."""
    match operator:
        case Scan():
            return frozenset(operator.shown)
        case Data() | Reach():
            return frozenset(operator.names)
        case Project():
            return frozenset(operator.names)
        case GroupBy():
            return frozenset((*operator.keys, *(found.name for found in operator.aggregates)))
        case Minus() | Exists():
            return named(parts_of(operator)[0])
        case Extend():
            return named(operator.inner) | {operator.name}
        case GraphBlock():
            return named(operator.inner) | ({operator.name} if operator.name is not None else frozenset())
    return frozenset().union(*map(named, parts_of(operator)))
