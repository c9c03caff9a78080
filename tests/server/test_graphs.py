"""Graphs: set, added to, read and deleted over the SPARQL 1.1 Graph Store HTTP Protocol."""

from __future__ import annotations

import gzip
import threading
from functools import partial
from urllib.parse import quote

import pyoxigraph as ox
import pytest

from csparql_spark.asking.guarded import work
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.formats import RdfFormat
from csparql_spark.server.backend import Backend
from tests.asking.guarded import deeds
from tests.server.playing import BASE

NT = "application/n-triples"
GRAPH = "http://ex.org/g?a=b&c#d"
URL = f"/graphs?graph={quote(GRAPH, safe='')}"
A, B, C = (f'<urn:{name}> <urn:p> "{name}" .\n' for name in "abc")


def entries(backend: Backend) -> list[tuple[str, str, int, bool]]:
    return [
        (entry.kind, entry.subject, entry.rows, entry.payload is not None)
        for entry in backend.stores.log.read(0, backend.stores.log.tail())
    ]


def lines(client, url: str = URL) -> set[str]:
    response = client.get(url, headers={"Accept": NT})
    assert response.status_code == 200, response.text
    found = response.text.splitlines(keepends=True)
    assert len(found) == len(set(found))
    return set(found)


def test_setting_a_graph(client, backend: Backend) -> None:
    made = client.put(URL, data=A + B + A, content_type=NT)
    entry = backend.stores.log.last(GRAPH, "background", backend.stores.log.tail())
    told = {"iri": GRAPH, "url": BASE + URL, "triples": 2, "changed": entry.at}
    assert (made.status_code, made.headers["Location"], made.json) == (201, BASE + URL, told)
    chunk = Chunk.from_ipc(entry.payload)
    assert (entry.rows, entry.first, entry.last, chunk.unstamped) == (2, None, None, 2)
    assert lines(client) == {A, B}
    assert client.get("/graphs").json == {"graphs": [told]}
    replaced = client.put(URL, data=C, content_type=NT)
    assert (replaced.status_code, replaced.json["triples"]) == (200, 1)
    assert lines(client) == {C}
    assert entries(backend) == [("background", GRAPH, 2, True), ("background", GRAPH, 1, True)]


def test_adding_to_a_graph(client, backend: Backend) -> None:
    first = client.post(URL, data=A, content_type=NT)
    assert (first.status_code, first.json["triples"], first.headers["Location"]) == (201, 1, BASE + URL)
    second = client.post(URL, data=A + B, content_type=NT)
    assert (second.status_code, second.json["triples"]) == (200, 2)
    assert lines(client) == {A, B}
    assert entries(backend) == [("background", GRAPH, 1, True), ("background", GRAPH, 2, True)]


@pytest.mark.parametrize("method, body", [("PUT", B + A), ("POST", A), ("POST", ""), ("POST", B + A + B)])
def test_what_changes_nothing_leaves_no_entry(client, backend: Backend, method: str, body: str) -> None:
    made = client.put(URL, data=A + B, content_type=NT).json
    same = client.open(URL, method=method, data=body, content_type=NT)
    assert (same.status_code, same.json) == (200, made)
    assert backend.stores.log.tail() == 1


def test_an_empty_graph_is_a_graph(client) -> None:
    assert client.put(URL, data="", content_type="text/turtle").status_code == 201
    assert lines(client) == set()
    assert client.put(URL, data=A, content_type=NT).status_code == 200
    assert client.put(URL, data="# nothing", content_type="text/turtle").json["triples"] == 0
    assert client.get("/graphs").json["graphs"][0]["triples"] == 0


def test_graphs_are_listed_by_name(client) -> None:
    assert client.get("/graphs").json == {"graphs": []}
    for name in "bac":
        client.put(f"/graphs?graph=urn:{name}", data=A, content_type=NT)
    assert [graph["iri"] for graph in client.get("/graphs").json["graphs"]] == ["urn:a", "urn:b", "urn:c"]


@pytest.mark.parametrize("format", RdfFormat)
def test_every_format_in_and_out(client, format: RdfFormat) -> None:
    triples = (
        '<urn:a> <urn:p> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        '<urn:a> <urn:p> "caf\u00e9"@fr .\n<urn:b> <http://ex.org/p> <urn:a> .\n'
    )
    body = ox.serialize(ox.parse(triples.encode(), format=ox.RdfFormat.N_TRIPLES), format=format.oxigraph)
    assert client.put(URL, data=body, content_type=format.media_type).json["triples"] == 3
    assert lines(client) == set(triples.splitlines(keepends=True))
    read = client.get(URL, headers={"Accept": format.media_type})
    assert read.mimetype == format.media_type and read.headers["Vary"] == "Accept"
    back = ox.serialize(ox.parse(read.data, format=format.oxigraph), format=ox.RdfFormat.N_TRIPLES)
    assert set(back.decode().splitlines(keepends=True)) == set(triples.splitlines(keepends=True))


