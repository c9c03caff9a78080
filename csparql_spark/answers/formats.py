"""Formats: an answer as SPARQL results (JSON, XML, CSV, TSV), as lines of JSON, or as RDF.

    preferred("text/csv, application/json;q=0.5", OFFERED["bindings"])          # 'text/csv'
    preferred("text/csv", OFFERED["graph"])                                     # None: it has no such form
    write(answer, "application/sparql-results+json", extra={"at": 1000})        # b'{"head":…,"results":…,"at":1000}'
    pieces(answer, "application/x-ndjson")                                      # b'{"s":{"type":"uri",…}}\\n…', b'…'

Answers are written piece by piece (see `row_text` and `graph_text`), so that a large one need not be held as text. The
SPARQL formats are written for what is stored, so a literal keeps its lexical form. Media types that name the same
format (`application/json`) are written alike. A line of JSON is one solution, its terms as in SPARQL JSON. A yes or no
is `true` or `false` where there is no form for it.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.answers import row_text
from csparql_spark.answers.bindings import Result, ResultKind
from csparql_spark.answers.graph_text import LineText, graph_pieces
from csparql_spark.answers.media_types import (
    CSV,
    JSON,
    JSON_LD,
    N_QUADS,
    N_TRIPLES,
    ND_JSON,
    PLAIN_JSON,
    RDF_XML,
    TRIG,
    TSV,
    TURTLE,
    XML,
    Unwritable,
)
from csparql_spark.answers.row_text import RowForm, RowText
from csparql_spark.kernel import spellings
from csparql_spark.kernel.texts import Spelled
from csparql_spark.rdf import terms as term
from csparql_spark.relations.tags import ALWAYS

# What each kind of answer can be written as, the most welcome first.
OFFERED: dict[ResultKind, tuple[str, ...]] = {
    "bindings": (JSON, XML, CSV, TSV, ND_JSON, PLAIN_JSON, "application/xml", "text/xml", "application/ndjson"),
    "boolean": (JSON, XML, CSV, TSV, ND_JSON, PLAIN_JSON, "application/xml", "text/xml", "application/ndjson"),
    "graph": (JSON_LD, TURTLE, N_TRIPLES, PLAIN_JSON, N_QUADS, TRIG, RDF_XML),
}
_SPARQL_ALIASES = {PLAIN_JSON: JSON, "application/xml": XML, "text/xml": XML, "application/ndjson": ND_JSON}
MANY = 256 << 10  # bytes of an answer that are put together in another way than few
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_RANGE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)/([!#$%&'*+.^_`|~0-9A-Za-z-]+)")
_WEIGHT = re.compile(r"[01](?:\.[0-9]{0,3})?")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_XML_ESCAPES = {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;", '"': "&quot;"}
_OUTER_SPACES = re.compile(r"^ +| +$")
_XML_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#"'
_ITS = ' xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0"'


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
    """The answer in that format, as a whole: see `pieces`."""
    return together(pieces(answer, media_type, extra=extra))


def beginning(parts: Iterator[bytes], most: int) -> tuple[list[bytes], bool]:
    """The first parts, up to that with which they have more bytes than `most`; and whether that is all of them."""
    begun, size = [], 0
    for part in parts:
        begun.append(part)
        size += len(part)
        if size > most:
            return begun, False
    return begun, True


def together(parts: Iterator[bytes]) -> bytes:
    """All parts. Of many bytes none are held beside the whole for longer than it takes to put them there; of few that
    would cost more than it spares: memory that grows is asked for again and again."""
    begun, ended = beginning(parts, MANY)
    if ended:
        return b"".join(begun)
    whole = io.BytesIO()
    whole.writelines(begun)
    begun.clear()
    whole.writelines(parts)
    return whole.getvalue()  # no copy is made of it


def pieces(
    answer: Result, media_type: str, *, extra: Mapping[str, object] | None = None, until: bool = False
) -> Iterator[bytes]:
    """The answer in that format, piece by piece. Raises `Unwritable`, before the first one, if the format cannot
    express it.

    `extra` are members that SPARQL JSON gets beside `head` and `results`, and `until` that which tells until when each
    row holds; the other formats have no place for them.
    """
    if media_type not in OFFERED[answer.kind]:
        ways = ", ".join(OFFERED[answer.kind])
        raise Unwritable(f"A {answer.kind} answer cannot be written as {media_type}: ask for one of {ways}.")
    if answer.ntriples is not None:
        return graph_pieces(LineText(answer.ntriples), media_type)
    name = _SPARQL_ALIASES.get(media_type, media_type)
    if name == JSON:
        return _json_pieces(answer, extra or {}, until)
    if name == XML:
        return _xml_pieces(answer)
    if answer.table is None:
        truth = _json(answer.truth)
        return iter([(f'{{"boolean":{truth}}}\n' if name == ND_JSON else f"{truth}\n").encode()])
    table = answer.table
    heads = {CSV: ",".join(table.variables) + "\r\n", TSV: "\t".join(f"?{one}" for one in table.variables) + "\n"}
    return chain([heads.get(name, "").encode()], RowText(table, _FORMS[name]).pieces())


def until_pieces(answer: Result) -> Iterator[bytes]:
    """Until when each row holds, as a JSON array, whose nulls are for ever."""
    if answer.until is None:
        raise ValueError("nobody has said until when the rows hold")
    before = b"["
    for begin in range(0, len(answer.until), row_text.BLOCK):
        block = answer.until[begin : begin + row_text.BLOCK].tolist()
        yield before + _json([None if instant == ALWAYS else instant for instant in block])[1:-1].encode()
        before = b","
    yield b"[]" if before == b"[" else b"]"


def _json_pieces(answer: Result, extra: Mapping[str, object], until: bool) -> Iterator[bytes]:
    taken = {"head", "results", "boolean"} & set(extra)
    if taken:
        raise ValueError(f"{', '.join(sorted(taken))} cannot be an extra member: SPARQL JSON defines it")
    members = "".join(f",{_json(name)}:{_json(value)}" for name, value in extra.items()).encode()
    told = chain([b',"until":'], until_pieces(answer)) if until and answer.until is not None else ()
    if answer.table is None:
        return chain([f'{{"head":{{}},"boolean":{_json(answer.truth)}'.encode(), members], told, [b"}"])
    head = f'{{"head":{{"vars":{_json(answer.table.variables)}}},"results":{{"bindings":['.encode()
    return chain([head], binding_pieces(answer), [b"]}", members], told, [b"}"])


def binding_pieces(answer: Result) -> Iterator[bytes]:
    """The rows of a table as SPARQL JSON has them among its `bindings`, with commas between."""
    return _without_end(RowText(answer.solutions, _FORMS[JSON]).pieces())


def _without_end(parts: Iterator[bytes]) -> Iterator[bytes]:
    """All but the last byte."""
    before: bytes | None = None
    for part in parts:
        if before is not None:
            yield before
        before = part
    if before is not None:
        yield before[:-1]


def _xml_pieces(answer: Result) -> Iterator[bytes]:
    if answer.table is None:
        return iter([f"{_XML_HEAD}><head/><boolean>{_json(answer.truth)}</boolean></sparql>\n".encode()])
    rows = RowText(answer.table, _FORMS[XML])
    names = "".join(f'<variable name="{name}"/>' for name in answer.table.variables)
    directed = pc.any(pc.match_substring_regex(rows.terms, r'"@[A-Za-z0-9-]+--(ltr|rtl)$')).as_py()
    head = f"{_XML_HEAD}{_ITS if directed else ''}><head>{names}</head><results>\n"
    return chain([head.encode()], rows.pieces(), [b"</results></sparql>\n"])


def _one_by_one(terms: pa.StringArray, spell: Callable[[term.Term], str]) -> pa.LargeStringArray:
    return pa.array([spell(term.parse(one)) for one in terms.to_pylist()], pa.large_string())


def _spelling(
    plain: Callable[[pa.StringArray], Spelled], spell: Callable[[term.Term], str]
) -> Callable[[pa.StringArray], pa.LargeStringArray]:
    """All that are plain at once, and the others one by one."""

    def spelled(terms: pa.StringArray) -> pa.LargeStringArray:
        texts, doubtful = plain(terms)
        if not len(doubtful):
            return texts
        if len(doubtful) == len(terms):
            return _one_by_one(terms, spell)
        others = _one_by_one(terms.take(pa.array(doubtful)), spell)
        source = np.arange(len(terms))
        source[doubtful] = len(terms) + np.arange(len(doubtful))
        return pa.concat_arrays([texts, others]).take(pa.array(source))

    return spelled


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


_json_terms = _spelling(spellings.json, _json_term)
_FORMS = {
    JSON: RowForm(_json_terms, lambda name: f"{_json(name)}:", "", "{", ",", "},"),
    ND_JSON: RowForm(_json_terms, lambda name: f"{_json(name)}:", "", "{", ",", "}\n"),
    XML: RowForm(
        lambda terms: _one_by_one(terms, _xml_term),
        lambda name: f'<binding name="{name}">',
        "</binding>",
        "<result>",
        "",
        "</result>\n",
        choosy=True,
    ),
    CSV: RowForm(_spelling(spellings.csv, _csv_term), lambda name: "", "", "", ",", "\r\n", skips=False),
    TSV: RowForm(lambda terms: terms.cast(pa.large_string()), lambda name: "", "", "", "\t", "\n", skips=False),
}
