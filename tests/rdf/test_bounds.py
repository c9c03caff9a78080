from __future__ import annotations

import pytest

from csparql_spark.rdf import bounds
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import RdfError
from csparql_spark.rdf.formats import RdfFormat, parse_push


def parse(body: str, format: RdfFormat) -> Chunk:
    return parse_push(body.encode(), format, base=None, blank_prefix="b")


def refusal(body: str, format: RdfFormat) -> RdfError:
    with pytest.raises(RdfError) as caught:
        parse(body, format)
    return caught.value


def rdf_xml(content: str, doctype: str = "") -> str:
    return (
        f'{doctype}<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:e:">\n'
        f'<rdf:Description rdf:about="urn:a">{content}</rdf:Description></rdf:RDF>'
    )


def test_entities_are_read() -> None:
    doctype = '<!DOCTYPE r [<!ENTITY e "urn:long:">]>'
    chunk = parse(rdf_xml('<e:p rdf:resource="&e;b"/>', doctype), RdfFormat.RDF_XML)
    assert chunk.triples() == [("<urn:a>", "<urn:e:p>", "<urn:long:b>")]


@pytest.mark.parametrize(
    "doctype, offending",
    [
        ('<!DOCTYPE r [\n<!ENTITY a "x"> <!ENTITY b "&a;&a;">]>', '<!ENTITY b "&a;&a;"'),
        ('<!DOCTYPE r [\n<!ENTITY a "x"> <!ENTITY b "&#38;a;">]>', '<!ENTITY b "&#38;a;"'),
        ("<!DOCTYPE r [\n<!ENTITY a \"x\"> <!ENTITY % b 'x'>]>", "<!ENTITY % b 'x'"),
    ],
)
def test_entities_of_entities_are_refused(doctype: str, offending: str) -> None:
    error = refusal(rdf_xml("<e:p>&b;</e:p>", doctype), RdfFormat.RDF_XML)
    assert (error.line, error.column, error.offending) == (2, 17, offending)
    assert error.message == "An entity of the document is defined through another one: write its value out"


def test_entities_that_expand_out_of_proportion_are_refused() -> None:
    doctype = f'<!DOCTYPE r [<!ENTITY a "{"x" * 100_000}">]>'
    assert len(parse(rdf_xml("<e:p>&a;</e:p>" * 2, doctype), RdfFormat.RDF_XML)) == 2
    error = refusal(rdf_xml("<e:p>&a;</e:p>" * 1000, doctype), RdfFormat.RDF_XML)
    assert str(error) == (
        "The document's entities stand for 100000000 bytes, out of proportion to its size: shorten them."
    )


def test_external_entities_are_not_read(tmp_path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    doctype = f'<!DOCTYPE r [<!ENTITY a SYSTEM "{secret.as_uri()}">]>'
    assert "secret" not in refusal(rdf_xml("<e:p>&a;</e:p>", doctype), RdfFormat.RDF_XML).message


def test_deep_xml_is_refused() -> None:
    def nested(depth: int) -> str:
        return rdf_xml("<e:p><rdf:Description>\n" * depth + "</rdf:Description></e:p>" * depth)

    assert len(parse(nested(127), RdfFormat.RDF_XML)) == 127
    error = refusal(nested(128), RdfFormat.RDF_XML)
    assert str(error) == "Line 129, column 1: The document nests elements more than 256 deep (at '<e:p>')."


def test_xml_that_is_not_well_formed_is_refused_with_its_place() -> None:
    error = refusal(rdf_xml("<e:p></e:q>"), RdfFormat.RDF_XML)
    assert str(error) == "Line 2, column 43: The data is not well-formed XML: mismatched tag."


def test_deep_json_is_refused() -> None:
    def nested(depth: int) -> str:
        return '{"urn:a":"}\\"{","urn:b":' * depth + '{"@id":"urn:x"}' + "}" * depth

    assert len(parse(nested(99), RdfFormat.JSON_LD)) == 198
    error = refusal(nested(100), RdfFormat.JSON_LD)
    assert str(error) == "The document nests objects more than 100 deep: give them identifiers, side by side."


def test_large_and_deep_json_is_refused() -> None:
    wide = "[" + ",".join(['{"@id":"urn:x"}'] * 50_000) + "]"
    error = refusal('{"urn:a":' * 30 + wide + "}" * 30, RdfFormat.JSON_LD)
    assert str(error) == (
        "The document is too large and too deeply nested for JSON-LD: send it in parts or as N-Quads."
    )


def test_a_body_that_stands_for_far_more_quads_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "QUADS_ALLOWANCE", 0)
    long = f"@prefix p: <urn:{'a' * 4000}> .\n"
    assert len(parse(long + "p:a p:b 1 .\n" * 50, RdfFormat.TURTLE)) == 50
    error = refusal(long + "p:a p:b 1 .\n" * 1000, RdfFormat.TURTLE)
    assert str(error) == (
        "The data stands for more than 1602000 bytes of N-Quads, out of proportion to its size: "
        "shorten its prefixes or write it as N-Quads."
    )


@pytest.mark.parametrize(
    "format, body, place",
    [
        (RdfFormat.N_QUADS, "<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b> <<( <urn:a> <urn:b> <urn:c> )>> .", (2, 17)),
        (RdfFormat.TURTLE, "<urn:é> <urn:b> << <urn:a> <urn:b> <urn:c> >> .", (1, 17)),
        (RdfFormat.TRIG, "GRAPH <urn:g> {\n << <urn:a> <urn:b> <urn:c> >> <urn:p> 1 }", (2, 2)),
        (RdfFormat.TURTLE, "@prefix : <urn:> . :a\\'b :p <<( :a :b 'c' )>> .", (1, 29)),
        (RdfFormat.N_QUADS, "<urn:a> <urn:b> " + "<<( <urn:a> <urn:b> " * 200_000, (1, 17)),
        (RdfFormat.TURTLE, "<urn:a> <urn:b> <urn:c> {| <urn:d> 1 |} .", (None, None)),
        (
            RdfFormat.RDF_XML,
            rdf_xml(
                '<e:p rdf:parseType="Triple"><rdf:Description rdf:about="a:b"><e:p/></rdf:Description></e:p>'
            ).replace("xmlns:e", 'rdf:version="1.2" xmlns:e'),
            (None, None),
        ),
    ],
)
def test_triple_terms_are_refused(format: RdfFormat, body: str, place: tuple[int | None, int | None]) -> None:
    error = refusal(body, format)
    assert (error.line, error.column) == place
    assert error.message == (
        "The data has a triple term of RDF 1.2, which is not supported: say it with reification or a graph"
    )


@pytest.mark.parametrize(
    "body",
    [
        '<urn:a> <urn:b> "<<( x )>>" .',
        "<urn:a> <urn:b> '<<( \\' <<' .",
        '<urn:a> <urn:b> """ " "" << \\""" """ .',
        "<urn:a> <urn:b> ''' ' '' << ''' .",
        "# <<\n<urn:a> <urn:b> 1 . # <<",
        "<urn:a> <urn:b> '' , \"\" , '<<' .",
    ],
)
def test_angle_brackets_in_strings_and_comments_are_no_triple_terms(body: str) -> None:
    assert len(parse(body, RdfFormat.TURTLE)) >= 1
