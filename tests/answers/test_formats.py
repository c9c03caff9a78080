from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import row_text
from csparql_spark.answers.bindings import Result
from csparql_spark.answers.formats import (
    CSV,
    JSON,
    JSON_LD,
    N_QUADS,
    N_TRIPLES,
    ND_JSON,
    OFFERED,
    RDF_XML,
    TRIG,
    TSV,
    TURTLE,
    XML,
    Unwritable,
    preferred,
    write,
)
from csparql_spark.rdf import terms
from tests.examples import examples

TEXTS = st.lists(
    st.sampled_from(
        [
            "",
            " ",
            "\t",
            "\n",
            "\r\n",
            "\r",
            '"',
            "'",
            ",",
            "<",
            "&",
            "]]>",
            "\\",
            "\x01",
            "é",
            "\U0001f600",
            "\x7f",
            "\u0085",
            "a",
            "&#13;",
            "<!--",
        ]
    ),
    max_size=4,
).map("".join)
XML_TEXTS = TEXTS.map(lambda text: text.replace("\x01", ""))


def cells(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str | None]:
    return st.one_of(
        st.none(),
        st.sampled_from(["<urn:a>", "<http://é.example/?a=1&b='2'>", "_:b0", "_:c.d"]),
        st.builds(terms.literal, texts),
        st.builds(lambda text: terms.literal(text, datatype="urn:d?a&b'c"), texts),
        st.builds(lambda text: terms.literal(text, language="en-gb"), texts),
    )


@st.composite
def tables(draw: st.DrawFn, texts: st.SearchStrategy[str] = TEXTS) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    variables = tuple(draw(st.lists(st.sampled_from(["a", "b", "été"]), max_size=3, unique=True)))
    rows = draw(st.lists(st.fixed_dictionaries({name: cells(texts) for name in variables}), max_size=6))
    return variables, [{name: term for name, term in row.items() if term is not None} for row in rows]


Table = tuple[tuple[str, ...], list[dict[str, str]]]


def read(document: bytes, format: ox.QueryResultsFormat) -> Table:
    """What pyoxigraph reads in a document of SPARQL results."""
    solutions = ox.parse_query_results(document, format)
    variables = tuple(variable.value for variable in solutions.variables)
    return variables, [
        {name: str(solution[name]) for name in variables if solution[name] is not None} for solution in solutions
    ]


@given(tables())
@settings(max_examples=examples(80), deadline=None)
def test_json_says_what_the_table_says(table: Table) -> None:
    document = write(Result.from_rows(*table), JSON)
    assert read(document, ox.QueryResultsFormat.JSON) == table
    assert len(json.loads(document)["results"]["bindings"]) == len(table[1])


@given(tables(XML_TEXTS))
@settings(max_examples=examples(80), deadline=None)
def test_xml_says_what_the_table_says(table: Table) -> None:
    document = write(Result.from_rows(*table), XML)
    assert read(document, ox.QueryResultsFormat.XML) == table
    root = ElementTree.fromstring(document)
    space = "{http://www.w3.org/2005/sparql-results#}"
    texts = ["".join(element.itertext()) for element in root.iter() if element.tag == space + "literal"]
    literals = [terms.parse(row[name]) for row in table[1] for name in table[0] if name in row]
    assert texts == [literal.value for literal in literals if literal.kind == "literal"]


@given(tables())
@settings(max_examples=examples(80), deadline=None)
def test_tsv_says_what_the_table_says(table: Table) -> None:
    document = write(Result.from_rows(*table), TSV)
    lines = document.decode().split("\n")
    assert lines.pop() == "" and lines[0] == "\t".join("?" + name for name in table[0])
    assert [line.split("\t") for line in lines[1:]] == [
        [row.get(name, "") for name in table[0]] or [""] for row in table[1]
    ]
    if table[0]:
        assert read(document, ox.QueryResultsFormat.TSV) == table


