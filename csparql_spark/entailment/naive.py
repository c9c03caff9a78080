"""The naive twin: the closure of tagged facts under rules, written to be read, and believed.

A fact has a tag, the instant at which it stops holding. A derived fact holds as long as all its premises do, and
thanks to the derivation that holds longest: its tag is the maximum over its derivations of the minimum over the
premises of each. A rule with an empty body holds always.

    isin = Rule((Atom("?a", "<urn:isIn>", "?c"),), (Atom("?a", "<urn:isIn>", "?b"), Atom("?b", "<urn:isIn>", "?c")))
    facts = {("<urn:a>", "<urn:isIn>", "<urn:b>"): 11, ("<urn:b>", "<urn:isIn>", "<urn:c>"): 12}
    closure([isin], facts)[("<urn:a>", "<urn:isIn>", "<urn:c>")]                  # 11
    print(why([isin], facts, ("<urn:a>", "<urn:isIn>", "<urn:c>")))               # from which facts, by which rules

All the other evaluators are compared with this one. It applies every rule to everything, again and again, until nothing
becomes better: each round costs the number of ways to match the rules' bodies, and there are at most as many rounds as
the longest derivation has steps, times, at worst, the number of distinct tags. A thousand facts are fine; a million are
not. Rules that make terms without end (`addOne` in a cycle) have no closure, and then there is no answer either.

A head that would have a literal as subject, or anything but an IRI as predicate, is no triple, and is not produced.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, localcontext

from csparql_spark.language.rules import Atom, Guard, Rule, is_variable
from csparql_spark.rdf.terms import XSD, iri, literal, parse, valid_iri

Triple = tuple[str, str, str]
Binding = dict[str, str]

ALWAYS = 2**63 - 1          # the tag of what never expires
NEVER = float("-inf")       # the tag of what does not hold: less than every tag


@dataclass(frozen=True, slots=True)
class Derivation:
    """Why a triple holds until its tag: it was given (no rule), or a rule made it from its premises."""

    triple: Triple
    tag: int
    rule: Rule | None = None
    premises: tuple[Derivation, ...] = ()

    def __str__(self) -> str:
        """One line for each step, premises below what they prove; what was shown before is not shown again."""
        lines, shown, waiting = [], set(), [(self, 0)]
        while waiting:
            step, depth = waiting.pop()
            known = bool(step.premises) and step.triple in shown
            shown.add(step.triple)
            reason = "given" if step.rule is None else f"by {step.rule.name or step.rule}"
            until = "always" if step.tag == ALWAYS else f"until {step.tag}"
            lines.append(f"{'  ' * depth}{' '.join(step.triple)}  {until}, {reason}{', as above' if known else ''}")
            if not known:
                waiting.extend((premise, depth + 1) for premise in reversed(step.premises))
        return "\n".join(lines)


def closure(rules: Iterable[Rule], facts: Mapping[Triple, int]) -> dict[Triple, int]:
    """The facts and all that follows from them, each with its tag."""
    return _closed(rules, facts)[0]


def why(rules: Iterable[Rule], facts: Mapping[Triple, int], triple: Triple) -> Derivation | None:
    """A derivation that gives the triple its tag, or None when it does not hold.

    A step is noted when it improves a tag. Its premises end with a greater tag, or had the same tag in an earlier
    round: in that order what a step rests on comes before it, and no derivation leads back to itself.
    """
    closed, steps = _closed(rules, facts)
    if triple not in closed:
        return None
    needed, waiting = {triple}, [triple]
    while waiting:
        _, _, premises = steps.get(waiting.pop(), (0, None, ()))
        new = set(premises) - needed
        needed |= new
        waiting.extend(new)
    made: dict[Triple, Derivation] = {}
    for part in sorted(needed, key=lambda part: (-closed[part], steps[part][0] if part in steps else 0)):
        _, rule, premises = steps.get(part, (0, None, ()))
        made[part] = Derivation(part, closed[part], rule, tuple(made[premise] for premise in premises))
    return made[triple]


Step = tuple[int, Rule, tuple[Triple, ...]]          # the round, the rule and the premises that gave a triple its tag


def _closed(rules: Iterable[Rule], facts: Mapping[Triple, int]) -> tuple[dict[Triple, int], dict[Triple, Step]]:
    rules, closed, steps, round_ = tuple(rules), dict(facts), {}, 0
    while True:
        round_ += 1
        better: dict[Triple, int] = {}
        known = Lookup(closed)
        for rule in rules:
            for binding in matches(rule, known):
                premises = tuple(_filled(atom, binding, rule) for atom in rule.body)
                tag = min((closed[premise] for premise in premises), default=ALWAYS)
                for atom in rule.head:
                    triple = _filled(atom, binding, rule)
                    if is_triple(triple) and tag > max(closed.get(triple, NEVER), better.get(triple, NEVER)):
                        better[triple] = tag
                        steps[triple] = (round_, rule, premises)
        if not better:
            return closed, steps
        closed.update(better)


class Lookup:
    """Triples by the term in each of their three places."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.all = list(triples)
        self.places: dict[tuple[int, str], list[Triple]] = defaultdict(list)
        for triple in self.all:
            for place, term in enumerate(triple):
                self.places[place, term].append(triple)

    def candidates(self, pattern: Triple) -> Sequence[Triple]:
        """Triples that have the pattern's rarest term in its place: all that match the pattern are among them."""
        lists = [self.places.get((place, node), ()) for place, node in enumerate(pattern) if not is_variable(node)]
        return min(lists, key=len, default=self.all)

    def extended(self, atom: Atom, binding: Binding) -> Iterator[Binding]:
        """The binding, extended in each way that makes the atom one of the triples."""
        pattern = tuple(binding.get(node, node) for node in atom.nodes)
        for triple in self.candidates(pattern):
            new = dict(binding)
            if all(new.setdefault(node, term) == term if is_variable(node) else node == term
                   for node, term in zip(pattern, triple)):
                yield new


