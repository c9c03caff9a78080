"""Expressions of a body, written again over ids (see `over_ids`).

An expression is written in one of two ways:

    value      what Oxigraph computes with     ?t + 1         <f:term>(?t) + 1
    as_id      what is bound, grouped, or      ?t + 1         <f:id>( <f:term>(?t) + 1 )
               given to functions of ours      COALESCE(?t, 0)   COALESCE( COALESCE(?t) , <i:7> )

What only chooses among terms (a variable, a constant, IF, COALESCE, most aggregates) never becomes a value on its way
to an id, so it keeps the form in which the term was sent.

Equality is Oxigraph's but for one thing: a date with a time zone and one without, closer than zones are apart, are
neither equal nor different (see `zones`), where Oxigraph says that they are different. Where both sides may be points
in time, and nowhere else, `=` and its kin are written with a function of ours:

    ?d != ?e                  ( <f:term>(?d) != <f:term>(?e) && isIRI( <f:comparable>( COALESCE(?d) , COALESCE(?e) ) ) )
    ?d IN (?e, ?d + ?n)       <f:among>( … )               what is computed is not computed twice

Chance (RAND, UUID, BNODE …) is a function of the instant, the place in the text, and the row: `row` says which
variables make a row what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from csparql_spark.answers.functions import AGGREGATE, FUNCTION, NONE
from csparql_spark.answers.patterns import Constant, Piece, Reading
from csparql_spark.answers.zones import DATATYPES as TIMES
from csparql_spark.language.queries.syntax import Node as Tree
from csparql_spark.language.queries.timestamps import FUNCTION as TIMESTAMP
from csparql_spark.language.tokens import Token
from csparql_spark.rdf.terms import XSD, parse

CASTS = frozenset(
    XSD + name
    for name in (
        "boolean",
        "double",
        "float",
        "decimal",
        "integer",
        "dateTime",
        "string",
        "date",
        "time",
        "duration",
        "dayTimeDuration",
        "yearMonthDuration",
        "gYear",
        "gYearMonth",
        "gMonth",
        "gMonthDay",
        "gDay",
        "byte",
        "short",
        "int",
        "long",
        "unsignedByte",
        "unsignedShort",
        "unsignedInt",
        "unsignedLong",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
        "negativeInteger",
    )
)
_VOLATILE = {"NOW": "now", "RAND": "rand", "UUID": "uuid", "STRUUID": "struuid", "BNODE": "bnode"}
_CONSTANTS = ("Iri", "Literal", "Number", "Boolean")


class Unsupported(Exception):
    """The query is well formed, and there is no way to answer it here. The text says which part, and what there is."""


class Expressions:
    """The expressions of one body. `volatile` and `stamps` say what was met in those that were written."""

    def __init__(self, reading: Reading, group: Callable[[Tree], list[Piece]]) -> None:
        """`group` writes the pattern of an EXISTS."""
        self._reading, self._group = reading, group
        self._rows: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        self._calls = 0
        self.volatile = self.stamps = False

    @contextmanager
    def row(self, names: Iterable[str], inside: Iterable[str] | None = None) -> Iterator[None]:
        """For what is written meanwhile: the variables of a row; and those of the rows that an aggregate takes."""
        names = tuple(names)
        self._rows.append((names, names if inside is None else tuple(inside)))
        yield
        self._rows.pop()

    def constraint(self, constraint: Tree) -> list[Piece]:
        """What FILTER and HAVING test, in brackets."""
        return ["(", *self.value(constraint.nodes()[0]), ")"]

    def as_id(self, expression: Tree) -> list[Piece]:
        """The id of what an expression says."""
        core = _core(expression)
        if (variable := variable_of(core)) is not None:
            return [f"COALESCE({variable})"]
        if core.rule in _CONSTANTS:
            return [Constant(self._reading.constant(core))]
        if core.rule == "Set" and core.tokens()[0].key != "COUNT":
            return self._aggregate(core)
        if core.rule == "BuiltIn" and isinstance(core.children[0], Token):
            match core.children[0].key:
                case "COALESCE" if given := core.nodes()[0].nodes("Expression"):
                    return ["COALESCE(", *_listed(self.as_id(part) for part in given), ")"]
                case "IF":
                    test, *given = core.nodes("Expression")
                    return ["IF(", *_listed([self.value(test), *map(self.as_id, given)]), ")"]
        return [f"{FUNCTION}id>(", *self.value(core), ")"]

    def order(self, expression: Tree) -> list[Piece]:
        """What a row is ordered by."""
        return [f"{FUNCTION}order>(", *self.as_id(expression), ")"]

    def value(self, node: Tree) -> list[Piece]:
        """What an expression says, as a term that Oxigraph computes with."""
        match node.rule:
            case "BuiltIn":
                return self._built_in(node)
            case "Relation" if node.token("=", "!=", "IN") is not None and self._compares_times(node):
                return self._equality(node)
            case "Set":
                counts = node.tokens()[0].key == "COUNT"
                return self._aggregate(node) if counts else [f"{FUNCTION}term>(", *self._aggregate(node), ")"]
            case "FunctionCall" | "IriOrFunction" if node.node("Arguments") is not None:
                return self._call(node)
            case "Iri" | "Literal":
                return [self._reading.constant(node)]
            case "Primary" if (variable := node.token("VAR")) is not None:
                return [f"{FUNCTION}term>({variable.text})"]
        return self._plain(node)

    def _plain(self, node: Tree) -> list[Piece]:
        """A node as it stands there, its parts written over ids."""
        pieces: list[Piece] = []
        for child in node.children:
            pieces += [child.text] if isinstance(child, Token) else self.value(child)
        return pieces

    # --- equality of points in time

    def _compares_times(self, relation: Tree) -> bool:
        first, *others = _operands(relation)
        return self._may_be_time(first) and any(map(self._may_be_time, others))

    def _may_be_time(self, expression: Tree) -> bool:
        """Whether an expression may say a point in time, as far as its text tells."""
        core = _core(expression)
        if variable_of(core) is not None:
            return True
        if core.rule == "Literal" or core.rule == "IriOrFunction" and core.node("Arguments") is None:
            return parse(self._reading.constant(core)).datatype in TIMES
        if core.rule in ("FunctionCall", "IriOrFunction"):
            return self._reading.constant(core.child("Iri"))[1:-1] in TIMES
        if core.rule == "Set":
            return core.tokens()[0].key in ("MIN", "MAX", "SAMPLE")
        if core.rule == "BuiltIn":
            key = next(core.all_tokens()).key
            if key == "IF":
                return any(map(self._may_be_time, core.nodes("Expression")[1:]))
            if key == "COALESCE":
                return any(map(self._may_be_time, core.child("ExpressionList").nodes("Expression")))
            return key in ("NOW", "STRDT")
        return core.rule == "Sum" and any(map(self._may_be_time, core.nodes()))

    def _is_term(self, expression: Tree) -> bool:
        """Whether an expression is a variable or a constant: it costs nothing to look at it twice."""
        return variable_of(expression) is not None or _core(expression).rule in _CONSTANTS

    def _equality(self, relation: Tree) -> list[Piece]:
        first, *others = _operands(relation)
        denied = relation.token("!=", "NOT") is not None
        times = [other for other in others if self._may_be_time(other)]
        if all(map(self._is_term, (first, *times))):
            guard = ["isIRI(", f"{FUNCTION}comparable>(", *_listed(map(self.as_id, (first, *times))), ")", ")"]
            return ["(", *self._plain(relation), *(["&&"] if denied else ["||", "!"]), *guard, ")"]
        # One of several that is in error does not keep the others from being equal.
        given = [
            self.as_id(other) if len(others) == 1 else ["COALESCE(", *self.as_id(other), ",", f"<{NONE}>", ")"]
            for other in others
        ]
        return [*(["!"] if denied else []), f"{FUNCTION}among>(", *_listed([self.as_id(first), *given]), ")"]

    # --- functions

    def _built_in(self, node: Tree) -> list[Piece]:
        first = node.children[0]
        key = first.key if isinstance(first, Token) else next(node.all_tokens()).key
        expressions = node.nodes("Expression")
        if key in ("EXISTS", "NOT"):
            return ["NOT EXISTS" if key == "NOT" else "EXISTS", *self._group(node.child("Group"))]
        if key == "BOUND":
            return [f"BOUND({node.leaf('VAR').text})"]
        if key in ("STR", "DATATYPE"):
            return [f"{FUNCTION}{key.lower()}>(", *self.as_id(expressions[0]), ")"]
        if key == "SAMETERM":
            return ["sameTerm(", *_listed(map(self.as_id, expressions)), ")"]
        if key in _VOLATILE:
            return self._volatile_call(_VOLATILE[key], expressions)
        name, *rest = node.children
        pieces = [name.text] if isinstance(name, Token) else self.value(name)
        for child in rest:
            pieces += [child.text] if isinstance(child, Token) else self.value(child)
        if len(pieces) > 1 and pieces[1] in ("(", "()"):
            pieces[:2] = [pieces[0] + pieces[1]]  # a name and its bracket touch
        return pieces

    def _volatile_call(self, name: str, expressions: list[Tree]) -> list[Piece]:
        self.volatile = True
        if name == "now":
            return [f"{FUNCTION}now>()"]
        self._calls += 1
        place = 0 if expressions else self._calls  # BNODE("x") is the same in a row, wherever it stands
        names, _ = self._rows[-1]
        return [
            f"{FUNCTION}{name}>(",
            *_listed(
                [[str(place)], *map(self.value, expressions), *([f"COALESCE(?{name}, <i:none>)"] for name in names)]
            ),
            ")",
        ]

    def _call(self, node: Tree) -> list[Piece]:
        name, given = self._reading.constant(node.child("Iri")), node.child("Arguments").nodes("Expression")
        if name == f"<{TIMESTAMP}>":
            self.stamps = True
            return [f"{FUNCTION}timestamp>(", *_listed(map(self.as_id, given)), ")"]
        if name[1:-1] in CASTS:
            return [f"{name}(", *_listed(map(self.value, given)), ")"]
        raise Unsupported(
            f"the function {name} is not known: what can be called are SPARQL 1.1's functions, "
            "casts to XSD datatypes, and f:timestamp"
        )

    def _aggregate(self, node: Tree) -> list[Piece]:
        """An aggregate: a number for COUNT, an id for the others."""
        key, expression = node.tokens()[0].key, node.node("Expression")
        distinct = node.token("DISTINCT") is not None
        _, inside = self._rows[-1]
        with self.row(inside):
            counted: list[Piece] = ["*"] if expression is None else self.as_id(expression)
        if expression is None and distinct:  # a blank node of a pattern does not make a row another one
            counted = [f"{FUNCTION}row>(", *_listed([f"COALESCE(?{name}, <i:none>)"] for name in inside), ")"]
        name = f"{key.lower()}{'-distinct' if distinct else ''}"
        if key == "COUNT" and expression is not None and variable_of(expression) is None:
            # What is in error is not counted, and Oxigraph gives up counting.
            return [f"{FUNCTION}term>(", f"{AGGREGATE}{name}>(", "COALESCE(", *counted, ", <i:none>)", ")", ")"]
        if key == "COUNT":
            return ["COUNT(", *(["DISTINCT"] if distinct else []), *counted, ")"]
        if (separator := node.token("STRING")) is not None:
            name += f":{separator.text.encode().hex()}"
        return [f"{AGGREGATE}{name}>(", *counted, ")"]


def variable_of(expression: Tree) -> str | None:
    """The variable that an expression is, if it is nothing else but brackets."""
    tokens = list(expression.all_tokens())
    variables = [token for token in tokens if token.key == "VAR"]
    if len(variables) == 1 and all(token.key in ("(", ")", "VAR") for token in tokens):
        return variables[0].text
    return None


def _core(expression: Tree) -> Tree:
    """The expression without the brackets around it, and without the rules that say nothing."""
    node = expression
    while (
        len(inner := node.nodes()) == 1
        and node.rule not in ("Literal", "Set")
        and (not node.tokens() or node.rule in ("Bracketed", "GroupCondition", "OrderCondition"))
    ):
        node = inner[0]
    return node


def _operands(relation: Tree) -> list[Tree]:
    """What `=`, `!=`, IN or NOT IN compares, and with what."""
    first, second = relation.nodes()
    return [first, *(second.nodes("Expression") if second.rule == "ExpressionList" else [second])]


def _listed(parts: Iterable[list[Piece]]) -> list[Piece]:
    """The parts with commas between them."""
    return [piece for part in parts for piece in (",", *part)][1:]
