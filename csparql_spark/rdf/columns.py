"""Columns of terms: triples that come as columns of strings, made a chunk without looking at one triple at a time.

Subjects, predicates and objects are strings in N-Triples syntax, dictionary-encoded or plain. Distinct terms are looked
at once: most are of a plain shape that one regular expression knows to be valid and canonical; the others are read and
written by the parser of N-Triples, so that the chunk is the one that the same triples give as N-Triples.

    column = pa.array(["<urn:a>", "<urn:a>"])
    chunk = chunk_of_columns(column, column, pa.array(['"1"', '"1"@EN']), None, "x7.")
    chunk.triples()[1]         # ('<urn:a>', '<urn:a>', '"1"@en')

A `BadTerm` says in which row and column a term stands that is none. Blank nodes are renamed as in any push.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from csparql_spark.rdf.bounds import TRIPLE_TERMS, BoundedSink
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import CorruptChunk
from csparql_spark.rdf.quads import renamed
from csparql_spark.rdf.stamps import EARLIEST, LATEST

NAMES = ("s", "p", "o")
MOST_TRIPLES = 5_000_000  # of one push: their ids are some hundred bytes each while they are sorted
MOST_TEXT = 2**30  # bytes of distinct terms

# Valid and canonical beyond doubt; what it does not match may still be either.
_PATH = r"[A-Za-z0-9._~:@!$&'()*+,;=-]"
_IRI = (
    rf"<[A-Za-z][A-Za-z0-9+.-]*:(?://[A-Za-z0-9._~-]+(?::[0-9]{{1,5}})?(?:/(?:{_PATH}|/)*)?|{_PATH}(?:{_PATH}|/)*)"
    rf"(?:\?(?:{_PATH}|[/?])*)?(?:#(?:{_PATH}|[/?])*)?>"
)
_TEXT = r'"(?:[ !#-\[\]-~]|[\x{a0}-\x{d7ff}])*"'
_PLAIN = rf"^(?:{_IRI}|_:[A-Za-z0-9_][A-Za-z0-9_-]*|{_TEXT}(?:@[a-z]{{2,3}}(?:-[a-z]{{2}})?|\^\^{_IRI})?)$"
# Datatypes that canonical N-Triples writes in another way, or not at all, come from these two vocabularies.
_NOT_PLAIN = r"#(?:string|langString|dirLangString)>$"
# One term and nothing else: neither a second one nor the rest of a line.
_ONE = (
    r'^(?:<[^\x00-\x20<>"{}|^`]*>|_:[^\s<>"\\]+|"(?:[^"\\\n\r]|\\.)*"'
    r'(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--[a-z]+)?|\^\^<[^\x00-\x20<>"{}|^`]*>)?)$'
)
_BEFORE, _AFTER = "<urn:x> <urn:x> ", " ."


class BadTerm(ValueError):
    """What is wrong with a term, and where it stands: a row, counted from 0, and "s", "p", "o" or "t"."""

    def __init__(self, message: str, row: int, column: str, offending: str | None = None) -> None:
        super().__init__(message, row, column, offending)
        self.message, self.row, self.column, self.offending = message, row, column, offending


def chunk_of_columns(s: pa.Array, p: pa.Array, o: pa.Array, t: pa.Array | None, blank_prefix: str) -> Chunk:
    """The chunk of columns of one length. `t` is int64, milliseconds since the epoch; null is unstamped."""
    if len(s) > MOST_TRIPLES:
        raise BadTerm(f"A push has at most {MOST_TRIPLES} triples: push them in parts", MOST_TRIPLES, "s")
    stamps = _stamps(t, len(s))
    terms, ids = _unified([s, p, o])
    chunk = _canonical(Chunk.from_columns(terms, ids[0], ids[1], ids[2], stamps))
    _check_positions(chunk)
    return dataclasses.replace(chunk, terms=renamed(chunk.terms, blank_prefix))


def checked(chunk: Chunk) -> Chunk:
    """A chunk that somebody else has made of terms that are canonical already: each of them is a term of its place, and
    what else holds of a chunk holds of this one. Raises `CorruptChunk`."""
    if not pc.all(pc.match_substring_regex(chunk.terms, _ONE), min_count=0).as_py():
        raise CorruptChunk("The chunk has what is no term.")
    encoded = chunk.terms.dictionary_encode()
    ids = encoded.indices.to_numpy()
    made = Chunk.from_columns(encoded.dictionary, ids[chunk.s], ids[chunk.p], ids[chunk.o], chunk.t)
    try:
        _check_positions(made)
        _stamps(pa.array(made.t, pa.int64(), mask=made.t == Chunk.UNSTAMPED), len(made))
    except BadTerm as bad:
        raise CorruptChunk(f"The chunk is not one of triples: {bad.message}.") from bad
    return made


def _stamps(t: pa.Array | None, count: int) -> np.ndarray:
    if t is None:
        return np.full(count, Chunk.UNSTAMPED, np.int64)
    outside = pc.or_(pc.less(t, EARLIEST), pc.greater(t, LATEST))
    row = pc.index(outside, True).as_py()
    if row >= 0:
        raise BadTerm(f"The timestamp {t[row]} is outside the years 0001 to 9999", row, "t", str(t[row]))
    return t.fill_null(Chunk.UNSTAMPED).to_numpy()


def _unified(columns: list[pa.Array]) -> tuple[pa.StringArray, list[np.ndarray]]:
    """The distinct strings of the columns, and the ids of each column into them."""
    encoded = [column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode() for column in columns]
    strings = [column.dictionary.cast(pa.large_string()) for column in encoded]
    if sum(column.nbytes for column in strings) > MOST_TEXT:
        raise BadTerm(f"The terms have more than {MOST_TEXT} bytes: push the triples in parts", 0, "s")
    unified = pa.concat_arrays([column.cast(pa.string()) for column in strings]).dictionary_encode()
    place = unified.indices.fill_null(-1).to_numpy()
    starts = np.cumsum([0] + [len(column) for column in strings[:-1]])
    found = []
    for name, start, column in zip(NAMES, starts, encoded, strict=True):
        # Its own null, or one that it points to.
        indices = column.indices.cast(pa.int64()).fill_null(-1).to_numpy()
        known = indices >= 0
        ids = np.full(len(indices), -1, np.int32)
        ids[known] = place[start + indices[known]]
        if len(ids) and ids.min() < 0:
            raise BadTerm("There is no term here", int(np.argmin(ids)), name)
        found.append(ids)
    return unified.dictionary, found


def _canonical(chunk: Chunk) -> Chunk:
    """The chunk with its terms as N-Triples writes them; two spellings of a term become one."""
    terms = chunk.terms
    plain = pc.and_(pc.match_substring_regex(terms, _PLAIN), pc.invert(pc.match_substring_regex(terms, _NOT_PLAIN)))
    if pc.all(plain, min_count=0).as_py():
        return chunk
    doubtful = np.flatnonzero(~plain.to_numpy(zero_copy_only=False))
    rewritten = _rewritten(chunk, doubtful)
    encoded = pc.replace_with_mask(terms, pc.invert(plain), rewritten).dictionary_encode()
    ids = encoded.indices.to_numpy()
    return Chunk.from_columns(encoded.dictionary, ids[chunk.s], ids[chunk.p], ids[chunk.o], chunk.t)


def _rewritten(chunk: Chunk, which: np.ndarray) -> pa.StringArray:
    texts = chunk.terms.take(pa.array(which))
    wrong = pc.index(pc.match_substring_regex(texts, _ONE), False).as_py()
    if wrong >= 0:
        text = texts[wrong].as_py()
        raise _bad(
            chunk,
            int(which[wrong]),
            TRIPLE_TERMS
            if text.startswith("<<")
            else 'This is no term in N-Triples syntax: write <IRI>, _:label, or "text" with a @language or '
            "^^<datatype> behind it",
            text,
        )
    around = [pa.scalar(text, pa.large_string()) for text in (_BEFORE, f"{_AFTER}\n", "")]
    lines = pc.binary_join_element_wise(around[0], texts.cast(pa.large_string()), *around[1:])
    document = lines.buffers()[2].to_pybytes()
    sink = BoundedSink(len(document))
    try:
        ox.serialize(ox.parse(document, format=ox.RdfFormat.N_TRIPLES), sink, format=ox.RdfFormat.N_QUADS)
    except SyntaxError as error:
        place = int(which[(error.lineno or 1) - 1])
        raise _bad(chunk, place, error.msg.rpartition(": ")[2], chunk.terms[place].as_py()) from error
    written = pc.split_pattern(pa.array([sink.getvalue().decode()], pa.string()), "\n").flatten()[:-1]
    return pc.utf8_slice_codeunits(written, len(_BEFORE), -len(_AFTER)).cast(pa.string())


def _check_positions(chunk: Chunk) -> None:
    literal = pc.starts_with(chunk.terms, '"').to_numpy(zero_copy_only=False)
    blank = pc.starts_with(chunk.terms, "_:").to_numpy(zero_copy_only=False)
    for name, ids, banned, what in (
        ("s", chunk.s, literal, "A subject is an IRI or a blank node"),
        ("p", chunk.p, literal | blank, "A predicate is an IRI"),
    ):
        wrong = banned[ids]
        if wrong.any():
            row = int(np.argmax(wrong))
            raise BadTerm(what, row, name, chunk.terms[int(ids[row])].as_py())


def _bad(chunk: Chunk, id: int, message: str, offending: str) -> BadTerm:
    """The problem, at the first place of a term."""
    row, name = min(
        (int(np.argmax(ids == id)), name) for name, ids in zip(NAMES, (chunk.s, chunk.p, chunk.o)) if (ids == id).any()
    )
    return BadTerm(message, row, name, offending if len(offending) <= 80 else offending[:79] + "…")
