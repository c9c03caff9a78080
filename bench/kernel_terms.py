"""The kernel's functions of lines, terms and text, as cases of `bench.kernel`.

What a twin leaves to others is compared with what these do: lines with Oxigraph, spellings with those one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyoxigraph as ox

from bench.case import Case
from csparql_spark.answers.formats import _json_term, _one_by_one
from csparql_spark.kernel.limits import UNBOUNDED
from csparql_spark.kernel.texts import LineColumns, RowFrame
from csparql_spark.kernel.twin import row_text as twin_row_text
from csparql_spark.kernel.twin import terms as twin_terms
from csparql_spark.rdf.quads import Quads, split_any
from csparql_spark.rdf.terms import XSD

Table = Callable[[], Any]  # a class of tables of terms


def some_terms(random: np.random.Generator, count: int) -> pa.StringArray:
    """Distinct ones, as answers have them."""
    kinds = ("<http://example.org/room/{}>", f'"{{}}"^^<{XSD}integer>', '"room \\"{}\\""@en', "_:b{}")
    numbers = random.permutation(10 * count)[:count].tolist()
    return pa.array([kinds[place % 4].format(number) for place, number in enumerate(numbers)], pa.string())


def drawn(random: np.random.Generator, distinct: int, count: int) -> pa.StringArray:
    return some_terms(random, distinct).take(pa.array(random.integers(0, distinct, count)))


def body(random: np.random.Generator) -> tuple[object, ...]:
    terms = drawn(random, 5_000, 20_000).to_pylist()
    lines = (f"<urn:{place // 3}> <urn:p{place % 7}> {term} .\n" for place, term in enumerate(terms))
    return "".join(lines).encode(), False


def parsed(body: bytes, named: bool) -> Quads:
    """By who knows all of the syntax."""
    return split_any(ox.serialize(ox.parse(body, format=ox.RdfFormat.N_TRIPLES), format=ox.RdfFormat.N_QUADS))


def triples(read: LineColumns | Quads) -> tuple[list[str], ...]:
    if isinstance(read, Quads):
        texts = read.terms.to_pylist()
    else:
        data, offsets = read.terms
        texts = pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data)).to_pylist()
    return tuple([texts[id] for id in column.tolist()] for column in (read.s, read.p, read.o))


def of_new_table(table: Table, terms: pa.StringArray) -> Callable[[], object]:
    return lambda: table().encode(terms)


def of_known(table: Table, terms: pa.StringArray) -> Callable[[], object]:
    known = table()
    known.encode(terms)
    return lambda: known.encode(terms)


def by_id(table: Table, terms: pa.StringArray, ids: np.ndarray) -> Callable[[], object]:
    known = table()
    known.encode(terms)
    return lambda: known.decode(ids)


def rows(random: np.random.Generator, count: int, terms: int) -> tuple[object, ...]:
    """Three columns, of whose cells a tenth is unbound; all of it is written."""
    cells = _one_by_one(some_terms(random, terms), _json_term)
    places = np.where(random.random((3, count)) < 0.1, -1, random.integers(0, terms, (3, count))).astype(np.int32)
    frame = RowFrame("{", ('"room":', '"temperature":', '"name":'), "", ",", "},", skips=True)
    return cells, places, 0, frame, UNBOUNDED


CASES = {
    "lines": Case(
        "take 20,000 lines of N-Triples apart (Oxigraph, and numpy)", "lines.columns", parsed, body, told=triples
    ),
    "encode_new": Case(
        "ids of 50,000 terms, of which 20,000 are new (a dictionary)",
        "terms.Terms",
        twin_terms.Terms,
        lambda random: (drawn(random, 20_000, 50_000),),
        of_new_table,
    ),
    "encode_known": Case(
        "ids of 50,000 terms that are known (a dictionary)",
        "terms.Terms",
        twin_terms.Terms,
        lambda random: (drawn(random, 20_000, 50_000),),
        of_known,
    ),
    "decode": Case(
        "the texts of 50,000 ids (a list)",
        "terms.Terms",
        twin_terms.Terms,
        lambda random: (some_terms(random, 20_000), random.integers(0, 20_000, 50_000)),
        by_id,
    ),
    "distinct_terms": Case(
        "the distinct ones of 50,000 terms (Arrow)",
        "terms.distinct",
        twin_terms.distinct,
        lambda random: (drawn(random, 20_000, 50_000),),
    ),
    "spellings_json": Case(
        "spell 20,000 terms in JSON (one by one)",
        "spellings.json",
        lambda terms: (_one_by_one(terms, _json_term), np.empty(0, np.int64)),
        lambda random: (some_terms(random, 20_000),),
    ),
    "row_text_10": Case(
        "the text of 10 rows of 3 cells (Arrow)",
        "row_text.text_of",
        twin_row_text.text_of,
        lambda random: rows(random, 10, 20),
        told=lambda text: [text[0]],
    ),
    "row_text_100000": Case(
        "the same of 100,000 rows",
        "row_text.text_of",
        twin_row_text.text_of,
        lambda random: rows(random, 100_000, 50_000),
        told=lambda text: [text[0]],
    ),
}