@given(tables())
@settings(max_examples=examples(80), deadline=None)
def test_csv_has_the_plain_values(table: Table) -> None:
    def plain(term: str | None) -> str:
        parts = terms.parse(term) if term else None
        return "" if parts is None else ("_:" if parts.kind == "blank" else "") + parts.value

    document = write(Result.from_rows(*table), CSV).decode()
    assert document.startswith(",".join(table[0]) + "\r\n") and document.endswith("\r\n")
    # An empty line is a row of one empty value to us, and nothing to Python's reader.
    lines = [line or [""] for line in csv.reader(io.StringIO(document, newline=""), strict=True)]
    assert lines == [list(table[0]) or [""]] + [[plain(row.get(name)) for name in table[0]] or [""] for row in table[1]]


ROWS = Result.from_rows(
    ("x", "y"),
    [
        {"x": "<urn:a>", "y": '"say \\"hi\\",\\r\\n<&>"'},
        {"x": "_:b", "y": '"ja"@de'},
        {},
        {"y": '"01"^^<http://www.w3.org/2001/XMLSchema#integer>'},
    ],
)


def test_the_four_formats_of_one_table() -> None:
    assert write(ROWS, JSON, extra={"at": 1000, "query": "q"}).decode() == (
        '{"head":{"vars":["x","y"]},"results":{"bindings":['
        '{"x":{"type":"uri","value":"urn:a"},"y":{"type":"literal","value":"say \\"hi\\",\\r\\n<&>"}},'
        '{"x":{"type":"bnode","value":"b"},"y":{"type":"literal","value":"ja","xml:lang":"de"}},{},'
        '{"y":{"type":"literal","value":"01","datatype":"http://www.w3.org/2001/XMLSchema#integer"}}'
        ']},"at":1000,"query":"q"}'
    )
    assert write(ROWS, XML).decode() == (
        '<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">'
        '<head><variable name="x"/><variable name="y"/></head><results>\n'
        '<result><binding name="x"><uri>urn:a</uri></binding>'
        '<binding name="y"><literal>say &quot;hi&quot;,&#13;&#10;&lt;&amp;&gt;</literal></binding></result>\n'
        '<result><binding name="x"><bnode>b</bnode></binding>'
        '<binding name="y"><literal xml:lang="de">ja</literal></binding></result>\n'
        "<result></result>\n"
        '<result><binding name="y"><literal datatype="http://www.w3.org/2001/XMLSchema#integer">01</literal></binding>'
        "</result>\n"
        "</results></sparql>\n"
    )
    assert write(ROWS, CSV).decode() == 'x,y\r\nurn:a,"say ""hi"",\r\n<&>"\r\n_:b,ja\r\n,\r\n,01\r\n'
    assert write(ROWS, TSV).decode() == (
        '?x\t?y\n<urn:a>\t"say \\"hi\\",\\r\\n<&>"\n_:b\t"ja"@de\n\t\n'
        '\t"01"^^<http://www.w3.org/2001/XMLSchema#integer>\n'
    )


def test_an_empty_table() -> None:
    empty = Result.bindings(("x",), [[]])
    assert write(empty, JSON, extra={"at": 1}) == b'{"head":{"vars":["x"]},"results":{"bindings":[]},"at":1}'
    assert read(write(empty, XML), ox.QueryResultsFormat.XML) == (("x",), [])
    assert (write(empty, CSV), write(empty, TSV)) == (b"x\r\n", b"?x\n")


def test_a_base_direction_is_told_in_json_and_xml() -> None:
    rows = [{"x": '"x"@ar--rtl'}]
    answer = Result.from_rows(("x",), rows)
    assert read(write(answer, JSON), ox.QueryResultsFormat.JSON) == (("x",), rows)
    assert read(write(answer, XML), ox.QueryResultsFormat.XML) == (("x",), rows)
    its = "{http://www.w3.org/2005/11/its}dir"
    elements = ElementTree.fromstring(write(answer, XML)).iter()
    assert [element.get(its) for element in elements if its in element.attrib] == ["rtl"]


def test_booleans() -> None:
    for truth in (True, False):
        answer = Result.boolean(truth)
        for media_type, format in ((JSON, ox.QueryResultsFormat.JSON), (XML, ox.QueryResultsFormat.XML)):
            assert bool(ox.parse_query_results(write(answer, media_type), format)) is truth
    assert write(Result.boolean(True), JSON, extra={"at": 5}) == b'{"head":{},"boolean":true,"at":5}'
    for truth, text in ((True, b"true\n"), (False, b"false\n")):
        assert write(Result.boolean(truth), CSV) == write(Result.boolean(truth), TSV) == text
        assert bool(ox.parse_query_results(text, ox.QueryResultsFormat.TSV)) is truth
    assert write(Result.boolean(False), ND_JSON) == b'{"boolean":false}\n'


