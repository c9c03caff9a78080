"""Short names for the terms, facts and rules of examples, so that a test shows what it is about."""

from __future__ import annotations

from csparql_spark.language.rules.rule import Atom, Guard, Rule
from tests.entailment.twin import Triple

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = {"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD}


def term(text: str) -> str:
    """`rdfs:member` is what it says, `?x` and `"literal"` and `_:b` are themselves, and `cat` is <urn:cat>."""
    if text.startswith(("?", '"', "_:", "<")):
        return text
    prefix, colon, name = text.partition(":")
    return f"<{PREFIXES[prefix]}{name}>" if colon else f"<urn:{text}>"


def integer(value: int | str) -> str:
    return f'"{value}"^^<{XSD}integer>'


def triple(text: str) -> Triple:
    """A triple from three words, of which the second may be `a`, as in Turtle."""
    subject, predicate, object_ = text.split()
    return term(subject), term("rdf:type" if predicate == "a" else predicate), term(object_)


def triples(*texts: str) -> set[Triple]:
    """Triples from texts like `a isIn b; b isIn c`."""
    return {triple(part) for text in texts for part in text.split(";") if part.strip()}


def tagged(text: str) -> dict[Triple, int]:
    """Tagged triples from a text like `a isIn b 11; b isIn c 12`."""
    rows = [part.rsplit(maxsplit=1) for part in text.split(";") if part.strip()]
    return {triple(words): int(tag) for words, tag in rows}


def atoms(text: str) -> tuple[Atom, ...]:
    return tuple(Atom(*triple(part)) for part in text.split(";") if part.strip())


def rule(text: str, *guards: Guard, name: str | None = None) -> Rule:
    """A rule from a text like `?a isIn ?b; ?b isIn ?c -> ?a isIn ?c`."""
    body, head = text.split("->")
    return Rule(atoms(head), atoms(body), guards, name)


def guard(name: str, *arguments: str) -> Guard:
    return Guard(name, tuple(map(term, arguments)))
