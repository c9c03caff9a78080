from __future__ import annotations

import gzip
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import RdfError, UnsupportedFormat
from csparql_spark.rdf.formats import RdfFormat, format_of_media_type, format_of_path, parse_push, read_recording
from tests.examples import examples

from . import generated, naive

PLAIN = {RdfFormat.N_TRIPLES, RdfFormat.TURTLE, RdfFormat.RDF_XML}


@st.composite
def bodies(draw: st.DrawFn) -> tuple[RdfFormat, bytes]:
    format = draw(st.sampled_from(RdfFormat))
    text = generated.xml_texts if format is RdfFormat.RDF_XML else generated.texts
    quads = draw(generated.quads(text, graphs=format not in PLAIN))
    items = [quad.triple for quad in quads] if format in PLAIN else quads
    return format, ox.serialize(items, format=format.oxigraph)


@given(bodies())
@settings(max_examples=examples(200), deadline=None)
def test_a_push_says_what_pyoxigraph_reads(pushed: tuple[RdfFormat, bytes]) -> None:
    format, body = pushed
    chunk = parse_push(body, format, base=None, blank_prefix="k7.")
    assert chunk.triples() == naive.push(body, format.oxigraph, "k7.")
    assert chunk.terms.to_pylist() == list(dict.fromkeys(term for triple in chunk.triples() for term in triple))
    assert chunk.unstamped == len(chunk)


@given(bodies())
@settings(max_examples=examples(60), deadline=None)
def test_the_same_bytes_give_the_same_chunk(pushed: tuple[RdfFormat, bytes]) -> None:
    format, body = pushed
    first, second = (parse_push(body, format, base=None, blank_prefix="k").to_ipc() for _ in range(2))
    assert first == second


DOCUMENTS = {
    RdfFormat.N_TRIPLES: '_:x <urn:e:p> "a b"@en .',
    RdfFormat.N_QUADS: '_:x <urn:e:p> "a b"@en <urn:g> .',
    RdfFormat.TURTLE: '@prefix e: <urn:e:> . [] e:p "a b"@en .',
    RdfFormat.TRIG: '@prefix e: <urn:e:> . <urn:g> { [] e:p "a b"@en }',
    RdfFormat.JSON_LD: '{"@id": "urn:g", "@graph": [{"urn:e:p": {"@value": "a b", "@language": "en"}}]}',
    RdfFormat.RDF_XML: '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:e:">'
    '<rdf:Description><e:p xml:lang="en">a b</e:p></rdf:Description></rdf:RDF>',
}


@pytest.mark.parametrize("format", RdfFormat)
def test_each_format_with_and_without_a_byte_order_mark(format: RdfFormat) -> None:
    for mark in (b"", b"\xef\xbb\xbf"):
        chunk = parse_push(mark + DOCUMENTS[format].encode(), format, base=None, blank_prefix="n")
        assert chunk.triples() == [("_:n0", "<urn:e:p>", '"a b"@en')]


@pytest.mark.parametrize("format", RdfFormat)
@pytest.mark.parametrize("body", [b"", b" \r\n\t\n", b"\xef\xbb\xbf"])
def test_an_empty_body_is_an_empty_push(format: RdfFormat, body: bytes) -> None:
    assert parse_push(body, format, base=None, blank_prefix="b").to_ipc() == Chunk.empty().to_ipc()


@pytest.mark.parametrize("format, body", [(RdfFormat.TURTLE, b"# nothing"), (RdfFormat.JSON_LD, b"[]")])
def test_a_body_without_triples_is_an_empty_push(format: RdfFormat, body: bytes) -> None:
    assert parse_push(body, format, base=None, blank_prefix="b").to_ipc() == Chunk.empty().to_ipc()


def test_blank_nodes_are_numbered_in_order_of_first_appearance() -> None:
    body = b"_:z <urn:p> _:a .\n<urn:s> <urn:p> [ <urn:q> [] ] .\n_:a <urn:p> _:z ."
    assert parse_push(body, RdfFormat.TURTLE, base=None, blank_prefix="m3.").triples() == [
        ("_:m3.0", "<urn:p>", "_:m3.1"),
        ("_:m3.2", "<urn:q>", "_:m3.3"),
        ("<urn:s>", "<urn:p>", "_:m3.2"),
        ("_:m3.1", "<urn:p>", "_:m3.0"),
    ]


@pytest.mark.parametrize("prefix", ["", "a b", "_:x", "é", "-a"])
def test_a_prefix_that_gives_no_label_is_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match="cannot begin the label of a blank node"):
        parse_push(b"_:a <urn:p> 1 .", RdfFormat.TURTLE, base=None, blank_prefix=prefix)


def test_relative_iris_need_a_base() -> None:
    body = b"<a> <b> <../c> ."
    assert parse_push(body, RdfFormat.TURTLE, base="http://e.org/x/y", blank_prefix="b").triples() == [
        ("<http://e.org/x/a>", "<http://e.org/x/b>", "<http://e.org/c>")
    ]
    with pytest.raises(RdfError, match="No scheme found in an absolute IRI"):
        parse_push(body, RdfFormat.TURTLE, base=None, blank_prefix="b")


