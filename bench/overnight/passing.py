"""Passing: the queries that come and go, one text after another, none of them twice.

    guest = guest(17)
    guest.texts             # {"Guest17": "REGISTER QUERY Guest17 AS …"}, in the order in which they are registered
    guest.graph, guest.stream       # a background graph, a stream of its own, or None

Ten kinds take turns: filters, joins with background that changes, GROUP BY, three rule sets (one of them changes),
ISTREAM, windows that count, a stream that a query makes, and streams and graphs that go with their query.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.overnight.facts import PROPERTIES
from bench.overnight.standing import SCHEMA, STREAM

SIGNALS, ROOMS, RULES = "signals", "urn:rooms", "lab"
DEVICES, ROOM_COUNT = 1000, 40
LEVELS = 1000
KINDS = 10
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


@dataclass(frozen=True)
class Guest:
    number: int
    texts: dict[str, str]
    stream: str | None = None
    graph: str | None = None


def guest(number: int) -> Guest:
    name, least = f"Guest{number}", LEVELS - 100 - number % 97
    window = f"[RANGE {2 + number % 7}s STEP {1 + number % 2}s]"
    signals = f"FROM STREAM <streams/{SIGNALS}> {window}"
    facts = f"FROM STREAM <streams/{STREAM}> {window}"
    loud = f"?signal <urn:by> ?device ; <urn:level> ?level FILTER(?level > {least})"
    head = f"REGISTER QUERY {name} AS "
    match number % KINDS:
        case 0:
            text = f"SELECT ?s ?o {facts} WHERE {{ ?s <urn:p{number // KINDS % PROPERTIES}> ?o }}"
        case 1:
            text = (
                f"SELECT (COUNT(?x) AS ?n) FROM <{SCHEMA}> {facts} USING ENTAILMENT rho-df "
                f"WHERE {{ ?x a <urn:c{number // KINDS % 6}> }}"
            )
        case 2:
            text = f"SELECT ?signal ?room FROM <{ROOMS}> {signals} WHERE {{ {loud} . ?device <urn:in> ?room }}"
        case 3:
            text = (
                f"SELECT ?room (MAX(?level) AS ?most) (COUNT(*) AS ?n) FROM <{ROOMS}> {signals} "
                f"WHERE {{ {loud} . ?device <urn:in> ?room }} GROUP BY ?room"
            )
        case 4:
            text = (
                f"SELECT ?signal ?room FROM <{ROOMS}> {signals} USING ENTAILMENT {RULES} "
                f"WHERE {{ ?signal <urn:inRoom> ?room ; <urn:level> ?level FILTER(?level > {least}) }}"
            )
        case 5:
            text = f"SELECT ISTREAM ?s ?o {facts} WHERE {{ ?s <urn:p{number // KINDS % PROPERTIES}> ?o }}"
        case 6:
            text = (
                f"SELECT ?device (COUNT(*) AS ?n) FROM STREAM <streams/{SIGNALS}> [RANGE TRIPLES "
                f"{300 + number % 97} STEP 100] WHERE {{ ?signal <urn:by> ?device }} GROUP BY ?device"
            )
        case 7:
            return _with_its_own(number, name)
        case 8:
            made = f"REGISTER STREAM {name} AS CONSTRUCT {{ ?signal <urn:loud> ?level }} {signals} WHERE {{ {loud} }}"
            read = (
                f"REGISTER QUERY {name}Reader AS SELECT (COUNT(*) AS ?n) FROM STREAM <streams/{name}> "
                f"[RANGE 4s STEP {1 + number % 2}s] WHERE {{ ?signal <urn:loud> ?level }}"
            )
            return Guest(number, {name: made, f"{name}Reader": read})
        case _:
            text = (
                f"SELECT ?room (COUNT(?signal) AS ?n) FROM <{ROOMS}> {signals} USING ENTAILMENT rdfs "
                f"WHERE {{ {loud} . ?device a <urn:Device> ; <urn:in> ?room }} GROUP BY ?room"
            )
    return Guest(number, {name: head + text})


def _with_its_own(number: int, name: str) -> Guest:
    stream, graph = f"side-{number}", f"urn:own/{number}"
    text = (
        f"REGISTER QUERY {name} AS SELECT ?signal ?room FROM <{graph}> FROM STREAM <streams/{stream}> "
        f"[RANGE 3s STEP 1s] WHERE {{ ?signal <urn:by> ?device . ?device <urn:in> ?room }}"
    )
    return Guest(number, {name: text}, stream, graph)


def signals(number: int, count: int) -> bytes:
    """Signals that never came before, each of two triples, N-Triples."""
    return "".join(
        f"<urn:signal/{number}/{n}> <urn:by> <urn:device{(31 * number + 7 * n) % DEVICES}> .\n"
        f'<urn:signal/{number}/{n}> <urn:level> "{(617 * number + 97 * n) % LEVELS}"^^<{INTEGER}> .\n'
        for n in range(count)
    ).encode()


def rooms(version: int) -> bytes:
    """Where the devices are: one in ten has moved since the version before. N-Triples."""
    moved = [version if n % 10 == version % 10 else 0 for n in range(DEVICES)]
    return "".join(
        f"<urn:device{n}> <urn:in> <urn:room/{house}/{n % ROOM_COUNT}> .\n<urn:device{n}> <{TYPE}> <urn:Device> .\n"
        for n, house in enumerate(moved)
    ).encode()


def rules(version: int) -> str:
    """A rule file; every second version has a rule more."""
    more = "[(?s <urn:by> ?d) (?s <urn:level> ?l) greaterThan(?l, 990) -> (?d <urn:shouts> ?s)]\n"
    return (
        "[(?s <urn:by> ?d) (?d <urn:in> ?r) -> (?s <urn:inRoom> ?r)]\n"
        + (more if version % 2 else "")
        + f"[(?s <urn:level> ?l) greaterThan(?l, {900 + version % 50}) -> (?s <urn:version> <urn:v{version}>)]\n"
    )