@pytest.mark.parametrize(
    "accept, format, expected",
    [
        (None, None, "text/turtle"),
        ("*/*", None, "text/turtle"),
        ("", None, "text/turtle"),
        ("text/html, */*;q=0.1", None, "text/turtle"),
        ("application/*", None, "application/n-triples"),
        ("text/turtle;q=0.5, application/rdf+xml", None, "application/rdf+xml"),
        ("text/turtle", "nq", "application/n-quads"),
        (None, "trig", "application/trig"),
        (None, "jsonld", "application/ld+json"),
        (None, "rdf", "application/rdf+xml"),
    ],
)
def test_the_format_is_negotiated(client, accept: str | None, format: str | None, expected: str) -> None:
    client.put(URL, data=A, content_type=NT)
    url = URL if format is None else f"{URL}&format={format}"
    read = client.get(url, headers={} if accept is None else {"Accept": accept})
    assert read.mimetype == expected


def test_relative_iris_start_from_the_graph(client) -> None:
    client.put("/graphs?graph=http://ex.org/g", data="<#a> <p> <> .", content_type="text/turtle")
    assert lines(client, "/graphs?graph=http://ex.org/g") == {
        "<http://ex.org/g#a> <http://ex.org/p> <http://ex.org/g> .\n"
    }


def test_blank_nodes_belong_to_the_request_that_brought_them(client, backend: Backend, monkeypatch) -> None:
    prefixes = iter(["1f.0.", "1f.1.", "c2.0."])  # of which XML takes only the last for the beginning of a name
    monkeypatch.setattr(type(backend.stores), "blank_prefix", lambda self: next(prefixes))
    for size in (1, 2, 3):
        assert client.post(URL, data="_:x <urn:p> _:x .", content_type=NT).json["triples"] == size
    read = client.get(URL, headers={"Accept": "application/rdf+xml"})
    nodes = {quad.subject.value for quad in ox.parse(read.data, format=ox.RdfFormat.RDF_XML)}
    assert len(nodes) == 3


def test_the_time_at_which_something_was_made_is_no_stamp(client) -> None:
    told = '<urn:a> <http://www.w3.org/ns/prov#generatedAtTime> "never" .\n'
    assert client.put(URL, data=told, content_type=NT).status_code == 201
    assert lines(client) == {told}


def test_gzip(client) -> None:
    client.put(URL, data=gzip.compress(A.encode()), content_type=NT, headers={"Content-Encoding": "gzip"})
    assert lines(client) == {A}


def test_what_xml_cannot_write(client) -> None:
    client.put(URL, data="<urn:a> <urn:1> <urn:b> .", content_type=NT)
    refused = client.get(URL + "&format=rdf")
    assert (refused.status_code, refused.json["code"]) == (406, "not-acceptable")
    assert client.get(URL + "&format=ttl").status_code == 200


def test_a_graph_has_a_largest_size(client, backend: Backend, monkeypatch) -> None:
    assert client.put(URL, data=A, content_type=NT).status_code == 201
    size = len(backend.stores.log.last(GRAPH, "background", 1).payload)
    object.__setattr__(backend.settings, "graph_limit", size)
    refused = client.post(URL, data=B, content_type=NT)
    assert (refused.status_code, refused.json["code"], refused.json["limit"]) == (413, "too-large", size)
    assert lines(client) == {A}


def test_deleting(client, backend: Backend) -> None:
    client.put(URL, data=A, content_type=NT)
    gone = client.delete(URL)
    assert (gone.status_code, gone.data) == (204, b"")
    assert client.get(URL).status_code == client.delete(URL).status_code == 404
    assert client.get("/graphs").json == {"graphs": []}
    assert entries(backend) == [("background", GRAPH, 1, True), ("background", GRAPH, 0, False)]
    assert client.post(URL, data=B, content_type=NT).status_code == 201
    assert lines(client) == {B}


def query(clause: str, name: str = "q") -> str:
    return f"REGISTER QUERY {name} AS SELECT ?s {clause} FROM STREAM <streams/s> [RANGE 1h] {{ ?s ?p ?o }}"


@pytest.mark.parametrize("clause", [f"FROM <{GRAPH}>", f"FROM NAMED <{GRAPH}>"])
def test_a_graph_that_is_read_stays_until_its_readers_are_gone(client, clause: str) -> None:
    client.put("/streams/s?clock=event")
    client.put(URL, data=A, content_type=NT)
    made = client.put("/queries/q", data=query(clause))
    assert made.status_code == 201
    assert made.json["named_graphs" if "NAMED" in clause else "graphs"] == [GRAPH]
    refused = client.delete(URL)
    assert (refused.status_code, refused.json["code"], refused.json["queries"]) == (409, "graph-in-use", ["q"])
    assert client.put(URL, data=B, content_type=NT).status_code == 200
    client.delete("/queries/q")
    assert client.delete(URL).status_code == 204


