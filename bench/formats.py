"""Formats: the same push in each form that a producer may choose, from its bytes to a chunk.

For example:

    measure(200_000)        # {"ntriples_per_s": …, "ndjson_strings_per_s": …, "arrow_dictionaries_per_s": …, …}
"""

from __future__ import annotations

import json
import time

import pyarrow as pa

from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.pushes import AnyFormat, push_format, read_push
from csparql_spark.rdf.terms import XSD

TIMES = 4  # the best counts
Rows = tuple[list[str], list[str], list[str]]


def measure(triples: int) -> dict[str, float]:
    """Triples a second, by format."""
    rows = readings(triples)
    told = {}
    for name, (media_type, body) in bodies(rows).items():
        format = push_format(media_type)
        chunk = _read(body, format)
        if len(chunk) != triples:
            raise RuntimeError(f"{name}: {len(chunk)} triples of {triples}")
        best = min(_seconds(body, format) for _ in range(TIMES))
        told[f"{name}_per_s"] = triples / best
    return {"triples": triples, **told}


def readings(count: int) -> Rows:
    """A value of one of 500 sensors each; every subject is a new one."""
    return (
        [f"<http://ex.org/reading/{n}>" for n in range(count)],
        [f"<http://ex.org/{'by' if n % 2 else 'value'}>" for n in range(count)],
        [f"<http://ex.org/sensor/{n % 500}>" if n % 2 else f'"{n % 1000}"^^<{XSD}integer>' for n in range(count)],
    )


def bodies(rows: Rows) -> dict[str, tuple[str, bytes]]:
    """The media type and the bytes of a push, by name."""
    triples = list(zip(*rows))
    plain = pa.table(dict(zip("spo", rows)))
    coded = pa.table({name: plain[name].dictionary_encode() for name in plain.column_names})
    strings = "".join(json.dumps(dict(zip("spo", triple))) + "\n" for triple in triples)
    objects = "".join(json.dumps(dict(zip("spo", map(_object, triple)))) + "\n" for triple in triples)
    arrow, ndjson = "application/vnd.apache.arrow.stream", "application/x-ndjson"
    return {
        "ntriples": ("application/n-triples", "".join(f"{' '.join(triple)} .\n" for triple in triples).encode()),
        "ndjson_strings": (ndjson, strings.encode()),
        "ndjson_objects": (ndjson, objects.encode()),
        "arrow_strings": (arrow, _stream(plain)),
        "arrow_dictionaries": (arrow, _stream(coded)),
    }


def _object(term: str) -> dict[str, str]:
    """As in SPARQL's JSON results."""
    if term.startswith("<"):
        return {"type": "uri", "value": term[1:-1]}
    value, _, datatype = term[1:].partition('"^^')
    return {"type": "literal", "value": value, "datatype": datatype[1:-1]}


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _read(body: bytes, format: AnyFormat) -> Chunk:
    return read_push(body, format, base=None, blank_prefix="b")


def _seconds(body: bytes, format: AnyFormat) -> float:
    start = time.perf_counter()
    _read(body, format)
    return time.perf_counter() - start