def matches(rule: Rule, known: Lookup) -> Iterator[Binding]:
    """All ways to match the rule's body: its atoms in some triples, and then its guards, in their order."""
    bindings: list[Binding] = [{}]
    for atom in rule.body:
        bindings = [new for binding in bindings for new in known.extended(atom, binding)]
    for binding in bindings:
        for guard in rule.guards:
            binding = passed(guard, binding)
            if binding is None:
                break
        else:
            yield binding


def is_triple(triple: Triple) -> bool:
    return not triple[0].startswith('"') and triple[1].startswith("<")


def _filled(atom: Atom, binding: Binding, rule: Rule) -> Triple:
    for node in atom.variables:
        if node not in binding:
            raise ValueError(f"The head of {rule} uses {node}, which its body does not bind: use it in the body too.")
    subject, predicate, object_ = (binding.get(node, node) for node in atom.nodes)
    return subject, predicate, object_


# Guards. A test says yes or no. A maker makes a term, or None where it has nothing to make; its last argument is that
# term: it is bound to it, or compared with it when it has a value already.

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


Number = int | Decimal | float
Moment = tuple[str, datetime]           # a date or a time, and which of them it is

# What xsd:integer is derived to: each datatype with the one it is derived from, and its least and greatest value.
INTEGERS: dict[str, tuple[str, int | None, int | None]] = {
    "integer": ("decimal", None, None),
    "long": ("integer", -2**63, 2**63 - 1), "int": ("long", -2**31, 2**31 - 1), "short": ("int", -2**15, 2**15 - 1),
    "byte": ("short", -2**7, 2**7 - 1),
    "nonPositiveInteger": ("integer", None, 0), "negativeInteger": ("nonPositiveInteger", None, -1),
    "nonNegativeInteger": ("integer", 0, None), "positiveInteger": ("nonNegativeInteger", 1, None),
    "unsignedLong": ("nonNegativeInteger", 0, 2**64 - 1), "unsignedInt": ("unsignedLong", 0, 2**32 - 1),
    "unsignedShort": ("unsignedInt", 0, 2**16 - 1), "unsignedByte": ("unsignedShort", 0, 2**8 - 1)}
_ZONE = r"(Z|[+-][0-9]{2}:[0-9]{2})?"
_DATE, _TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?"
_DECIMAL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_DOUBLE = rf"{_DECIMAL}([eE][+-]?[0-9]+)?|[+-]?INF|NaN"
_FORMS = {"decimal": _DECIMAL, "double": _DOUBLE, "float": _DOUBLE, "dateTime": f"{_DATE}T{_TIME}{_ZONE}",
          "date": _DATE + _ZONE, "time": _TIME + _ZONE, "boolean": "true|false|0|1",
          **dict.fromkeys(INTEGERS, "[+-]?[0-9]+")}


def _name(datatype: str | None) -> str:
    """The name of a datatype of XML Schema; nothing for others."""
    return datatype.removeprefix(XSD) if datatype is not None and datatype.startswith(XSD) else ""


def value(term: str) -> Number | Moment | None:
    """The number, or the date or time, that a literal stands for; None for all other terms."""
    kind, lexical, datatype, *_ = parse(term)
    name = _name(datatype)
    if kind != "literal" or name not in _FORMS or re.fullmatch(_FORMS[name], lexical) is None:
        return None
    try:
        if name in INTEGERS:
            _, least, greatest = INTEGERS[name]
            number = int(lexical)
            small, great = least is not None and number < least, greatest is not None and number > greatest
            return None if small or great else number
        if name == "decimal":
            return Decimal(lexical)
        if name in ("double", "float"):
            return float(lexical)
        if name == "dateTime":
            return name, datetime.fromisoformat(lexical)
        if name == "date":
            return name, datetime.fromisoformat(f"{lexical[:10]}T00:00:00{lexical[10:]}")
        if name == "time":
            return name, datetime.fromisoformat(f"1972-12-31T{lexical}")
    except ValueError:                     # a 13th month, or an integer of more digits than Python reads
        return None
    return None


