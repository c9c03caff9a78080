"""Pushes as NDJSON: one JSON object a line, each of them a triple or a JSON-LD document.

    {"s": "<urn:a>", "p": "<urn:p>", "o": "\\"1\\"", "t": 1700000000000}
    {"s": {"type": "uri", "value": "urn:a"}, "p": …, "o": {"type": "literal", …}, "t": "2023-11-14T22:13:20Z"}
    {"@context": {…}, "@id": "urn:a", "celsius": 21.5, "t": 1700000000000}

A term is a string in N-Triples syntax, or an object as in SPARQL JSON results; an object of a triple may also be a JSON
number (xsd:integer, or xsd:double when it has a fraction or an exponent) or a boolean. `t`, in epoch milliseconds or as
an xsd:dateTime, may be absent or null. A line without `s`, `p` and `o` is a JSON-LD document, whose graph names may
stamp it as in JSON-LD; `t` stamps all of it. Empty lines are left out. A label of a blank node is the same node in all
lines.

Lines that are all of the shape of the first one are read as columns; if one is not, or something is wrong, they are
read one by one, which says where.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyoxigraph as ox

from csparql_spark.rdf.bounds import place, refuse_explosive
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.columns import NAMES, BadTerm, chunk_of_columns
from csparql_spark.rdf.errors import RdfError
from csparql_spark.rdf.formats import RdfFormat, explained
from csparql_spark.rdf.jsonterms import SHAPES, Json, JsonNumber, as_terms, of_json
from csparql_spark.rdf.quads import split
from csparql_spark.rdf.stamps import parse_stamp, stamps
from csparql_spark.rdf.unmapped import CONTEXT, mended, unmapped_of

DEEPEST = 100
BLOCK = 16 << 20  # of lines that are read as columns at once; a line is not longer, or it is read by itself

_PIECE = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BRACES = np.zeros(256, np.int8)
_BRACES[[ord("{"), ord("[")]] = 1
_BRACES[[ord("}"), ord("]")]] = -1


def read_lines(body: bytes, *, base: str | None, blank_prefix: str) -> tuple[Chunk, int]:
    """The triples of a push, and how many members of its JSON-LD nothing maps (see `unmapped`). Raises `RdfError` if a
    line is neither a triple nor JSON-LD."""
    body = body.removeprefix(_BYTE_ORDER_MARK)
    if not body.strip():
        return Chunk.empty(), 0
    columns = _as_columns(body)
    if columns is not None:
        try:
            return chunk_of_columns(*columns, blank_prefix), 0
        except BadTerm:
            pass  # reading line by line tells where
    return _line_by_line(body, base, blank_prefix)


def _as_columns(body: bytes) -> tuple[pa.Array, pa.Array, pa.Array, pa.Array | None] | None:
    """The columns s, p, o and t, if all lines are triples whose members are of one shape each."""
    schema = _shape(body)
    if schema is None or _deep(body):
        return None
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    try:
        table = pj.read_json(pa.BufferReader(body), pj.ReadOptions(block_size=BLOCK, use_threads=False), options)
        columns = {name: table.column(name).combine_chunks() for name in table.column_names}
        if table.num_rows != _count_lines(body) or any(columns[name].null_count for name in NAMES):
            return None
        s, p, o = (as_terms(columns[name]) for name in NAMES)
        return None if s is None or p is None or o is None else (s, p, o, _stamps(columns.get("t")))
    except (pa.ArrowException, ValueError):
        return None


def _shape(body: bytes) -> pa.Schema | None:
    """The types of the members of the first line that is not empty, if it is a triple."""
    start = len(body) - len(body.lstrip())
    end = body.find(b"\n", start)
    try:
        first = json.loads(body[start : end if end >= 0 else len(body)])
    except (ValueError, RecursionError):
        return None
    if not isinstance(first, dict) or not {"s", "p", "o"} <= first.keys() <= {"s", "p", "o", "t"}:
        return None
    fields = {name: SHAPES.get(type(first[name])) for name in NAMES}
    fields["t"] = pa.string() if isinstance(first.get("t"), str) else pa.int64()
    return None if None in fields.values() else pa.schema(list(fields.items()))


def _deep(body: bytes) -> bool:
    """Whether braces could nest more than the parser of columns, which is recursive, should be given."""
    level = 0
    for start in range(0, len(body), _PIECE):
        # Braces in strings count too: who has many of them unbalanced is read line by line.
        piece = np.frombuffer(body, np.uint8, min(_PIECE, len(body) - start), start)
        levels = np.cumsum(_BRACES[piece], dtype=np.int64)
        if len(levels) and level + int(levels.max()) > DEEPEST:
            return True
        level = max(level + int(levels[-1]), 0)
    return False


def _count_lines(body: bytes) -> int:
    lines = pc.split_pattern(pa.array([body], pa.large_binary()), b"\n").flatten()
    return len(lines) - (
        pc.sum(pc.equal(pc.binary_length(pc.ascii_trim_whitespace(lines.cast(pa.large_string()))), 0)).as_py() or 0
    )


def _stamps(column: pa.Array | None) -> pa.Array | None:
    """Milliseconds; an xsd:dateTime that occurs often is read once."""
    if column is None or not pa.types.is_string(column.type):
        return column
    encoded = column.dictionary_encode()
    instants = pa.array([parse_stamp(text) for text in encoded.dictionary.to_pylist()], pa.int64())
    return instants.take(encoded.indices)


class _Rows:
    """Triples that are found one by one, and the line of each."""

    def __init__(self) -> None:
        self.columns: dict[str, list[str | int | None]] = {"s": [], "p": [], "o": [], "t": []}
        self.lines: list[int] = []

    def add(self, line: int, s: str, p: str, o: str, t: int | None) -> None:
        for column, value in zip(self.columns.values(), (s, p, o, t), strict=True):
            column.append(value)
        self.lines.append(line)

    def chunk(self, blank_prefix: str) -> Chunk:
        s, p, o = (pa.array(self.columns[name], pa.string()) for name in NAMES)
        return chunk_of_columns(s, p, o, pa.array(self.columns["t"], pa.int64()), blank_prefix)


def _line_by_line(body: bytes, base: str | None, blank_prefix: str) -> tuple[Chunk, int]:
    rows, lines, unmapped = _Rows(), body.split(b"\n"), 0
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        members = _object(line, number)
        if members.keys() & {"s", "p", "o"} and not _is_json_ld(members):
            rows.add(number, *_triple(members, line, number))
        else:
            for triple in _json_ld(members, line, number, base):
                rows.add(number, *triple)
            unmapped += unmapped_of({name: value for name, value in members.items() if name != "t"})
    try:
        return rows.chunk(blank_prefix), unmapped
    except BadTerm as bad:
        number = rows.lines[bad.row]
        _fail(bad.message, lines[number], number, bad.column, bad.offending)


def _is_json_ld(members: dict[str, Json]) -> bool:
    """Somebody's JSON-LD may have a member `s`; but then it says that it is JSON-LD."""
    return any(name.startswith("@") for name in members)


