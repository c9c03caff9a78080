"""Bodies that are read by the quick way give the chunk that the long way gives, byte by byte."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.kernel import native
from csparql_spark.rdf import formats
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import RdfError
from csparql_spark.rdf.formats import RdfFormat, parse_push, read_recording
from csparql_spark.rdf.quads import plain, split, split_any
from tests.examples import examples
from tests.kernel import test_lines as lines

from . import generated

if native.library is None:
    pytest.skip(f"there is no quick way: {native.missing}", allow_module_level=True)

FORMATS = {False: RdfFormat.N_TRIPLES, True: RdfFormat.N_QUADS}
STAMPING = ["<urn:t:1700000000000>", "<urn:t:2023-11-14T22:13:20.5Z>", "<urn:t:never>", "<urn:g>", "_:g"]
PROV = f'<urn:g> <http://www.w3.org/ns/prov#generatedAtTime> "2023-11-14T22:13:20Z"^^<{lines.XSD}dateTime> .\n'


def said(body: bytes, format: RdfFormat, monkeypatch: pytest.MonkeyPatch, quick: bool) -> bytes | tuple[object, ...]:
    """The bytes of the chunk, or the complaint."""
    with monkeypatch.context() as patched:
        if not quick:
            patched.setattr(formats, "plain", lambda body, named: None)
            patched.setattr(formats, "split", split_any)
        try:
            return parse_push(body, format, base=None, blank_prefix="k7.").to_ipc()
        except RdfError as error:
            return error.message, error.line, error.column, error.offending


@st.composite
def stamped(draw: st.DrawFn) -> tuple[bytes, bool]:
    rows = draw(st.lists(lines.usual | st.just(PROV), max_size=8))
    names = [draw(st.sampled_from(["", *STAMPING])) for _ in rows]
    return "".join(f"{row[:-2]}{name} .\n" if name else row for row, name in zip(rows, names)).encode(), True


@given(lines.bodies() | lines.spoilt() | stamped())
@settings(max_examples=examples(600), deadline=None)
def test_both_ways_say_the_same(pushed: tuple[bytes, bool]) -> None:
    body, named = pushed
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert said(body, FORMATS[named], monkeypatch, True) == said(body, FORMATS[named], monkeypatch, False)


@given(generated.quads())
@settings(max_examples=examples(150), deadline=None)
def test_what_pyoxigraph_writes_is_taken_apart_alike(quads: list[ox.Quad]) -> None:
    document = ox.serialize(quads, format=ox.RdfFormat.N_QUADS)
    quick, slow = split(document), split_any(document)
    for name in ("s", "p", "o"):
        assert getattr(quick, name).dtype == getattr(slow, name).dtype
        assert [quick.terms[i].as_py() for i in getattr(quick, name)] == [
            slow.terms[i].as_py() for i in getattr(slow, name)
        ]
    assert [g >= 0 and quick.graphs[g].as_py() for g in quick.g.tolist()] == [
        g >= 0 and slow.graphs[g].as_py() for g in slow.g.tolist()
    ]


def test_recordings_are_read_the_quick_way_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ox, "parse", None)
    monkeypatch.setattr(ox, "serialize", None)
    body = b"_:a <urn:p> _:b <urn:t:5> .\n<urn:a> <urn:p> _:a ."
    expected = [("_:m.0", "<urn:p>", "_:m.1"), ("<urn:a>", "<urn:p>", "_:m.0")]
    assert read_recording(body, base=None, blank_prefix="m.").triples() == expected
    chunk = parse_push(body, RdfFormat.N_QUADS, base=None, blank_prefix="m.")
    assert chunk.triples() == expected and chunk.t.tolist() == [5, Chunk.UNSTAMPED]
    assert plain(body, named=False) is None
