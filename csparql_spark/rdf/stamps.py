"""Stamps: the instants that a push gives to its own triples, in milliseconds since the epoch.

A push stamps triples by putting them in a graph. Two kinds of graph carry a stamp:

    GRAPH <urn:t:1700000000000> { … }                      # epoch milliseconds, or
    GRAPH <urn:t:2023-11-14T22:13:20.5Z> { … }             # an xsd:dateTime; without a zone it is UTC
    <g> prov:generatedAtTime "2023-11-14T22:13:20Z"^^xsd:dateTime .   GRAPH <g> { … }

The prov triple may stand in the default graph or in the graph it is about. It stays an element of the stream, with
the stamp it gives. A name that carries a stamp wins over a prov triple. Every other triple is unstamped. Stamps lie
in the years 0001 to 9999; digits below the millisecond are cut off, towards the past.
"""

from __future__ import annotations

import re
from datetime import date
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.rdf import terms as term
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import RdfError
from csparql_spark.rdf.quads import Quads

GENERATED_AT_TIME = "<http://www.w3.org/ns/prov#generatedAtTime>"
STAMPING_NAME = "<urn:t:"
EARLIEST = -62_135_596_800_000  # 0001-01-01T00:00:00Z
LATEST = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z

DAY = 86_400_000
AROUND_NOW = 2 * 366 * DAY  # producers stamp what has just happened, or what is played again

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DATE_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:(Z)|([+-])([0-9]{2}):([0-9]{2}))?"
)
_STAMP_DATATYPES = {
    term.XSD_STRING,
    *(term.XSD + name for name in ("dateTime", "dateTimeStamp", "integer", "long", "int", "nonNegativeInteger")),
}
_EPOCH = date(1970, 1, 1).toordinal()


def stamps(quads: Quads) -> np.ndarray:
    """The stamp of each quad, `Chunk.UNSTAMPED` where it has none. Raises `RdfError` for a stamp that is malformed."""
    if not len(quads.graphs):
        return np.full(len(quads.s), Chunk.UNSTAMPED, np.int64)
    # The last cell is that of the default graph, which g = -1 selects.
    of_graph = np.append(_stamps_of_names(quads.graphs), np.int64(Chunk.UNSTAMPED))
    stating, graphs = _generated_at(quads, of_graph)
    t = of_graph[quads.g]
    t[stating] = of_graph[graphs]
    return t


def parse_stamp(text: str) -> int:
    """Epoch milliseconds of an integer or an xsd:dateTime. Raises `ValueError` with the reason, a half-sentence."""
    if _INTEGER.fullmatch(text):
        at = int(text) if len(text) < 20 else LATEST + 1
    else:
        at = _milliseconds(text)
    if not EARLIEST <= at <= LATEST:
        raise ValueError("it is outside the years 0001 to 9999")
    return at


def likely_seconds(t: np.ndarray, now: int) -> np.ndarray:
    """Which of these stamps are surely meant as seconds: as milliseconds they lie in the first weeks of 1970, and as
    seconds within two years of `now`."""
    if now <= AROUND_NOW:  # a clock that was never set tells nothing
        return np.zeros(len(t), bool)
    return (t >= -(-(now - AROUND_NOW) // 1000)) & (t <= (now + AROUND_NOW) // 1000)


def _stamps_of_names(names: pa.StringArray) -> np.ndarray:
    found = np.full(len(names), Chunk.UNSTAMPED, np.int64)
    stamping = np.flatnonzero(pc.starts_with(names, STAMPING_NAME).to_numpy(zero_copy_only=False))
    if not len(stamping):
        return found
    texts = pc.utf8_slice_codeunits(names.take(pa.array(stamping)), len(STAMPING_NAME), -1)
    for position, text in zip(stamping.tolist(), texts.to_pylist()):
        try:
            found[position] = parse_stamp(unquote(text) if "%" in text else text)
        except ValueError as error:
            name = names[position].as_py()
            raise RdfError(
                f"The graph name {name} does not tell a time: {error}. "
                "Write <urn:t:> followed by epoch milliseconds or by an xsd:dateTime",
                offending=name,
            ) from error
    return found


def _generated_at(quads: Quads, of_graph: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fills in the stamps of graphs that prov triples stamp; returns the rows of these and the graphs they tell of."""
    none = np.empty(0, np.int64)
    predicate = pc.index(quads.terms, GENERATED_AT_TIME).as_py()
    if predicate < 0:
        return none, none
    rows = np.flatnonzero(quads.p == predicate)
    subject_of = pc.index_in(quads.graphs, value_set=quads.terms)
    known = np.flatnonzero(subject_of.is_valid().to_numpy(zero_copy_only=False))
    graph_of_term = np.full(len(quads.terms), -1, np.int64)
    graph_of_term[subject_of.drop_null().to_numpy()] = known
    graphs = graph_of_term[quads.s[rows]]
    about = (graphs >= 0) & ((quads.g[rows] == graphs) | (quads.g[rows] == -1))
    rows, graphs = rows[about], graphs[about]

    unnamed = of_graph[graphs] == Chunk.UNSTAMPED
    distinct, which = np.unique(quads.o[rows[unnamed]], return_inverse=True)
    values = np.array([_stated_stamp(quads.terms[int(o)].as_py()) for o in distinct], np.int64)[which]
    of_graph[graphs[unnamed]] = values
    contradicted = np.flatnonzero(of_graph[graphs[unnamed]] != values)
    if len(contradicted):
        name = quads.graphs[int(graphs[unnamed][contradicted[0]])].as_py()
        raise RdfError(
            f"The graph {name} is generated at two different times: give it one prov:generatedAtTime", offending=name
        )
    return rows, graphs


def _stated_stamp(value: str) -> int:
    kind, text, datatype, *_ = term.parse(value)
    try:
        if kind != "literal" or datatype not in _STAMP_DATATYPES:
            raise ValueError("it is not an xsd:dateTime")
        return parse_stamp(text.strip())
    except ValueError as error:
        raise RdfError(
            f"The prov:generatedAtTime {value} does not tell a time: {error}. "
            "Write an xsd:dateTime or epoch milliseconds",
            offending=value,
        ) from error


def _milliseconds(text: str) -> int:
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        raise ValueError("it is neither an integer nor an xsd:dateTime such as 2023-11-14T22:13:20.5Z")
    year, month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5, 6))
    try:
        days = date(year, month, day).toordinal() - _EPOCH
    except ValueError as error:
        raise ValueError(f"{match[1]}-{match[2]}-{match[3]} is not a day of the years 0001 to 9999") from error
    # 24:00:00 is the xsd:dateTime spelling of the next day's first instant.
    midnight = hour == 24 and minute == second == 0 and not (match[7] or "").strip("0")
    if minute > 59 or second > 59 or hour > 23 and not midnight:
        raise ValueError(f"{match[4]}:{match[5]}:{match[6]} is not a time of the day (there are no leap seconds)")
    offset = 0
    if match[9]:
        hours, minutes = int(match[10]), int(match[11])
        if minutes > 59 or hours * 60 + minutes > 14 * 60:
            raise ValueError(f"{match[9]}{match[10]}:{match[11]} is not a time zone")
        offset = (hours * 60 + minutes) * (-1 if match[9] == "-" else 1)
    fraction = int(((match[7] or "") + "000")[:3])
    return ((days * 24 + hour) * 60 + minute - offset) * 60_000 + second * 1000 + fraction