@given(tables())
@settings(max_examples=examples(40), deadline=None)
def test_each_line_is_a_solution_as_sparql_json_has_it(table: Table) -> None:
    answer = Result.from_rows(*table)
    lines = [json.loads(line) for line in write(answer, ND_JSON).decode().split("\n")[:-1]]
    assert lines == json.loads(write(answer, JSON))["results"]["bindings"]
    assert write(answer, "application/ndjson") == write(answer, ND_JSON)


def test_graphs() -> None:
    graph = '<urn:a> <urn:p> "x y"@en .\n<urn:a> <urn:p> <urn:b> .\n_:c <urn:p> "01"^^<urn:d> .\n'
    expected = list(ox.parse(graph, format=ox.RdfFormat.N_TRIPLES))
    for media_type, format in (
        (N_TRIPLES, ox.RdfFormat.N_TRIPLES),
        (TURTLE, ox.RdfFormat.TURTLE),
        (JSON_LD, ox.RdfFormat.JSON_LD),
        ("application/json", ox.RdfFormat.JSON_LD),
        (N_QUADS, ox.RdfFormat.N_QUADS),
        (TRIG, ox.RdfFormat.TRIG),
    ):
        written = ox.parse(write(Result.graph(graph), media_type), format=format)
        assert sorted(map(str, written)) == sorted(map(str, expected))
        assert list(ox.parse(write(Result.graph(""), media_type), format=format)) == []


def test_rdf_xml_renames_the_labels_that_are_no_names_there() -> None:
    graph = '_:1.a <urn:p> _:2 .\n_:2 <urn:p> "> _:2 and\\n_:2" .\n<urn:a> <urn:p> _:1.a .\n'
    written = write(Result.graph(graph), RDF_XML)
    assert sorted(map(str, ox.parse(written, format=ox.RdfFormat.RDF_XML))) == sorted(
        map(
            str,
            ox.parse(
                graph.replace("_:1.a", "_:b1.a").replace("_:2 ", "_:b2 ").replace('"> _:b2', '"> _:2'),
                format=ox.RdfFormat.N_TRIPLES,
            ),
        )
    )
    assert list(ox.parse(write(Result.graph(""), RDF_XML), format=ox.RdfFormat.RDF_XML)) == []
    with pytest.raises(Unwritable, match="no way to write"):
        write(Result.graph("<urn:a> <urn:1> <urn:b> .\n"), RDF_XML)


@pytest.mark.parametrize("alias, name", [("application/json", JSON), ("application/xml", XML), ("text/xml", XML)])
def test_names_for_one_format_are_written_alike(alias: str, name: str) -> None:
    assert write(ROWS, alias) == write(ROWS, name)
    assert write(Result.boolean(True), alias) == write(Result.boolean(True), name)


@pytest.mark.parametrize(
    "answer, media_type",
    [(Result.boolean(True), TURTLE), (Result.graph(""), CSV), (Result.graph(""), JSON), (ROWS, TURTLE)],
)
def test_what_a_format_cannot_express_is_refused(answer: Result, media_type: str) -> None:
    with pytest.raises(Unwritable) as caught:
        write(answer, media_type)
    assert str(caught.value) == (
        f"A {answer.kind} answer cannot be written as {media_type}: ask for one of {', '.join(OFFERED[answer.kind])}."
    )


def test_control_characters_are_refused_in_xml_and_kept_elsewhere() -> None:
    answer = Result.from_rows(("x",), [{"x": terms.literal("a\x01b")}])
    with pytest.raises(Unwritable) as caught:
        write(answer, XML)
    assert str(caught.value) == (
        "A literal of the answer holds U+0001, which XML 1.0 cannot express: ask for JSON instead."
    )
    assert json.loads(write(answer, JSON))["results"]["bindings"][0]["x"]["value"] == "a\x01b"
    assert write(answer, TSV) == b'?x\n"a\\u0001b"\n'