def test_lexical_forms_are_kept() -> None:
    body = b'<urn:a> <urn:p> 01, 1.0, +1, "1"^^<http://www.w3.org/2001/XMLSchema#byte>, "x"@EN-gb .'
    xsd = "^^<http://www.w3.org/2001/XMLSchema#"
    assert [o for _, _, o in parse_push(body, RdfFormat.TURTLE, base=None, blank_prefix="b").triples()] == [
        f'"01"{xsd}integer>',
        f'"1.0"{xsd}decimal>',
        f'"+1"{xsd}integer>',
        f'"1"{xsd}byte>',
        '"x"@en-gb',
    ]


@pytest.mark.parametrize(
    "format, body, sentence",
    [
        (
            RdfFormat.TURTLE,
            "<urn:é> <urn:b> 1 ;\r\n <urn:b> ex:c .",
            "Line 2, column 10: The prefix ex: has not been declared (at 'ex:c').",
        ),
        (RdfFormat.TURTLE, '<urn:a> <urn:b> "x', "Line 1, column 17: Unexpected end of file (at '\"x')."),
        (
            RdfFormat.N_QUADS,
            "<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b c> 1 .",
            "Line 2, column 9: Invalid IRI code point ' ' (at '<urn:b c>').",
        ),
        (
            RdfFormat.N_TRIPLES,
            "<urn:a> <urn:b> <c> .",
            "Line 1, column 17: No scheme found in an absolute IRI (at '<c>').",
        ),
        (RdfFormat.JSON_LD, '{"@id": "urn:é",\n "é": tru}', "Line 2, column 7: true expected."),
        (
            RdfFormat.JSON_LD,
            '{"@id": "urn:a", "urn:b": {"@type": 3}}',
            "The data is not JSON-LD: @type value must be a string.",
        ),
        (
            RdfFormat.RDF_XML,
            DOCUMENTS[RdfFormat.RDF_XML].replace("<e:p", '<e:p rdf:datatype="d"'),
            "The data is not RDF/XML: error while parsing IRI 'd': No scheme found in an absolute IRI.",
        ),
    ],
)
def test_errors_tell_what_and_where(format: RdfFormat, body: str, sentence: str) -> None:
    with pytest.raises(RdfError) as caught:
        parse_push(body.encode(), format, base=None, blank_prefix="b")
    assert str(caught.value) == sentence


def test_text_that_is_not_utf_8_is_refused_with_its_place() -> None:
    with pytest.raises(RdfError, match=r"Line 2, column 18: Invalid UTF-8") as caught:
        parse_push(b'<urn:a> <urn:b> "a" .\n<urn:a> <urn:b> "\xff" .', RdfFormat.N_QUADS, base=None, blank_prefix="b")
    assert (caught.value.line, caught.value.column) == (2, 18)


@pytest.mark.parametrize(
    "context",
    [
        '"http://127.0.0.1:9/context.jsonld"',
        '["http://127.0.0.1:9/context.jsonld"]',
        '{"@import": "http://127.0.0.1:9/c"}',
        '{"@vocab": "urn:v:", "a": {"@id": "urn:a", "@context": "http://127.0.0.1:9/c"}}',
    ],
)
def test_a_remote_context_is_refused_and_not_fetched(context: str) -> None:
    body = f'{{"@context": {context}, "@id": "urn:s", "a": {{"b": 1}}}}'.encode()
    with pytest.raises(RdfError) as caught:
        parse_push(body, RdfFormat.JSON_LD, base="http://127.0.0.1:9/", blank_prefix="b")
    assert str(caught.value) == (
        "The document refers to a remote @context, which is never fetched: write the context into it."
    )


@pytest.mark.parametrize(
    "header, format",
    [
        ("application/n-triples", RdfFormat.N_TRIPLES),
        ("application/n-quads", RdfFormat.N_QUADS),
        ("text/turtle", RdfFormat.TURTLE),
        ("application/trig", RdfFormat.TRIG),
        ("application/ld+json", RdfFormat.JSON_LD),
        ("application/rdf+xml", RdfFormat.RDF_XML),
        (" Text/Turtle ; charset=UTF-8", RdfFormat.TURTLE),
        ('application/ld+json;profile="http://www.w3.org/ns/json-ld#compacted"', RdfFormat.JSON_LD),
        ('application/n-quads; charset="utf-8"; x=y', RdfFormat.N_QUADS),
    ],
)
def test_media_types(header: str, format: RdfFormat) -> None:
    assert format_of_media_type(header) is format


