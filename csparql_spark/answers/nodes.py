"""Nodes: the plan of a maintained answer as a tree, with what each of its parts gave and took the last time.

    told = tree(evaluation, operator)
    # {"node": "filter", "does": "on ?n", "rows": 12, "micros": 310, "parts": [{"node": "scan", …}]}

`micros` are with those of its parts. A scan, whose matches are kept, tells how many it keeps in how many bytes, and its
`join_order`: for a change in each of its patterns, that one and the others in the order in which they are joined to it.
Without an answer yet there are no rows and micros; where an answer was cut out of that of a wider window (see
`ordering`) the parts have none.
"""

from __future__ import annotations

from collections.abc import Iterator

from csparql_spark.answers import algebra
from csparql_spark.answers.algebra import Operator
from csparql_spark.answers.operators import Evaluation

DENIED = "where there is none"


def tree(evaluation: Evaluation, operator: Operator) -> dict[str, object]:
    told: dict[str, object] = {"node": type(operator).__name__.lower(), "does": _does(operator)}
    took = evaluation.took.get(id(operator))
    if took is not None:
        told |= {"rows": took[0], "micros": took[1] // 1000}
    if isinstance(operator, algebra.Scan):
        table = evaluation.kept_for(operator)
        told |= {"kept": table.rows, "bytes": table.nbytes,
                 "join_order": [[_text(operator.patterns[place]) for place in order] for order in table.orders()]}
    parts = [tree(evaluation, part) for part in algebra.parts_of(operator)]
    return told | ({"parts": parts} if parts else {})


def join_orders(told: dict[str, object]) -> Iterator[list[list[str]]]:
    """The join orders of the scans of a tree that have more than one pattern."""
    if len(told.get("join_order", ())) > 1:
        yield told["join_order"]
    for part in told.get("parts", ()):
        yield from join_orders(part)


def lines(told: dict[str, object], depth: int = 0) -> Iterator[str]:
    """A tree as text."""
    numbers = f"   {told['rows']} rows, {told['micros']} µs" if "rows" in told else ""
    yield f"{'  ' * depth}{told['node']} {told['does']}".rstrip() + numbers
    for part in told.get("parts", ()):
        yield from lines(part, depth + 1)


def _does(operator: Operator) -> str:
    match operator:
        case algebra.Scan():
            tests = f" where it is so of {_names(operator.tests)}" if operator.tests else ""
            return " . ".join(map(_text, operator.patterns)) + tests
        case algebra.Reach():
            return f"from {operator.start} to {operator.end}" + (", any number of steps" if operator.far else "")
        case algebra.Data():
            return f"{len(operator.rows)} rows of {' '.join(operator.names)}"
        case algebra.Filter():
            return f"on {_names(operator.tests)}"
        case algebra.LeftJoin() if operator.tests:
            return f"where it is so of {_names(operator.tests)}"
        case algebra.Exists():
            return DENIED if operator.denied else "where there is one"
        case algebra.Extend():
            return f"{operator.name} of {' '.join(operator.expression.names)}".removesuffix(" of ")
        case algebra.Project():
            return ("distinct " if operator.distinct else "") + " ".join(operator.names)
        case algebra.Group():
            made = ", ".join(f"{one.function} as {one.name}" for one in operator.aggregates)
            return f"by {' '.join(operator.keys)}: {made}" if operator.keys else made
        case algebra.Order():
            return f"by {len(operator.conditions)} keys"
        case algebra.Slice():
            return f"from {operator.offset}" + ("" if operator.limit is None else f", {operator.limit} at most")
    return ""


def _names(tests: tuple) -> str:
    return " ".join(dict.fromkeys(name for test in tests for name in test.names))


def _text(pattern: tuple[str, str, str]) -> str:
    return " ".join(pattern)
