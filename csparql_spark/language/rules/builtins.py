"""The builtins of rules: what may be called in a body, and what is refused, with the reason.

A *test* holds or does not; all of its arguments must be bound. A *maker* binds its last argument to a new value; the
others must be bound. What makes no sense for its arguments (the sum of a name and a number) holds for nothing: that
match of the body is dropped, and nothing fails.

    BUILTINS["sum"].shape           ->  'sum(x, y, z)'
    BUILTINS["sum"].makes           ->  True: z is bound
    REFUSED["noValue"].reason       ->  'noValue asks for what is absent, and ...'
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Builtin:
    """One builtin. `literals` are the places where an IRI can never do, `iris` those where a literal cannot."""

    name: str
    parameters: tuple[str, ...]
    meaning: str
    makes: bool = False
    repeats: bool = False  # the parameter before the last may stand several times
    literals: tuple[int, ...] = ()
    iris: tuple[int, ...] = ()

    @property
    def shape(self) -> str:
        names = list(self.parameters)
        if self.repeats:
            names.insert(-1, "...")
        return f"{self.name}({', '.join(names)})"

    @property
    def arity(self) -> str:
        """How many arguments it takes, in words."""
        number = len(self.parameters)
        return f"{number} or more" if self.repeats else f"{number}"

    def takes(self, number: int) -> bool:
        return number >= len(self.parameters) if self.repeats else number == len(self.parameters)


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a builtin of Jena, or of the IMaRS prototype, is none here, and what to do instead."""

    reason: str
    hint: str | None = None


def _test(
    name: str, parameters: str, meaning: str, literals: tuple[int, ...] = (), iris: tuple[int, ...] = ()
) -> Builtin:
    return Builtin(name, tuple(parameters.split()), meaning, literals=literals, iris=iris)


def _maker(name: str, parameters: str, meaning: str, literals: tuple[int, ...] = ()) -> Builtin:
    return Builtin(name, tuple(parameters.split()), meaning, makes=True, literals=literals)


_ALL = (
    _test("equal", "x y", "x and y are the same term, or literals of the same value (1 and 1.0)."),
    _test("notEqual", "x y", "equal does not hold."),
    _test("lessThan", "x y", "x < y; both are numbers, or both are dates or times.", literals=(0, 1)),
    _test("greaterThan", "x y", "x > y; both are numbers, or both are dates or times.", literals=(0, 1)),
    _test("le", "x y", "x <= y; both are numbers, or both are dates or times.", literals=(0, 1)),
    _test("ge", "x y", "x >= y; both are numbers, or both are dates or times.", literals=(0, 1)),
    _test("isLiteral", "x", "x is a literal."),
    _test("notLiteral", "x", "x is an IRI or a blank node."),
    _test("isBNode", "x", "x is a blank node."),
    _test("notBNode", "x", "x is an IRI or a literal."),
    _test("isDType", "x type", "x is a literal that is valid for the datatype.", iris=(1,)),
    _test("notDType", "x type", "isDType does not hold.", iris=(1,)),
    _test("regex", "text pattern", "The pattern matches the whole lexical form of the text.", literals=(0, 1)),
    _maker("sum", "x y z", "z is x + y.", (0, 1)),
    _maker("difference", "x y z", "z is x - y.", (0, 1)),
    _maker("product", "x y z", "z is x * y.", (0, 1)),
    _maker("quotient", "x y z", "z is x / y; nothing if y is 0.", (0, 1)),
    _maker("min", "x y z", "z is the smaller one of two numbers.", (0, 1)),
    _maker("max", "x y z", "z is the greater one of two numbers.", (0, 1)),
    _maker("addOne", "x z", "z is x + 1.", (0,)),
    Builtin(
        "strConcat",
        ("x", "z"),
        "z is the string of all the others' lexical forms and IRIs in a row; nothing beyond 100,000 characters.",
        makes=True,
        repeats=True,
    ),
    Builtin(
        "uriConcat",
        ("x", "z"),
        "z is the IRI of all the others' lexical forms and IRIs in a row; nothing beyond 100,000 characters.",
        makes=True,
        repeats=True,
    ),
)
BUILTINS = {builtin.name: builtin for builtin in _ALL}

