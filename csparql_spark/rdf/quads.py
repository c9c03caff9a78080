"""Quads as columns: a document of canonical N-Quads lines, taken apart without looking at one line at a time.

A canonical line is `subject predicate object .` or `subject predicate object graph .` with single spaces and a line
feed. IRIs and blank nodes contain neither spaces nor double quotes, and a literal ends after the last double quote of
its line; so the first two spaces of a line end its subject and its predicate, and there is a graph exactly when a
token that starts with `<` or `_` follows the object's end.

    quads = split(b'<urn:a> <urn:p> "x y" <urn:g> .\\n')
    quads.terms.to_pylist()            # ['<urn:a>', '<urn:p>', '"x y"']
    quads.graphs.to_pylist(), quads.g  # ['<urn:g>'], [0]

`terms` are the distinct terms of s, p and o, `graphs` the distinct graph names; `g` is -1 where a line names no graph.
Where a document is of a plain kind, compiled loops take it apart (`kernel.lines`); `plain` says so of what may not even
be N-Quads: they read no body of which there is a doubt that it is canonical.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.kernel.lines import columns
from csparql_spark.kernel.texts import TextColumn
from csparql_spark.rdf.errors import RdfError

LONGEST_DOCUMENT = 2**31 - 1  # offsets into it are int32
_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True, eq=False)
class Quads:
    terms: pa.StringArray
    s: np.ndarray
    p: np.ndarray
    o: np.ndarray
    graphs: pa.StringArray
    g: np.ndarray


def plain(body: bytes, *, named: bool) -> Quads | None:
    """The columns of a body of N-Triples or, if lines may name graphs, of N-Quads; None where there is any doubt that
    it is canonical. Terms are in order of first use."""
    read = columns(body, named)
    if read is None:
        return None
    return Quads(_strings(read.terms), read.s, read.p, read.o, _strings(read.graphs), read.g)


def split(document: bytes) -> Quads:
    """The columns of a document of canonical N-Quads."""
    if len(document) > LONGEST_DOCUMENT:
        raise RdfError(f"The data has {len(document)} bytes as N-Quads, more than {LONGEST_DOCUMENT}: push it in parts")
    return plain(document, named=True) or split_any(document)


def split_any(document: bytes) -> Quads:
    """The columns of a document of canonical N-Quads, of whatever kind its terms are."""
    text = np.frombuffer(document, np.uint8)
    feeds = np.flatnonzero(text == 10)
    lines = len(feeds)
    spaces = np.flatnonzero(text == 32)
    starts = np.empty(lines, np.int64)
    starts[:1] = 0
    starts[1:] = feeds[:-1] + 1
    # A line ends " .\n", so the space at feeds - 2 is its last.
    last = np.searchsorted(spaces, feeds - 2)
    first = np.empty(lines, np.int64)
    first[:1] = 0
    first[1:] = last[:-1] + 1
    object_ends, named = _object_ends(text, spaces, first, last, feeds)

    # Four strings a line cover the document without a gap, each with what separates it from the next. So the document
    # itself is the data of a string array, and nothing is copied before it is known to be distinct.
    offsets = np.empty(4 * lines + 1, np.int32)
    offsets[:-1:4] = starts
    offsets[1::4] = spaces[first] + 1
    offsets[2::4] = spaces[first + 1] + 1
    offsets[3::4] = object_ends + 1
    offsets[-1] = len(document)
    strings = pa.StringArray.from_buffers(4 * lines, pa.py_buffer(offsets), pa.py_buffer(document))
    encoded = strings.dictionary_encode()
    ids = encoded.indices.to_numpy().reshape(lines, 4)
    # "x " before a term, "x .\n" of a graph and ".\n" of none lose their separators; no term ends in one of these.
    distinct = pc.ascii_rtrim(encoded.dictionary, characters=" .\n")

    terms, renumbered = _used(distinct, ids[:, :3])
    s, p, o = (np.ascontiguousarray(renumbered[:, i]) for i in range(3))
    if not named.any():
        return Quads(terms, s, p, o, pa.array([], pa.string()), np.full(lines, -1, np.int32))
    graphs, numbered = _used(distinct, ids[named, 3])
    g = np.full(lines, -1, np.int32)
    g[named] = numbered
    return Quads(terms, s, p, o, graphs, g)


def renamed(terms: pa.StringArray, prefix: str) -> pa.StringArray:
    """Distinct terms, blank nodes being renamed to the prefix and their number in order of appearance."""
    if not _PREFIX.fullmatch(prefix):
        raise ValueError(f"{prefix!r} cannot begin the label of a blank node: use letters and digits")
    blank = pc.starts_with(terms, "_:")
    count = pc.sum(blank).as_py() or 0
    if not count:
        return terms
    numbers = pa.array(np.arange(count)).cast(pa.string())
    labels = pc.binary_join_element_wise("_:" + prefix, numbers, "")
    return pc.replace_with_mask(terms, blank, labels)


def _strings(texts: TextColumn) -> pa.StringArray:
    return pa.StringArray.from_buffers(len(texts.offsets) - 1, pa.py_buffer(texts.offsets), pa.py_buffer(texts.data))


def _object_ends(
    text: np.ndarray, spaces: np.ndarray, first: np.ndarray, last: np.ndarray, feeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where the space after each line's object is, and which lines have a graph name behind it.

    `first` and `last` are the indices into `spaces` of each line's first and last one.
    """
    ends = spaces[last]
    named = np.zeros(len(feeds), bool)
    lines = np.flatnonzero(last > first + 2)
    before = spaces[last[lines] - 1]
    initial = text[before + 1]
    named_or_text = (initial == ord("<")) | (initial == ord("_"))
    lines, before = lines[named_or_text], before[named_or_text]
    if len(lines):
        quotes = np.concatenate(([-1], np.flatnonzero(text == 34)))
        closing = quotes[np.searchsorted(quotes, feeds[lines]) - 1]
        lines, before = lines[closing < before], before[closing < before]
        ends[lines] = before
        named[lines] = True
    return ends, named


def _used(distinct: pa.StringArray, ids: np.ndarray) -> tuple[pa.StringArray, np.ndarray]:
    """The strings that `ids` use, in the order of `distinct`, and the ids into them."""
    used = np.zeros(len(distinct), bool)
    used[ids.reshape(-1)] = True
    if used.all():
        return distinct, ids
    renumbered = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return distinct.filter(pa.array(used)), renumbered[ids]
