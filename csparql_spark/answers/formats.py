"""Formats: an answer as SPARQL results (JSON, XML, CSV, TSV), as lines of JSON, or as RDF.

    preferred("text/csv, application/json;q=0.5", OFFERED["bindings"])          # 'text/csv'
    preferred("text/csv", OFFERED["graph"])                                     # None: it has no such form
    write(answer, "application/sparql-results+json", extra={"at": 1000})        # b'{"head":…,"results":…,"at":1000}'
    write(answer, "application/x-ndjson")                                       # b'{"s":{"type":"uri","value":…}}\\n…'

Each distinct term is spelled once; rows are joined as columns. The SPARQL formats are written for what is stored, so
a literal keeps its lexical form. Media types that name the same format (`application/json`) are written alike. A line
of JSON is one solution, its terms as in SPARQL JSON. A yes or no is `true` or `false` where there is no form for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from xml.parsers import expat
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from csparql_spark.answers.bindings import Bindings, Result, ResultKind
from csparql_spark.rdf import terms as term

JSON, XML = "application/sparql-results+json", "application/sparql-results+xml"
CSV, TSV = "text/csv", "text/tab-separated-values"
ND_JSON = "application/x-ndjson"
N_TRIPLES, TURTLE, JSON_LD = "application/n-triples", "text/turtle", "application/ld+json"
N_QUADS, TRIG, RDF_XML = "application/n-quads", "application/trig", "application/rdf+xml"
PLAIN_JSON = "application/json"  # what a browser shows; it saves the others as files

# What each kind of answer can be written as, the most welcome first.
OFFERED: dict[ResultKind, tuple[str, ...]] = {
    "bindings": (JSON, XML, CSV, TSV, ND_JSON, PLAIN_JSON, "application/xml", "text/xml", "application/ndjson"),
    "boolean": (JSON, XML, CSV, TSV, ND_JSON, PLAIN_JSON, "application/xml", "text/xml", "application/ndjson"),
    "graph": (JSON_LD, TURTLE, N_TRIPLES, PLAIN_JSON, N_QUADS, TRIG, RDF_XML),
}
_SPARQL_ALIASES = {PLAIN_JSON: JSON, "application/xml": XML, "text/xml": XML, "application/ndjson": ND_JSON}
_RDF = {
    JSON_LD: ox.RdfFormat.JSON_LD,
    PLAIN_JSON: ox.RdfFormat.JSON_LD,
    TURTLE: ox.RdfFormat.TURTLE,
    N_TRIPLES: ox.RdfFormat.N_TRIPLES,
    N_QUADS: ox.RdfFormat.N_QUADS,
    TRIG: ox.RdfFormat.TRIG,
    RDF_XML: ox.RdfFormat.RDF_XML,
}
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_RANGE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)/([!#$%&'*+.^_`|~0-9A-Za-z-]+)")
_WEIGHT = re.compile(r"[01](?:\.[0-9]{0,3})?")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_XML_ESCAPES = {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;", '"': "&quot;"}
_OUTER_SPACES = re.compile(r"^ +| +$")
_SUBJECT_LABEL, _OBJECT_LABEL = re.compile(rb"^_:", re.MULTILINE), re.compile(rb"^(\S+ \S+ )_:", re.MULTILINE)
_XML_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#"'
_ITS = ' xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0"'


BLOCK = 50_000  # rows that are written at once


class Unwritable(ValueError):
    """An answer that a format has no way to express."""


def preferred(accept: str | None, offered: Sequence[str]) -> str | None:
    """Of the media types offered, in the server's order, the one that an Accept header likes best; None if none.

    The highest weight wins, then the range that names the type more closely, then the server's order. Who would rather
    have HTML than anything they name, and takes anything, is a browser: it is given what it can show.
    """
    ranges = _ranges(accept or "*/*")
    best, chosen, pages = (0.0, 0), None, 0.0
    for media_type in (*offered, "text/html"):
        # The range that names a type most closely decides its weight.
        closeness, weight = max((match for match in (_match(r, media_type) for r in ranges) if match), default=(0, 0.0))
        if media_type == "text/html":
            pages = weight if closeness == 3 else 0.0
        elif weight > 0 and (weight, closeness) > best:
            best, chosen = (weight, closeness), media_type
    shown = PLAIN_JSON in offered and any(r[:2] == ("*", "*") and r[2] > 0 for r in ranges)
    return PLAIN_JSON if shown and pages > best[0] else chosen


def write(answer: Result, media_type: str, *, extra: Mapping[str, object] | None = None) -> bytes:
    """The answer in that format. Raises `Unwritable` if the format cannot express it.

    `extra` are members that SPARQL JSON gets beside `head` and `results`; the other formats have no place for them.
    """
    if media_type not in OFFERED[answer.kind]:
        ways = ", ".join(OFFERED[answer.kind])
        raise Unwritable(f"A {answer.kind} answer cannot be written as {media_type}: ask for one of {ways}.")
    if answer.ntriples is not None:
        return write_graph(answer.ntriples, media_type)
    name = _SPARQL_ALIASES.get(media_type, media_type)
    if name == JSON:
        return _write_json(answer, extra or {})
    if name == XML:
        return _write_xml(answer)
    if answer.table is None:
        truth = _json(answer.truth)
        return (f'{{"boolean":{truth}}}\n' if name == ND_JSON else f"{truth}\n").encode()
    return {CSV: _write_csv, TSV: _write_tsv, ND_JSON: _write_lines}[name](answer.table)


def write_graph(ntriples: bytes, media_type: str) -> bytes:
    """N-Triples text in another format. N-Quads and TriG have the triples in the default graph. Raises `Unwritable`."""
    if media_type in (N_TRIPLES, N_QUADS):
        return ntriples
    if media_type == RDF_XML:
        # In XML a label must be a name, which begins with a letter.
        ntriples = _OBJECT_LABEL.sub(rb"\1_:b", _SUBJECT_LABEL.sub(b"_:b", ntriples))
    text = ox.serialize(ox.parse(ntriples, format=ox.RdfFormat.N_TRIPLES), format=_RDF[media_type]) or b""
    if media_type == RDF_XML:
        try:
            expat.ParserCreate(namespace_separator=" ").Parse(text, True)
        except expat.ExpatError:
            raise Unwritable(
                "The graph has a predicate or a character that XML has no way to write: ask for Turtle or N-Triples."
            ) from None
    return text


def _write_json(answer: Result, extra: Mapping[str, object]) -> bytes:
    taken = {"head", "results", "boolean"} & set(extra)
    if taken:
        raise ValueError(f"{', '.join(sorted(taken))} cannot be an extra member: SPARQL JSON defines it")
    tail = "".join(f",{_json(name)}:{_json(value)}" for name, value in extra.items()) + "}"
    if answer.table is None:
        return f'{{"head":{{}},"boolean":{_json(answer.truth)}{tail}'.encode()
    table = answer.table
    blocks = _blocks(table, _json_term, _json_cell, ("{", ",", "},"))
    if blocks:
        blocks[-1] = blocks[-1][:-1]
    head = f'{{"head":{{"vars":{_json(table.variables)}}},"results":{{"bindings":['
    return b"".join([head.encode(), *blocks, f"]}}{tail}".encode()])


def _write_lines(table: Bindings) -> bytes:
    return b"".join(_blocks(table, _json_term, _json_cell, ("{", ",", "}\n")))


def _json_cell(name: str, cells: pa.Array) -> pa.Array:
    return _joined([_text(_json(name) + ":"), cells], _text(""))


def _write_xml(answer: Result) -> bytes:
    if answer.table is None:
        return f"{_XML_HEAD}><head/><boolean>{_json(answer.truth)}</boolean></sparql>\n".encode()
    table = answer.table
    blocks = _blocks(table, _xml_term, _xml_cell, ("<result>", "", "</result>\n"))
    names = "".join(f'<variable name="{name}"/>' for name in table.variables)
    # A text cannot hold this: its quotes are escaped.
    namespace = _ITS if any(b' its:dir="' in block for block in blocks) else ""
    head = f"{_XML_HEAD}{namespace}><head>{names}</head><results>\n"
    return b"".join([head.encode(), *blocks, b"</results></sparql>\n"])


def _xml_cell(name: str, cells: pa.Array) -> pa.Array:
    return _joined([_text(f'<binding name="{name}">'), cells, _text("</binding>")], _text(""))


def _write_csv(table: Bindings) -> bytes:
    blocks = _blocks(table, _csv_term, _plain_cell, ("", ",", "\r\n"))
    return b"".join([(",".join(table.variables) + "\r\n").encode(), *blocks])


def _write_tsv(table: Bindings) -> bytes:
    blocks = [
        _lines(
            [_plain_cell("", column.slice(begin, BLOCK).cast(pa.large_string())) for column in table.columns],
            min(BLOCK, table.length - begin),
            "",
            "\t",
            "\n",
        )
        for begin in range(0, table.length, BLOCK)
    ]
    head = "\t".join("?" + name for name in table.variables) + "\n"
    return b"".join([head.encode(), *blocks])


def _plain_cell(name: str, cells: pa.Array) -> pa.Array:
    return pc.fill_null(cells, "")


def _blocks(
    table: Bindings,
    spell: Callable[[term.Term], str],
    cell: Callable[[str, pa.Array], pa.Array],
    marks: tuple[str, str, str],
) -> list[bytes]:
    """The text of all rows, so many at a time: made at once it would need many times its size. Each term is spelled
    once in the way of a format, and `cell` makes a column of a name and such spellings; `marks` begin, part and end a
    row."""
    distinct, ids = table.encoded()
    spellings = pa.array([spell(term.parse(text)) for text in distinct.to_pylist()], pa.large_string())
    blocks = []
    for begin in range(0, table.length, BLOCK):
        columns = [
            cell(name, spellings.take(pa.array(of_column, mask=of_column < 0)))
            for name, of_column in zip(table.variables, (column[begin : begin + BLOCK] for column in ids))
        ]
        blocks.append(_lines(columns, min(BLOCK, table.length - begin), *marks))
    return blocks


def _lines(columns: list[pa.Array], length: int, start: str, between: str, end: str) -> bytes:
    """The text of all rows: each its values in order, nulls left out, between a start and an end."""
    if not columns or not length:
        return (start + end).encode() * length
    # pyarrow leaves a row of nothing but nulls out of the result: such a row gets one empty value.
    empty = reduce(pc.and_, (column.is_null() for column in columns))
    columns = [pc.if_else(empty, _text(""), columns[0]), *columns[1:]]
    cells = _joined(columns, _text(between), null_handling="skip")
    lines = _joined([_text(start), cells, _text(end)], _text(""))
    # The strings of an array lie back to back in its data buffer: that buffer is the text.
    return lines.buffers()[2].to_pybytes()


def _joined(pieces: list[pa.Array | pa.Scalar], gap: pa.Scalar, null_handling: str = "emit_null") -> pa.Array:
    return pc.binary_join_element_wise(*pieces, gap, null_handling=null_handling)


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _json_term(parts: term.Term) -> str:
    kind, value, datatype, language, direction = parts
    if kind != "literal":
        return f'{{"type":"{"uri" if kind == "iri" else "bnode"}","value":{_json(value)}}}'
    if language is not None:
        toward = f',"its:dir":"{direction}"' if direction else ""
        return f'{{"type":"literal","value":{_json(value)},"xml:lang":"{language}"{toward}}}'
    typed = "" if datatype == term.XSD_STRING else f',"datatype":{_json(datatype)}'
    return f'{{"type":"literal","value":{_json(value)}{typed}}}'


def _xml_term(parts: term.Term) -> str:
    kind, value, datatype, language, direction = parts
    bad = _NOT_XML.search(value)
    if bad:
        raise Unwritable(
            f"A literal of the answer holds U+{ord(bad[0]):04X}, which XML 1.0 cannot express: ask for JSON instead."
        )
    # Readers turn line ends into line feeds, and some trim what is not a reference.
    text = _OUTER_SPACES.sub(lambda spaces: "&#32;" * len(spaces[0]), escape(value, _XML_ESCAPES))
    if kind != "literal":
        return f"<uri>{text}</uri>" if kind == "iri" else f"<bnode>{text}</bnode>"
    attributes = ""
    if language is not None:
        attributes = f' xml:lang="{language}"' + (f' its:dir="{direction}"' if direction else "")
    elif datatype != term.XSD_STRING:
        attributes = f' datatype="{escape(datatype or "", _XML_ESCAPES)}"'
    return f"<literal{attributes}>{text}</literal>"


def _csv_term(parts: term.Term) -> str:
    value = "_:" + parts.value if parts.kind == "blank" else parts.value
    return '"' + value.replace('"', '""') + '"' if re.search('[,"\r\n]', value) else value


def _ranges(accept: str) -> list[tuple[str, str, float]]:
    """Type, subtype and weight of each range of an Accept header; parts that are not ranges are passed over."""
    ranges = []
    for part in accept.split(","):
        name, *parameters = (piece.strip() for piece in part.lower().split(";"))
        weights = [value.strip() for key, _, value in (p.partition("=") for p in parameters) if key.strip() == "q"]
        match = _RANGE.fullmatch(name)
        if match is None or any(not _WEIGHT.fullmatch(weight) for weight in weights):
            continue
        ranges.append((match[1], match[2], min(float(weights[0]), 1.0) if weights else 1.0))
    return ranges


def _match(range_: tuple[str, str, float], media_type: str) -> tuple[int, float] | None:
    """How closely a range names a media type (1: */*, 2: type/*, 3: itself) and the weight it gives."""
    type_, subtype, weight = range_
    if type_ == subtype == "*":
        return 1, weight
    if type_ == media_type.split("/")[0] and subtype == "*":
        return 2, weight
    return (3, weight) if f"{type_}/{subtype}" == media_type else None