def _object(line: bytes, number: int) -> dict[str, Json]:
    """The object in a line; numbers keep their spelling."""
    try:
        text = line.decode("utf-8")
        members = json.loads(text, parse_int=JsonNumber, parse_float=JsonNumber, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise RdfError("The line is not UTF-8", number + 1, place(line, error.start)[1]) from error
    except json.JSONDecodeError as error:
        raise RdfError(
            f"The line is not JSON: {error.msg}",
            number + 1,
            error.pos + 1,
            text[error.pos : error.pos + 40].strip() or None,
        ) from error
    except RecursionError as error:
        raise RdfError(f"The line nests objects more than {DEEPEST} deep", number + 1, 1) from error
    except ValueError as error:
        raise RdfError(f"The line is not JSON: {error}", number + 1, 1) from error
    if not isinstance(members, dict):
        raise RdfError(
            'The line is no JSON object: write one object a line, as {"s": "<urn:a>", "p": "<urn:p>", "o": 21.5}',
            number + 1,
            1,
        )
    return members


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _triple(members: dict[str, Json], line: bytes, number: int) -> tuple[str, str, str, int | None]:
    for name in members:
        if name not in ("s", "p", "o", "t"):
            _fail(f"A triple has no member {name!r}: it has s, p, o and perhaps t", line, number, name, None)
    terms: list[str] = []
    for name in NAMES:
        if name not in members:
            _fail(f"The triple has no {name}", line, number, name, None)
        try:
            terms.append(of_json(members[name], name == "o"))
        except ValueError as error:
            _fail(str(error), line, number, name, None)
    return terms[0], terms[1], terms[2], _stamp(members.get("t"), line, number)


def _stamp(value: Json, line: bytes, number: int) -> int | None:
    if value is None:
        return None
    try:
        if not isinstance(value, str):  # numbers are strings that keep their spelling
            raise ValueError("it is neither a number nor a string")
        return parse_stamp(value)
    except ValueError as error:
        _fail(f"t does not tell a time: {error}. Write epoch milliseconds or an xsd:dateTime", line, number, "t", None)


def _json_ld(
    members: dict[str, Json], line: bytes, number: int, base: str | None
) -> Iterator[tuple[str, str, str, int | None]]:
    text, at = line, None
    context = members.get("@context")
    try:
        if "t" in members and not (isinstance(context, dict) and "t" in context):
            at = _stamp(members["t"], line, number)
            # JSON-LD leaves out members that its context does not know; but with a @vocab this one would be a triple.
            text = json.dumps({name: _plain(value) for name, value in members.items() if name != "t"}).encode()
    except RdfError:
        raise
    except (ValueError, RecursionError) as error:
        raise RdfError(f"The line is not JSON-LD: {error}", number + 1, 1) from error
    try:
        refuse_explosive(text, "JSON-LD")
        document = ox.serialize(ox.parse(text, format=ox.RdfFormat.JSON_LD, base_iri=base), format=ox.RdfFormat.N_QUADS)
        quads = split(document or b"")  # it is bytes where no output is named
        stamped = stamps(quads).tolist()
    except (SyntaxError, RdfError) as error:
        why = error if isinstance(error, RdfError) else explained(error, text, RdfFormat.JSON_LD)
        column = why.column if text is line and why.column else 1
        raise RdfError(why.message, number + 1, column, why.offending) from error
    if not stamped and not any(name.startswith("@") for name in members):
        shown = mended(line)
        raise RdfError(
            "The line says nothing: it is neither a triple with s, p and o nor JSON-LD, whose @context says what its "
            f"names mean. {f'With one it would be: {shown}' if shown else f'Write one into it, as {CONTEXT}'}",
            number + 1,
            1,
        )
    columns = (quads.terms.take(pa.array(ids)).to_pylist() for ids in (quads.s, quads.p, quads.o))
    for s, p, o, t in zip(*columns, stamped, strict=True):
        yield s, p, o, at if t == Chunk.UNSTAMPED else t


def _plain(value: Json) -> Json:
    """The JSON value with its numbers as numbers."""
    if isinstance(value, JsonNumber):
        return json.loads(value)
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _fail(message: str, line: bytes, number: int, name: str, offending: str | None) -> NoReturn:
    """Raises the problem, at the member of that name."""
    column = 1
    if offending is not None:
        column = max(line.find(json.dumps(offending, ensure_ascii=False)[1:-1].encode()), 0)
    if offending is None or not column:
        column = max(line.find(json.dumps(name).encode()), 0)
    raise RdfError(message, number + 1, len(line[:column].decode("utf-8", "replace")) + 1, offending)
