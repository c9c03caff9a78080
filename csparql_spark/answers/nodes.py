"""Nodes: the plan of a maintained answer as a tree, with what each of its parts gave and took the last time.

    description = tree(evaluation, operator, "SELECT …")
    # {"node": "filter", "does": "where ?n > 18", "rows": 12, "micros": 310, "parts": [{"node": "scan", …}]}

`micros` are with those of its parts. A scan, whose matches are kept, tells how many it keeps in how many bytes, and its
`join_order`: for a change in each of its patterns, that one and the others in the order in which they are joined to it.
Without an answer yet there are no rows and micros; where an answer was cut out of that of a wider window (see
`ordering`) the parts have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NotRequired, TypedDict

from csparql_spark.answers import algebra
from csparql_spark.answers.algebra import Operator
from csparql_spark.answers.computing import Expression
from csparql_spark.answers.operators import Evaluation
from csparql_spark.language.queries.describe import several

DENIED = "where there is none"
NAMES = {"leftjoin": "left join"}
_VARIABLE = re.compile(r"[?$](\w+)")
_MADE = re.compile(r"\?(?:after|before|key|node|set|step|verb)_[0-9]+")  # see `translation` and `steps`


class PlanNode(TypedDict):
    """A part of a plan, as JSON; its own parts come last."""

    node: str
    does: str
    rows: NotRequired[int]
    micros: NotRequired[int]
    kept: NotRequired[int]
    bytes: NotRequired[int]
    join_order: NotRequired[list[list[str]]]
    parts: NotRequired[list[PlanNode]]


def tree(evaluation: Evaluation, operator: Operator, body: str) -> PlanNode:
    return _tree(evaluation, operator, Shown(body))


def _kind(operator: Operator) -> str:
    """What an operator is called where users read of it."""
    return type(operator).__name__.removesuffix("By").removesuffix("Block").lower()


def _tree(evaluation: Evaluation, operator: Operator, shown: Shown) -> PlanNode:
    description: PlanNode = {"node": _kind(operator), "does": _does(operator, shown)}
    took = evaluation.took.get(id(operator))
    if took is not None:
        description["rows"], description["micros"] = took[0], took[1] // 1000
    if isinstance(operator, algebra.Scan):
        table = evaluation.scanned(operator).table
        description["kept"], description["bytes"] = table.rows, table.nbytes
        description["join_order"] = [
            [_text(operator.patterns[place], shown) for place in order] for order in table.orders()
        ]
    parts = [_tree(evaluation, part, shown) for part in algebra.parts_of(operator)]
    if parts:
        description["parts"] = parts
    return description


def join_orders(description: PlanNode) -> Iterator[list[list[str]]]:
    """The join orders of the scans of a tree that have more than one pattern."""
    orders = description.get("join_order", [])
    if len(orders) > 1:
        yield orders
    for part in description.get("parts", []):
        yield from join_orders(part)


def lines(description: PlanNode, depth: int = 0) -> Iterator[str]:
    """A tree as text."""
    node, does = description["node"], description["does"]
    numbers = f"   {several(description['rows'], 'row')}, {description['micros']} µs" if "rows" in description else ""
    yield f"{'  ' * depth}{NAMES.get(node, node)} {does}".rstrip() + numbers
    for part in description.get("parts", []):
        yield from lines(part, depth + 1)


def _does(operator: Operator, shown: Shown) -> str:
    match operator:
        case algebra.Scan():
            tests = f" where {_all(operator.tests, shown)}" if operator.tests else ""
            return " . ".join(_text(pattern, shown) for pattern in operator.patterns) + tests
        case algebra.Reach():
            least = "no step, one, or more" if operator.far else "no step, or one"
            return (
                f"from {shown(operator.start)} to {shown(operator.end)} along {operator.written}: "
                f"{least if operator.zero else 'one step, or more'}"
            )
        case algebra.GraphBlock():
            return f"<{operator.graph}>" + (f" as {operator.name}" if operator.name is not None else "")
        case algebra.Data():
            return f"{several(len(operator.rows), 'row')} of {' '.join(operator.names)}".removesuffix(" of ")
        case algebra.Filter():
            return f"where {_all(operator.tests, shown)}"
        case algebra.LeftJoin() if operator.tests:
            return f"where {_all(operator.tests, shown)}"
        case algebra.Exists():
            tests = f" with {_all(operator.tests, shown)}" if operator.tests else ""
            return (DENIED if operator.denied else "where there is one") + tests
        case algebra.Extend():
            return f"({shown.expression(operator.expression)} AS {shown(operator.name)})"
        case algebra.Project():
            return ("distinct " if operator.distinct else "") + " ".join(map(shown, operator.names))
        case algebra.GroupBy():
            made = ", ".join(one.written for one in operator.aggregates)
            keys = f"by {' '.join(map(shown, operator.keys))}" if operator.keys else "all"
            return f"{keys}: {made}" if made else keys
        case algebra.OrderBy():
            conditions = (
                f"DESC({shown.expression(one)})" if descending else shown.expression(one)
                for one, descending in operator.conditions
            )
            return f"by {', '.join(conditions)}".removesuffix("by ")
        case algebra.Slice():
            most = "all" if operator.limit is None else f"{several(operator.limit, 'row')} at most"
            return most + (f", after the first {operator.offset}" if operator.offset else "")
    return ""


class Shown:
    """How the variables of a plan are shown to who wrote the body: their own as they are, those that were made for it
    like blank nodes, which have no name in it either."""

    def __init__(self, body: str) -> None:
        self._own = {f"?{name}" for name in _VARIABLE.findall(body)}

    def __call__(self, name: str) -> str:
        return f"_:{name[1:]}" if _MADE.fullmatch(name) and name not in self._own else name

    def expression(self, expression: Expression) -> str:
        return expression.written or self(" ".join(expression.names))


def _all(tests: tuple[Expression, ...], shown: Shown) -> str:
    written = list(dict.fromkeys(_MADE.sub(lambda found: shown(found[0]), test.written) for test in tests))
    return " && ".join(f"({one})" if "||" in one and len(written) > 1 else one for one in written)


def _text(pattern: tuple[str, str, str], shown: Shown) -> str:
    return " ".join(map(shown, pattern))