def test_a_query_whose_graph_goes_while_it_is_checked(client, backend: Backend, monkeypatch) -> None:
    client.put("/streams/s?clock=event")
    client.put(URL, data=A, content_type=NT)
    append = backend.stores.writer.append

    def append_late(draft, guard=None):
        monkeypatch.setattr(backend.stores.writer, "append", append)
        assert client.application.test_client().delete(URL).status_code == 204
        return append(draft, guard)

    monkeypatch.setattr(backend.stores.writer, "append", append_late)
    refused = client.put("/queries/q", data=query(f"FROM <{GRAPH}>"))
    assert (refused.status_code, refused.json["code"]) == (422, "unknown-graph")
    assert [kind for kind, *_ in entries(backend)] == ["stream", "background", "background"]


def test_a_query_whose_graph_changes_while_it_is_checked(client, backend: Backend, monkeypatch) -> None:
    client.put("/streams/s?clock=event")
    client.put(URL, data=A, content_type=NT)
    append = backend.stores.writer.append

    def append_late(draft, guard=None):
        monkeypatch.setattr(backend.stores.writer, "append", append)
        client.application.test_client().put(URL, data=B, content_type=NT)
        return append(draft, guard)

    monkeypatch.setattr(backend.stores.writer, "append", append_late)
    assert client.put("/queries/q", data=query(f"FROM <{GRAPH}>")).status_code == 201
    assert [kind for kind, *_ in entries(backend)] == ["stream", "background", "background", "register"]


def test_of_many_who_add_at_once_nothing_is_lost(client, backend: Backend) -> None:
    app, told = client.application, []

    def add(number: int) -> None:
        own = app.test_client()
        for part in range(4):
            body = f'<urn:{number}> <urn:p> "{part}" .\n{A}'
            told.append(own.post(URL, data=body, content_type=NT).status_code)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == [200] * 31 + [201]
    assert lines(client) == {A, *(f'<urn:{number}> <urn:p> "{part}" .\n' for number in range(8) for part in range(4))}
    sizes = [entry.rows for entry in backend.stores.log.read(0, backend.stores.log.tail())]
    assert sizes == list(range(2, 34))


@pytest.mark.parametrize(
    "others, there",
    [
        ([("POST", B)], {A, B, C}),
        ([("PUT", B)], {A, B}),
        ([("DELETE", "")], {A}),
        ([("PUT", A)], {A}),
        ([("PUT", B), ("PUT", C)], {A, C}),
    ],
)
def test_who_is_overtaken_adds_to_what_is_there_then(
    client, backend: Backend, monkeypatch, others: list[tuple[str, str]], there: set[str]
) -> None:
    client.put(URL, data=C, content_type=NT)
    append = backend.stores.writer.append

    def append_late(draft, guard=None):
        monkeypatch.setattr(backend.stores.writer, "append", append)
        for method, body in others:
            client.application.test_client().open(URL, method=method, data=body, content_type=NT)
        return append(draft, guard)

    monkeypatch.setattr(backend.stores.writer, "append", append_late)
    told = client.post(URL, data=A, content_type=NT)
    assert (told.status_code, told.json["triples"]) == (201 if others[0][0] == "DELETE" else 200, len(there))
    assert lines(client) == there


@pytest.mark.parametrize(
    "work_done, why",
    [
        (deeds.spin, "it takes longer than the 0.2 s of processor time that a body may have"),
        (partial(deeds.fill, 3 << 30), "it needs more memory than the 768 MiB that a body may have"),
    ],
)
def test_a_graph_that_needs_too_much_is_told_which_limit_and_what_to_do(client, monkeypatch, work_done, why) -> None:
    monkeypatch.setenv("CSPARQL_SPARK_MOST_MILLISECONDS", "200" if "processor" in why else "10000")
    monkeypatch.setattr("csparql_spark.server.sources.reading.hazardous", lambda body, format: True)
    monkeypatch.setattr(work, "brought", deeds.Alone(work_done))
    told = client.put("/graphs?graph=urn:g", data="<urn:a> <urn:p> 1 .", headers={"Content-Type": "text/turtle"})
    assert (told.status_code, told.json["code"]) == (422, "too-much")
    assert told.json["detail"] == (
        f"The data cannot be read: {why}; send it as N-Triples, in parts: the first with PUT, the others with POST. "
        "Nothing of it was kept."
    )