@pytest.mark.parametrize(
    "header, message",
    [
        (None, "The data has no media type: send a Content-Type."),
        ("  ", "The data has no media type"),
        ("text/plain", "The media type 'text/plain' is not an RDF format"),
        ("application/json", "The media type 'application/json' is not an RDF format"),
        ("text/turtle; charset=iso-8859-1", "The data is declared as iso-8859-1: RDF is read as UTF-8 only."),
    ],
)
def test_other_media_types_are_refused_with_the_accepted_ones(header: str | None, message: str) -> None:
    with pytest.raises(UnsupportedFormat) as caught:
        format_of_media_type(header)
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(
        " Accepted are: application/n-triples, application/n-quads, text/turtle, application/trig, "
        "application/ld+json, application/rdf+xml."
    )


def test_extensions() -> None:
    names = ("a.nt", "b/c.NQ.gz", "x.y.ttl", "a.trig", "a.jsonld.gz", "a.rdf")
    assert [format_of_path(name) for name in names] == list(RdfFormat)
    assert [format_of_path(name) for name in ("a", "a.gz", "nt", "a.csv", "a.json")] == [None] * 5


@pytest.mark.parametrize("format", RdfFormat)
@pytest.mark.parametrize("zipped", [False, True])
def test_a_recording_is_read_by_its_extension(tmp_path: Path, format: RdfFormat, zipped: bool) -> None:
    path = tmp_path / ("r" + format.extensions[0] + (".gz" if zipped else ""))
    body = DOCUMENTS[format].encode()
    path.write_bytes(gzip.compress(body) if zipped else body)
    for given_path in (path, str(path)):
        chunk = read_recording(given_path, base=None, blank_prefix="r", default_format=RdfFormat.N_TRIPLES)
        assert chunk.triples() == [("_:r0", "<urn:e:p>", '"a b"@en')]


def test_a_recording_without_extension_is_n_quads_or_trig(tmp_path: Path) -> None:
    quads = "<urn:s> <urn:p> <urn:o> <urn:t:5> .\n"
    trig = "@prefix : <urn:> . <urn:t:5> { :s :p :o }"
    turtle = "<urn:s> <urn:p> <urn:o> ."
    path = tmp_path / "recording"
    for text, t in ((quads, 5), (trig, 5), (turtle, Chunk.UNSTAMPED), ("", None)):
        path.write_text(text)
        for source in (text, text.encode(), path):
            chunk = read_recording(source, base=None, blank_prefix="r")
            assert chunk.triples() == [("<urn:s>", "<urn:p>", "<urn:o>")] * (t is not None)
            assert chunk.first == chunk.last == (None if t in (None, Chunk.UNSTAMPED) else t)
    path.write_text(DOCUMENTS[RdfFormat.JSON_LD])
    assert len(read_recording(path, base=None, blank_prefix="r", default_format=RdfFormat.JSON_LD)) == 1


def test_the_complaint_about_a_text_is_that_of_the_language_it_is_closer_to() -> None:
    with pytest.raises(RdfError) as quads:
        read_recording("<urn:s> <urn:p> <urn:o> <urn:g> .\n<urn:s> <urn:p> <o> .", base=None, blank_prefix="r")
    assert str(quads.value) == "Line 2, column 17: No scheme found in an absolute IRI (at '<o>')."
    with pytest.raises(RdfError) as trig:
        read_recording("@prefix : <urn:> .\n:g { :s :p q:o }", base=None, blank_prefix="r")
    assert str(trig.value) == "Line 2, column 12: The prefix q: has not been declared (at 'q:o')."
    with pytest.raises(RdfError, match="Line 1, column 25: The graph name <urn:t:x> does not tell a time"):
        read_recording("<urn:s> <urn:p> <urn:o> <urn:t:x> .", base=None, blank_prefix="r")


def test_recordings_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    bad, cut, folder, wrong = (tmp_path / name for name in ("bad.nq.gz", "cut.nq.gz", "folder.nq", "wrong.ttl"))
    bad.write_bytes(b"<urn:s> <urn:p> <urn:o> .")
    cut.write_bytes(gzip.compress(DOCUMENTS[RdfFormat.N_QUADS].encode())[:-12])
    folder.mkdir()
    wrong.write_text("\n:x")
    for path, sentence in (
        (tmp_path / "none.nq", "There is no file {}."),
        (bad, "The file {} is not whole gzip data: Not a gzipped file (b'<u')."),
        (cut, "The file {} is not whole gzip data: Compressed file ended before the end-of-stream marker was reached."),
        (folder, "The file {} cannot be read: Is a directory."),
        (wrong, "Line 2, column 1: In {}: The prefix : has not been declared (at ':x')."),
    ):
        with pytest.raises(RdfError) as caught:
            read_recording(path, base=None, blank_prefix="r")
        assert str(caught.value) == sentence.format(path)


def test_an_unknown_extension_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnsupportedFormat) as caught:
        read_recording("monday.csv", base=None, blank_prefix="r")
    assert str(caught.value) == (
        "The extension of monday.csv is not that of an RDF format. Accepted are: .nt, .nq, .ttl, .n3, .trig, .jsonld, "
        ".rdf, .owl."
    )
