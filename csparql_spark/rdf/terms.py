"""Terms are strings in N-Triples syntax, and two terms are the same exactly when their strings are.

IRIs are `<…>`, blank nodes `_:…`, literals `"…"`, `"…"@en` or `"…"^^<…>`: the canonical spelling of N-Triples
(xsd:string is not written, language tags are lower case, only what must be escaped is). Lexical forms are never
normalised.

    parse('"01"^^<http://www.w3.org/2001/XMLSchema#integer>').value       # '01'
    to_oxigraph('"ciao"@it').language                                     # 'it'
    from_oxigraph(pyoxigraph.Literal("01", datatype=...))                 # '"01"^^<…integer>'
    valid_iri("urn:a"), valid_iri("a b")                                  # (True, False)
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import pyoxigraph as ox

from csparql_spark.rdf.errors import TermError
from csparql_spark.remembering import remembered

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD_STRING = XSD + "string"
RDF_LANG_STRING = RDF + "langString"
RDF_DIR_LANG_STRING = RDF + "dirLangString"

TermKind = Literal["iri", "blank", "literal"]


class Term(NamedTuple):
    """A term taken apart: `value` is the IRI, the label of the blank node, or the lexical form."""

    kind: TermKind
    value: str
    datatype: str | None = None
    language: str | None = None
    direction: str | None = None


# A literal may be long: what repeats is possessive (`*+`), or 200 bytes a character are kept to come back to it.
_SHAPE = re.compile(
    r'<(?P<iri>[^\x00-\x20<>"{}|^`]*)>'
    r"|_:(?P<blank>[^\s<>\"\\]+)"
    r'|"(?P<lexical>[^"\\\n\r]*+(?:\\.[^"\\\n\r]*+)*+)"'
    r"(?:@(?P<language>[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)(?:--(?P<direction>ltr|rtl))?"
    r'|\^\^<(?P<datatype>[^\x00-\x20<>"{}|^`]*)>)?'
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


@remembered
def parse(term: str) -> Term:
    """The parts of a term. Raises `TermError` for a string that is not one."""
    match = _SHAPE.fullmatch(term)
    if match is None:
        if term.startswith("<<"):
            raise TermError(f"{term!r} is a triple term of RDF 1.2, which is not supported.")
        raise TermError(f"{term!r} is not an IRI, blank node or literal in N-Triples syntax.")
    if match["iri"] is not None:
        return Term("iri", _unescaped(match["iri"], term))
    if match["blank"] is not None:
        return Term("blank", match["blank"])
    lexical = _unescaped(match["lexical"], term)
    if match["direction"]:
        return Term("literal", lexical, RDF_DIR_LANG_STRING, match["language"], match["direction"])
    if match["language"]:
        return Term("literal", lexical, RDF_LANG_STRING, match["language"])
    datatype = XSD_STRING if match["datatype"] is None else _unescaped(match["datatype"], term)
    return Term("literal", lexical, datatype)


def to_oxigraph(term: str) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    """The term as an object of pyoxigraph. Raises `TermError` for a string that is not a valid term."""
    kind, value, datatype, language, direction = parse(term)
    try:
        if kind == "iri":
            return ox.NamedNode(value)
        if kind == "blank":
            return ox.BlankNode(value)
        if direction is not None:
            return ox.Literal(value, language=language, direction=ox.BaseDirection(direction))
        if language is not None:
            return ox.Literal(value, language=language)
        return ox.Literal(value) if datatype is None else ox.Literal(value, datatype=ox.NamedNode(datatype))
    except ValueError as error:
        raise TermError(f"{term!r} is not a valid term: {error}.") from error


def from_oxigraph(term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> str:
    """The term as a string. Raises `TermError` for a triple term."""
    if isinstance(term, ox.Triple):
        raise TermError(f"{term} is a triple term of RDF 1.2, which is not supported.")
    return str(term)


def iri(value: str) -> str:
    """The term of an IRI."""
    return f"<{value}>"


def literal(value: str, datatype: str | None = None, language: str | None = None) -> str:
    """The term of a literal, in canonical spelling."""
    return str(ox.Literal(value, datatype=None if datatype is None else ox.NamedNode(datatype), language=language))


def valid_iri(text: str) -> bool:
    """Whether the text is an absolute IRI."""
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return True


def _unescaped(text: str, term: str) -> str:
    if "\\" not in text:
        return text

    def character(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        if code is None:
            if match[3] not in _ESCAPED:
                raise TermError(f"{term!r} has the unknown escape \\{match[3]}.")
            return _ESCAPED[match[3]]
        point = int(code, 16)
        if 0xD800 <= point < 0xE000 or point > 0x10FFFF:
            raise TermError(f"{term!r} escapes U+{point:04X}, which is not a character.")
        return chr(point)

    return _ESCAPE.sub(character, text)