def test_extra_members_cannot_replace_the_result() -> None:
    with pytest.raises(ValueError, match="head, results cannot be an extra member"):
        write(ROWS, JSON, extra={"results": 1, "head": 2})


SHOWN = "application/json"
FIREFOX = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    "accept, bindings, boolean, graph",
    [
        (None, JSON, JSON, JSON_LD),
        ("", JSON, JSON, JSON_LD),
        ("*/*", JSON, JSON, JSON_LD),
        (JSON, JSON, JSON, None),
        (XML, XML, XML, None),
        (CSV, CSV, CSV, None),
        (TSV, TSV, TSV, None),
        (TURTLE, None, None, TURTLE),
        ("application/json", "application/json", "application/json", "application/json"),
        ("application/*", JSON, JSON, JSON_LD),
        ("text/*", CSV, CSV, TURTLE),
        ("text/csv, */*;q=0.1", CSV, CSV, JSON_LD),
        ("text/csv;q=0.2, application/sparql-results+xml;q=0.7", XML, XML, None),
        ("text/csv;q=0.2, text/tab-separated-values;q=0.2", CSV, CSV, None),
        ("*/*, text/csv", CSV, CSV, JSON_LD),
        ("*/*;q=0.5, application/sparql-results+json;q=0.1, application/ld+json;q=0", XML, XML, TURTLE),
        ("text/csv;q=0", None, None, None),
        ("text/*;q=0, text/csv;q=0.001", CSV, CSV, None),
        ("TEXT/CSV;Q=1.0", CSV, CSV, None),
        ("text/csv ; header=present ; q=0.5 , text/tab-separated-values", TSV, TSV, None),
        ("text/csv;q=high, text/tab-separated-values;q=0.1", TSV, TSV, None),
        ("rubbish, ,;, text/csv", CSV, CSV, None),
        ("rubbish", None, None, None),
        ("text/html", None, None, None),
        (FIREFOX, SHOWN, SHOWN, SHOWN),
        ("text/html, */*;q=0", None, None, None),
        ("text/html, text/csv, */*;q=0.1", CSV, CSV, SHOWN),
        ("application/x-ndjson", ND_JSON, ND_JSON, None),
        ("application/rdf+xml;q=0.5, application/trig", None, None, TRIG),
    ],
)
def test_negotiation(accept: str | None, bindings: str | None, boolean: str | None, graph: str | None) -> None:
    assert [preferred(accept, OFFERED[kind]) for kind in ("bindings", "boolean", "graph")] == [bindings, boolean, graph]


ranges = st.sampled_from(["*/*", "text/*", "application/*", "image/*", *OFFERED["bindings"]])
weights = st.sampled_from([0, 0.001, 0.2, 0.5, 1])


@given(st.dictionaries(ranges, weights, max_size=5), st.sampled_from(["bindings", "boolean", "graph"]))
@settings(max_examples=examples(100), deadline=None)
def test_no_offered_type_would_have_pleased_the_client_more(accept: dict[str, float], kind: str) -> None:
    def weight(media_type: str) -> float:
        for name in (media_type, media_type.split("/")[0] + "/*", "*/*"):
            if name in accept:
                return accept[name]
        return 0 if accept else 1

    chosen = preferred(", ".join(f"{name};q={q}" for name, q in accept.items()), OFFERED[kind])
    best = max(map(weight, OFFERED[kind]))
    assert (chosen is None) is (best == 0)
    if chosen:
        assert weight(chosen) == best


def test_a_browser_is_not_shown_what_is_not_offered() -> None:
    assert preferred(FIREFOX, (TURTLE, N_TRIPLES)) == TURTLE


@pytest.mark.parametrize("media_type", [JSON, XML, CSV, TSV, ND_JSON])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 7])
def test_it_does_not_matter_how_many_rows_are_written_at_once(
    media_type: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"a": f"<urn:{n}>", **({"b": f'"{n},\\""@en'} if n % 3 else {})} for n in range(length)]
    answer = Result.from_rows(("a", "b"), rows)
    whole = write(answer, media_type)
    for block in (1, 2, 3):
        monkeypatch.setattr(row_text, "BLOCK", block)
        assert write(answer, media_type) == whole