_NEW = "makes new resources, and rules here make none, so that they always come to an end"
_TAGS = "The engine keeps the expiration tag of each triple itself: leave the call out."
_LISTS = "Lists are not walked by rules: write rules over rdf:first and rdf:rest."
_MONOTONE = "a triple that was derived may not become wrong before it expires"

REFUSED = {
    "bound": Absence("In a forward rule all variables are bound, so this always holds.", "Leave it out."),
    "unbound": Absence("In a forward rule all variables are bound, so this never holds.", "Remove the rule."),
    "noValue": Absence(f"noValue asks for what is absent, and {_MONOTONE}.", "Ask in the query: FILTER NOT EXISTS."),
    "makeTemp": Absence(f"makeTemp {_NEW}.", "Name what you mean with uriConcat."),
    "makeInstance": Absence(f"makeInstance {_NEW}.", "Name what you mean with uriConcat."),
    "makeSkolem": Absence(f"makeSkolem {_NEW}.", "Name what you mean with uriConcat."),
    "now": Absence(
        f"now makes a rule depend on the clock, and {_MONOTONE}.", "Use a window, or compare timestamps in the query."
    ),
    "countLiteralValues": Absence(f"countLiteralValues counts, and {_MONOTONE}.", "Count in the query: COUNT(?x)."),
    "remove": Absence("remove takes triples away, and rules here only add them.", "Filter in the query."),
    "drop": Absence("drop takes triples away, and rules here only add them.", "Filter in the query."),
    "hide": Absence("hide takes triples out of answers, and rules here only add them.", "Filter in the query."),
    "print": Absence(
        "print does not say what follows from what, and rules do nothing else.",
        "Register a query that answers what you want to see.",
    ),
    "table": Absence("table is a directive and holds of nothing.", "Rules here always end: leave it out."),
    "tableAll": Absence("tableAll is a directive and holds of nothing.", "Rules here always end: leave it out."),
    "isFunctor": Absence("There are no functors here, so this never holds.", "Remove the rule."),
    "notFunctor": Absence("There are no functors here, so this always holds.", "Leave it out."),
    "assertDisjointPairs": Absence("assertDisjointPairs writes triples while a body is matched.", "Write a rule."),
    "GetVT": Absence("GetVT reads an expiration tag.", _TAGS),
    "SetVT": Absence("SetVT writes an expiration tag.", _TAGS),
    "DelVT": Absence("DelVT removes an expiration tag.", _TAGS),
    "GetDiffVT": Absence("GetDiffVT compares expiration tags.", _TAGS),
    **{
        name: Absence(f"{name} walks through a list.", _LISTS)
        for name in (
            "listContains",
            "listEntry",
            "listEqual",
            "listLength",
            "listMapAsObject",
            "listMapAsSubject",
            "listNotContains",
            "listNotEqual",
        )
    },
}
DIRECTIVES = ("table", "tableAll")

_SPELLINGS = {name.lower(): name for name in (*REFUSED, *BUILTINS)}
_SIGNS = {
    "eq": "equal",
    "ne": "notEqual",
    "lt": "lessThan",
    "gt": "greaterThan",
    "lte": "le",
    "gte": "ge",
    "add": "sum",
    "plus": "sum",
    "minus": "difference",
    "subtract": "difference",
    "times": "product",
    "multiply": "product",
    "divide": "quotient",
    "concat": "strConcat",
    "isuri": "notLiteral",
    "isiri": "notLiteral",
    "isblank": "isBNode",
    "matches": "regex",
    "greaterequal": "ge",
    "lessequal": "le",
    "greaterorequal": "ge",
    "lessorequal": "le",
}


def nearest(name: str) -> str | None:
    """The builtin that somebody meant by a name that is none."""
    lowered = name[:40].lower()
    if lowered in _SIGNS:
        return _SIGNS[lowered]
    close = get_close_matches(lowered, _SPELLINGS, n=1, cutoff=0.7)
    return _SPELLINGS[close[0]] if close else None
