"""The functions of ours that a body over ids calls (see `over_ids`).

    term(?v)            the term of an id                 str(?v), datatype(?v)   its lexical form and datatype, as sent
    id(expression)      the id of a term                  key(?v)                 the term as text
    order(?v)           the place of a term in the order of all terms, as text (see `order`)
    comparable(?v ?w …) the first; or an error, where a zone is missing between it and another (see `zones`)
    among(?v ?w …)      whether the first has the value of one of the others, which is IN, with its errors
    row(?v ...)         the ids of several terms, as one text
    timestamp(?s ?p ?o) when the triple came, in ms       now()                   the instant, as xsd:dateTime
    rand, uuid, struuid, bnode(place ?v ...)              chosen by the instant, the place in the text and the row

A term that the graph does not hold gets an id of its own above `COMPUTED`, which means it until the next `begin`.
Everything here is a function of the data and of the instant: a body says the same whenever it is asked again.

    functions = Functions(dictionary)
    functions.begin(instant=5_000, stamps=None)
    functions.solutions(store, text)        # of a SELECT, as lines of ids
    functions.decode(ids)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone

import numpy as np
import pyoxigraph as ox

from csparql_spark.answers import confinement
from csparql_spark.answers.aggregates import AGGREGATES
from csparql_spark.answers.order import order_text
from csparql_spark.answers.zones import TimePoint, are_comparable, point
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.rdf.terms import RDF_DIR_LANG_STRING, XSD, TermError, parse, to_oxigraph

FUNCTION, AGGREGATE = "<f:", "<a:"
COMPUTED = 1 << 40
NONE = "i:none"  # stands where there is no id

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_INTEGER, _DATETIME, _DOUBLE = (ox.NamedNode(XSD + name) for name in ("integer", "dateTime", "double"))
_TRUE, _FALSE = ox.Literal(True), ox.Literal(False)
_NOTHING = ox.Store()
_FIRST, _SECOND = ox.Variable("first"), ox.Variable("second")
_EQUAL = "SELECT ?first ?second ?equal { BIND(?first = ?second AS ?equal) }"

Term = ox.NamedNode | ox.BlankNode | ox.Literal
Function = Callable[..., Term | ox.Triple | None]
Stamps = Callable[[int, int, int], int | None]


class Functions:
    def __init__(self, dictionary: TermDictionary) -> None:
        self._dictionary = dictionary
        self._known: dict[str, Term] = {}  # what ids mean
        self._points: dict[str, TimePoint | None] = {}  # and at which point in time they are
        self._computed: list[str] = []
        self._places: dict[str, int] = {}  # where each term is among them
        self._instant = 0
        self._stamps: Stamps | None = None
        self.is_full = False  # whether there was no memory for a function
        self.custom: dict[ox.NamedNode, Function] = {
            ox.NamedNode(f"f:{name}"): function
            for name, function in (
                ("term", self._term),
                ("id", self._id),
                ("str", self._str),
                ("datatype", self._datatype),
                ("key", self._key),
                ("order", self._order),
                ("row", self._row),
                ("timestamp", self._timestamp),
                ("comparable", self._comparable),
                ("among", self._among),
                ("now", self._now),
                ("rand", self._rand),
                ("uuid", self._uuid),
                ("struuid", self._struuid),
                ("bnode", self._bnode),
            )
        }

    def begin(self, *, instant: int, stamps: Stamps | None = None) -> None:
        """Prepare for the next evaluation: at this instant, and with this way to find when a triple came."""
        self._instant, self._stamps = instant, stamps
        for place in range(len(self._computed)):
            self._known.pop(f"i:{COMPUTED + place}", None)
            self._points.pop(f"i:{COMPUTED + place}", None)
        self._computed.clear()
        self._places.clear()

    @property
    def computed(self) -> list[str]:
        """The terms that got ids here, in the order of these."""
        return self._computed

    @computed.setter
    def computed(self, terms: list[str]) -> None:
        self._computed[:] = terms
        self._places = {term: place for place, term in enumerate(terms)}

    def aggregates(self, names: Iterable[str]) -> dict[ox.NamedNode, Callable[[], ox.AggregateFunctionAccumulator]]:
        """The aggregates of a body, by the names that it calls them by."""
        return {ox.NamedNode(f"a:{name}"): self._accumulators(name) for name in names}

    def solutions(self, store: ox.Store, text: str, aggregates: Iterable[str] = ()) -> bytes:
        """What a SELECT that calls the functions, and these aggregates, says of a store: tab-separated values."""
        # What a function raises is to Oxigraph an error of its expression, which leaves a variable unbound. That there
        # is no memory must not be an answer. Where there is no limit nobody is slowed down.
        self.is_full = False
        custom = self.custom
        if confinement.limited:
            custom = {name: self._noting(function) for name, function in custom.items()}
        found = store.query(text, custom_functions=custom, custom_aggregate_functions=self.aggregates(aggregates))
        if not isinstance(found, ox.QuerySolutions):
            raise TypeError(f"not a SELECT: {text[:200]}")
        rows = found.serialize(format=ox.QueryResultsFormat.TSV) or b""
        if self.is_full:
            raise MemoryError
        return rows

    def _noting(self, function: Function) -> Function:
        """The function, which notes that there was no memory for it."""

        def noting(*arguments: Term) -> Term | ox.Triple | None:
            try:
                return function(*arguments)
            except MemoryError:
                self.is_full = True
                raise

        return noting

    def decode(self, ids: np.ndarray) -> list[str]:
        """The terms of ids, of the graph and computed."""
        ids = np.asarray(ids)
        if not len(ids) or int(ids.max()) < COMPUTED:
            return self._dictionary.decode(ids)
        known = self._dictionary.decode(ids[ids < COMPUTED])
        computed = [self._computed[place] for place in (ids[ids >= COMPUTED] - COMPUTED).tolist()]
        terms = np.empty(len(ids), dtype=object)
        terms[ids < COMPUTED] = known
        terms[ids >= COMPUTED] = computed
        return terms.tolist()

    # --- ids and terms

    def text(self, node: ox.NamedNode) -> str:
        """The term of an id, in N-Triples syntax."""
        return self.decode(np.array([int(node.value[2:])]))[0]

    def id_of(self, term: str) -> ox.NamedNode:
        """The id of a term in N-Triples syntax."""
        found = self._dictionary.find(term)
        if found is None:
            place = self._places.setdefault(term, len(self._computed))
            if place == len(self._computed):
                self._computed.append(term)
            found = COMPUTED + place
        return ox.NamedNode(f"i:{found}")

    def _term(self, node: ox.NamedNode) -> Term | None:
        term = self._known.get(node.value)
        if term is None:
            try:
                term = self._known[node.value] = to_oxigraph(self.text(node))
            except TermError:  # a term that RDF allows and Oxigraph has no value for is an error in expressions
                return None
        return term

    def _id(self, term: Term) -> ox.NamedNode | None:
        return None if isinstance(term, ox.Triple) else self.id_of(str(term))

    def _str(self, node: ox.NamedNode) -> Term | None:
        kind, value, *_ = parse(self.text(node))
        return None if kind == "blank" else ox.Literal(value)

    def _datatype(self, node: ox.NamedNode) -> Term | None:
        datatype = parse(self.text(node)).datatype
        return None if datatype is None or datatype == RDF_DIR_LANG_STRING else ox.NamedNode(datatype)

    def _key(self, node: ox.NamedNode) -> ox.Literal:
        return ox.Literal(self.text(node))

    @staticmethod
    def _row(*cells: ox.NamedNode) -> ox.Literal:
        return ox.Literal(" ".join(cell.value for cell in cells))

    def _order(self, node: ox.NamedNode) -> ox.Literal:
        return ox.Literal(order_text(self.text(node)))

    # --- what has the same value

    def _point(self, node: ox.NamedNode) -> TimePoint | None:
        name = node.value
        try:
            return self._points[name]
        except KeyError:
            found = self._points[name] = point(self.text(node))
            return found

    def _comparable(self, node: ox.NamedNode, *others: ox.NamedNode) -> ox.NamedNode | None:
        one = self._point(node)
        if one is not None:  # with what is no point in time, zones have nothing to do
            for other in others:
                if not are_comparable(one, self._point(other)):
                    return None
        return node  # a truth value would take Oxigraph a microsecond to read

    def _among(self, node: ox.NamedNode, *others: ox.NamedNode) -> ox.Literal | None:
        found: ox.Literal | None = _FALSE
        for other in others:
            equal = None if other.value == NONE else self._equal(node, other)
            if equal is None:
                found = None
            elif equal:
                return _TRUE
        return found

    def _equal(self, node: ox.NamedNode, other: ox.NamedNode) -> bool | None:
        """Whether the terms of two ids have the same value; None if that cannot be said."""
        first, second = self._term(node), self._term(other)
        if first is None or second is None or not are_comparable(self._point(node), self._point(other)):
            return None
        # What type a query's answer has is in its text, which mypy does not read: this one has rows.
        (row,) = _NOTHING.query(_EQUAL, substitutions={_FIRST: first, _SECOND: second})  # type: ignore[misc]
        return None if row["equal"] is None else row["equal"] == _TRUE

    # --- time and chance

    def _timestamp(self, s: ox.NamedNode, p: ox.NamedNode, o: ox.NamedNode) -> ox.Literal | None:
        stamp = None if self._stamps is None else self._stamps(*(int(node.value[2:]) for node in (s, p, o)))
        return None if stamp is None else ox.Literal(str(stamp), datatype=_INTEGER)

    def _now(self) -> ox.Literal:
        return ox.Literal(datetime_of(self._instant), datatype=_DATETIME)

    def _digest(self, *parts: Term) -> bytes:
        pieces = [str(self._instant)]
        for part in parts:
            if isinstance(part, ox.NamedNode) and part.value.startswith("i:") and part.value[2:].isdigit():
                pieces.append(self.text(part))
            else:
                pieces.append(str(part))
        return hashlib.sha256("\0".join(pieces).encode()).digest()

    def _rand(self, *row: Term) -> ox.Literal:
        return ox.Literal(repr(int.from_bytes(self._digest(*row)[:6], "big") / (1 << 48)), datatype=_DOUBLE)

    def _struuid(self, *row: Term) -> ox.Literal:
        digits = bytearray(self._digest(*row)[:16])
        digits[6], digits[8] = digits[6] & 0x0F | 0x40, digits[8] & 0x3F | 0x80
        text = digits.hex()
        return ox.Literal("-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:])))

    def _uuid(self, *row: Term) -> ox.NamedNode:
        return ox.NamedNode(f"urn:uuid:{self._struuid(*row).value}")

    def _bnode(self, *row: Term) -> ox.BlankNode:
        return ox.BlankNode(f"c{self._digest(*row).hex()[:24]}")

    # --- aggregates

    def _accumulators(self, name: str) -> Callable[[], ox.AggregateFunctionAccumulator]:
        name, _, separator = name.partition(":")
        key, _, distinct = name.partition("-")
        between = parse(bytes.fromhex(separator).decode()).value if separator else " "
        # It takes ids alone, and not any term: a body over ids gives it nothing else.
        return lambda: Accumulator(self, key, bool(distinct), between)  # type: ignore[return-value]


class Accumulator:
    """One group's values, until all of them are there."""

    def __init__(self, functions: Functions, key: str, distinct: bool, separator: str) -> None:
        self._functions, self._key, self._distinct, self._separator = functions, key, distinct, separator
        self._counts: dict[str, int] = {}

    def accumulate(self, node: ox.NamedNode) -> None:
        if node.value != NONE:
            self._counts[node.value] = self._counts.get(node.value, 0) + 1

    def finish(self) -> ox.NamedNode | None:
        try:
            ids = np.array([int(name[2:]) for name in self._counts], dtype=np.int64)
            counts = [1] * len(ids) if self._distinct else list(self._counts.values())
            term = AGGREGATES[self._key](dict(zip(self._functions.decode(ids), counts, strict=True)), self._separator)
            return None if term is None else self._functions.id_of(term)
        except MemoryError:
            self._functions.is_full = True  # see `Functions.solutions`
            raise


def datetime_of(instant: int) -> str:
    """An instant as the lexical form of an xsd:dateTime; the end of time for those beyond the year 9999."""
    try:
        moment = _EPOCH + timedelta(milliseconds=instant)
    except OverflowError:
        moment = datetime.max if instant > 0 else datetime.min
    text = moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    return f"{text}.{moment.microsecond // 1000:03d}Z" if moment.microsecond else f"{text}Z"