def numbers(*terms: str) -> tuple[Number, ...] | None:
    """The numbers that the terms stand for, all integers, all decimals or all doubles; None if one is not a number."""
    found = [value(term) for term in terms]
    if not all(isinstance(number, Number) for number in found):
        return None
    widest = next(kind for kind in (float, Decimal, int) if any(isinstance(number, kind) for number in found))
    try:
        return tuple(widest(number) for number in found)
    except OverflowError:                  # an integer beyond the doubles
        return None


def order(x: str, y: str) -> int | None:
    """-1, 0 or 1 for two numbers, or two dates or times of one datatype; None for what has no order."""
    first, second = numbers(x, y) or (value(x), value(y))
    if first is None or second is None or isinstance(first, tuple) != isinstance(second, tuple):
        return None
    if isinstance(first, tuple) and first[0] != second[0]:
        return None
    try:
        return -1 if first < second else 1 if first > second else 0 if first == second else None
    except TypeError:                      # one moment has a time zone, the other has none
        return None


def _equal(x: str, y: str) -> bool:
    return x == y or order(x, y) == 0


def _dtype(term: str, datatype: str) -> bool:
    """Whether a literal is valid for a datatype: its own one, or one that this is derived from. Everything is valid for
    datatypes of which nothing is known here."""
    kind, lexical, own, *_ = parse(term)
    if kind != "literal":
        return False
    name = _name(own)
    if name in _FORMS and (re.fullmatch(_FORMS[name], lexical) is None or name != "boolean" and value(term) is None):
        return False
    if datatype == "<http://www.w3.org/2000/01/rdf-schema#Literal>":
        return True
    while datatype != iri(own) and name in INTEGERS:
        name = INTEGERS[name][0]
        own = XSD + name
    return datatype == iri(own)


def _regex(text: str, pattern: str) -> bool:
    if parse(text).kind != "literal":
        return False
    try:
        return re.fullmatch(parse(pattern).value, parse(text).value) is not None
    except re.error as error:
        raise ValueError(f"regex has the pattern {pattern}, which is no regular expression: {error}.") from error


TESTS: dict[str, Callable[..., bool]] = {
    "equal": _equal,                                        # the same term, number, date or time
    "notEqual": lambda x, y: not _equal(x, y),
    "lessThan": lambda x, y: order(x, y) == -1,
    "greaterThan": lambda x, y: order(x, y) == 1,
    "le": lambda x, y: order(x, y) in (-1, 0),
    "ge": lambda x, y: order(x, y) in (0, 1),
    "isLiteral": lambda x: x.startswith('"'),
    "notLiteral": lambda x: not x.startswith('"'),
    "isBNode": lambda x: x.startswith("_:"),
    "notBNode": lambda x: not x.startswith("_:"),
    "isDType": _dtype,                                      # valid for it; for rdfs:Literal, valid at all
    "notDType": lambda x, datatype: not _dtype(x, datatype),
    "regex": _regex,                                        # the whole lexical form matches
}


def term_of(number: Number) -> str | None:
    """The literal of a number: an xsd:integer, xsd:decimal or xsd:double."""
    if isinstance(number, int):
        return literal(str(number), XSD + "integer")
    if isinstance(number, Decimal):
        text = format(number, "f")
        return literal(text.rstrip("0").rstrip(".") if "." in text else text, XSD + "decimal")
    return literal({"inf": "INF", "-inf": "-INF", "nan": "NaN"}.get(repr(number), repr(number)), XSD + "double")


def _arithmetic(operation: Callable[..., Number]) -> Callable[..., str | None]:
    def made(*terms: str) -> str | None:
        found = numbers(*terms)
        if found is None:
            return None
        try:
            with localcontext(prec=40):
                return term_of(operation(*found))
        except (ArithmeticError, ValueError):      # a division by zero, or more digits than Python writes
            return None
    return made


def _quotient(x: Number, y: Number) -> Number:
    """Of integers, an integer, cut towards zero."""
    if not isinstance(x, int):
        return x / y
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _chosen(wanted: int) -> Callable[[str, str], str | None]:
    """The smaller (-1) or greater (1) of two; the first where they are equal."""
    def made(x: str, y: str) -> str | None:
        found = order(x, y)
        return None if found is None else x if found in (0, wanted) else y
    return made


def _text(*terms: str) -> str:
    return "".join(parse(term).value for term in terms)


def _uri(*terms: str) -> str | None:
    return iri(_text(*terms)) if valid_iri(_text(*terms)) else None


MAKERS: dict[str, Callable[..., str | None]] = {
    "sum": _arithmetic(lambda x, y: x + y),
    "difference": _arithmetic(lambda x, y: x - y),
    "product": _arithmetic(lambda x, y: x * y),
    "quotient": _arithmetic(_quotient),
    "addOne": _arithmetic(lambda x: x + 1),
    "min": _chosen(-1),
    "max": _chosen(1),
    "strConcat": lambda *terms: literal(_text(*terms)),
    "uriConcat": _uri,
}
