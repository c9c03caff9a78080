"""The builtins of rules, for one combination of arguments: what `language.rules.builtins` says that they mean.

A test says yes or no. A maker makes a term, or None where it has nothing to make; its last argument is that term: it is
bound to it, or compared with it when it has a value already.

    TESTS["lessThan"]('"9"^^<…integer>', '"10"^^<…integer>')       # True
    MAKERS["strConcat"]('"a"', "<urn:b>")                          # '"aurn:b"'
    passed(Guard("addOne", ("?x", "?y")), {"?x": '"1"^^<…integer>'})   # {"?x": …, "?y": '"2"^^<…integer>'}
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext

from csparql_spark.entailment.evaluate.literal_values import NumericValue, is_valid, numbers, order, term_of
from csparql_spark.entailment.evaluate.patterns import matches
from csparql_spark.language.rules.bounds import LONGEST_MADE
from csparql_spark.language.rules.rule import Guard, is_variable
from csparql_spark.rdf.terms import iri, literal, parse, valid_iri

Binding = dict[str, str]


def _equal(x: str, y: str) -> bool:
    return x == y or order(x, y) == 0


TESTS: dict[str, Callable[..., bool]] = {
    "equal": _equal,  # the same term, number, date or time
    "notEqual": lambda x, y: not _equal(x, y),
    "lessThan": lambda x, y: order(x, y) == -1,
    "greaterThan": lambda x, y: order(x, y) == 1,
    "le": lambda x, y: order(x, y) in (-1, 0),
    "ge": lambda x, y: order(x, y) in (0, 1),
    "isLiteral": lambda x: x.startswith('"'),
    "notLiteral": lambda x: not x.startswith('"'),
    "isBNode": lambda x: x.startswith("_:"),
    "notBNode": lambda x: not x.startswith("_:"),
    "isDType": is_valid,  # valid for it; for rdfs:Literal, valid at all
    "notDType": lambda x, datatype: not is_valid(x, datatype),
    "regex": matches,  # the whole lexical form matches
}


def _arithmetic(operation: Callable[..., NumericValue]) -> Callable[..., str | None]:
    def made(*terms: str) -> str | None:
        found = numbers(*terms)
        if found is None:
            return None
        try:
            with localcontext(prec=40):
                return term_of(operation(*found))
        except (ArithmeticError, ValueError):  # a division by zero, or more digits than Python writes
            return None

    return made


def _quotient(x: NumericValue, y: NumericValue) -> NumericValue:
    """Of two of one kind; of integers, an integer, cut towards zero."""
    if isinstance(x, Decimal) and isinstance(y, Decimal):
        return x / y
    if not isinstance(x, int) or not isinstance(y, int):
        return float(x) / float(y)
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _chosen(wanted: int) -> Callable[[str, str], str | None]:
    """The smaller (-1) or greater (1) of two; the first where they are equal."""

    def made(x: str, y: str) -> str | None:
        found = order(x, y)
        return None if found is None else x if found in (0, wanted) else y

    return made


def _joined(*terms: str) -> str | None:
    """The lexical forms in a row; None where that would be too long. Rules that end may double a text forty times."""
    texts = [parse(term).value for term in terms]
    return "".join(texts) if sum(map(len, texts)) <= LONGEST_MADE else None


def _string(*terms: str) -> str | None:
    text = _joined(*terms)
    return None if text is None else literal(text)


def _uri(*terms: str) -> str | None:
    text = _joined(*terms)
    return iri(text) if text is not None and valid_iri(text) else None


MAKERS: dict[str, Callable[..., str | None]] = {
    "sum": _arithmetic(lambda x, y: x + y),
    "difference": _arithmetic(lambda x, y: x - y),
    "product": _arithmetic(lambda x, y: x * y),
    "quotient": _arithmetic(_quotient),
    "addOne": _arithmetic(lambda x: x + 1),
    "min": _chosen(-1),
    "max": _chosen(1),
    "strConcat": _string,
    "uriConcat": _uri,
}


def passed(guard: Guard, binding: Binding) -> Binding | None:
    """The binding after the guard, which may bind one variable more, or None when the guard does not hold."""
    nodes = [binding.get(node, node) for node in guard.arguments]
    given = nodes[:-1] if guard.name in MAKERS else nodes
    for node in given:
        if is_variable(node):
            raise ValueError(f"{guard} uses {node} before it is bound: bind it in an atom, or in a guard before this.")
    if guard.name in TESTS:
        return binding if TESTS[guard.name](*given) else None
    if guard.name not in MAKERS:
        raise ValueError(f"There is no builtin {guard.name}. Known are {', '.join(sorted([*TESTS, *MAKERS]))}.")
    made = MAKERS[guard.name](*given)
    if made is None:
        return None
    return {**binding, nodes[-1]: made} if is_variable(nodes[-1]) else binding if nodes[-1] == made else None
