"""BASE and PREFIX: what short names and relative IRIs stand for.

Both languages' prologues end up here, the one before REGISTER and the one after AS; a later declaration of a prefix
replaces an earlier one. Four prefixes that everybody forgets are known without declaration, with a warning.

    names = Names(base="http://ex.org/a")
    names.resolve("b")              ->  'http://ex.org/b'
    declared("PREFIX e: <urn:e:>\nASK {}")   ->  {'e': 'urn:e:'}
    base_of("BASE <http://ex.org/> ASK {}", None)   ->  'http://ex.org/'

`resolve` follows RFC 3986 (pyoxigraph does the work), so what comes out is always an absolute, valid IRI.
"""

from __future__ import annotations

import re

from pyoxigraph import NamedNode, RdfFormat, parse

WELL_KNOWN = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}

# Prefixes that many use: offered where one is not declared, and never taken without being asked.
USUAL = {
    **WELL_KNOWN,
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "f": "http://larkc.eu/csparql/sparql/jena/ext#",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "geosparql": "http://www.opengis.net/ont/geosparql#",
    "prov": "http://www.w3.org/ns/prov#",
    "qudt": "http://qudt.org/schema/qudt/",
    "schema": "http://schema.org/",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "time": "http://www.w3.org/2006/time#",
    "unit": "http://qudt.org/vocab/unit/",
    "void": "http://rdfs.org/ns/void#",
}

_CODE_POINT = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_DECLARATION = re.compile(r"\s*(?:BASE\s*<[^>]*>|PREFIX\s+([^\s:]*):\s*<([^>]*)>)", re.IGNORECASE)
_PROLOGUE_WORD = re.compile(r"#[^\r\n]*|<[^<>\s]*>|[^\s<#]+")
_FORMS = ("SELECT", "CONSTRUCT", "DESCRIBE", "ASK")
_BEFORE_A_NAME = ("QUERY", "STREAM")  # that of a query, which may be the word of a form
_LOCAL_ESCAPE = re.compile(r"\\(.)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


class NameProblem(Exception):
    """Why an IRI or a prefixed name stands for nothing: code, message, hint."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(code, message, hint)
        self.code = code
        self.message = message
        self.hint = hint


class Names:
    """The declarations that hold in a text."""

    def __init__(self, base: str | None = None) -> None:
        self.base: str | None = None
        self.prefixes: dict[str, str] = {}
        self.borrowed: set[str] = set()
        if base is not None:
            self.declare_base(base)

    def declare_base(self, reference: str) -> None:
        self.base = self.resolve(reference)

    def declare(self, prefix: str, reference: str) -> None:
        # A later declaration moves to the end, so that the body reads in the order that counts.
        self.prefixes.pop(prefix, None)
        self.prefixes[prefix] = self.resolve(reference)

    def borrow(self, prefix: str) -> bool:
        """Declare a well-known prefix that the text uses without declaring it; true the first time."""
        if prefix in self.prefixes or prefix not in WELL_KNOWN:
            return False
        self.prefixes[prefix] = WELL_KNOWN[prefix]
        self.borrowed.add(prefix)
        return True

    def resolve(self, reference: str) -> str:
        """The absolute IRI of an IRI reference, without its angle brackets."""
        reference = expand_code_points(reference)
        if _SCHEME.match(reference):
            try:
                return NamedNode(reference).value
            except ValueError as reason:
                raise NameProblem("bad-iri", f"<{reference}> is not an IRI.", _sentence(reason)) from reason
        if self.base is None:
            raise NameProblem(
                "relative-iri",
                f"<{reference}> is relative, and the text has no BASE.",
                "Write the whole IRI, or declare BASE <http://...> first.",
            )
        triple = f"<{reference}> <urn:p> <urn:o> .".encode()
        try:
            return next(parse(triple, format=RdfFormat.TURTLE, base_iri=self.base)).subject.value
        except (SyntaxError, ValueError) as reason:
            raise NameProblem("bad-iri", f"<{reference}> is not an IRI.") from reason

    def expand(self, name: str) -> str:
        """The absolute IRI of a prefixed name."""
        prefix, _, local = name.partition(":")
        if prefix not in self.prefixes:
            raise undeclared(prefix)
        iri = self.prefixes[prefix] + _LOCAL_ESCAPE.sub(r"\1", local)
        try:
            return NamedNode(iri).value
        except ValueError as reason:
            raise NameProblem("bad-iri", f"{name} stands for <{iri}>, which is not an IRI.") from reason

    def shown_as(self, prefix: str) -> str:
        """The prefix that a body uses: of several with one IRI the first, so that one meaning is written one way."""
        iri = self.prefixes[prefix]
        return next(name for name, other in self.prefixes.items() if other == iri)

    def text(self, *, with_base: bool = False) -> str:
        """The declarations as a SPARQL prologue: prefixes, since no relative IRI is left in a body; the base too where
        the body makes IRIs."""
        shown = {self.shown_as(prefix): iri for prefix, iri in self.prefixes.items()}
        base = f"BASE <{self.base}>\n" if with_base and self.base is not None else ""
        return base + "".join(f"PREFIX {prefix}: <{iri}>\n" for prefix, iri in shown.items())


def declared(body: str) -> dict[str, str]:
    """The prefixes that a body declares, as `Names.text` writes them."""
    found: dict[str, str] = {}
    place = 0
    while (match := _DECLARATION.match(body, place)) is not None:
        if match[1] is not None:
            found[match[1]] = match[2]
        place = match.end()
    return found


def base_of(text: str, base: str | None) -> str | None:
    """What relative IRIs start from at the end of the prologues of a text that was read with that base."""
    names, before = Names(base), ""
    for match in _PROLOGUE_WORD.finditer(text):
        word = match[0]
        if word.upper() in _FORMS and before.upper() not in _BEFORE_A_NAME:
            break
        if word.startswith("<") and before.upper() == "BASE":
            names.declare_base(word[1:-1])
        if not word.startswith("#"):
            before = word
    return names.base


def undeclared(prefix: str) -> NameProblem:
    """The prefix that nobody declared."""
    if prefix.lower() in ("http", "https", "urn", "file"):
        return NameProblem("bad-iri", "An IRI stands in angle brackets.", f"Write <{prefix}:...>.")
    return NameProblem(
        "undeclared-prefix",
        f'The prefix "{prefix}:" is not declared.',
        f"Add PREFIX {prefix}: <...> at the beginning of the query.",
    )


def expand_code_points(text: str) -> str:
    """`\\u00e9` and `\\U0001f600` as the characters they stand for."""

    def character(match: re.Match[str]) -> str:
        number = int(match[1] or match[2], 16)
        if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            raise NameProblem("bad-character", f"{match[0]} is not a character.")
        return chr(number)

    return _CODE_POINT.sub(character, text)


def is_basic(text: str) -> bool:
    """Whether a name can be read by pyoxigraph: beyond the basic plane it reads IRIs and strings, but not names."""
    return text.isascii() or max(text) <= "\uffff"


def _sentence(reason: Exception) -> str:
    text = str(reason)
    return text if text.endswith(".") else text + "."
