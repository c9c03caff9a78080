"""Descriptors in RDF: of a stream, and of /sparql."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from tests.server.playing import BASE, registered

FORMATS = {
    "text/turtle": ox.RdfFormat.TURTLE,
    "application/ld+json": ox.RdfFormat.JSON_LD,
    "application/n-triples": ox.RdfFormat.N_TRIPLES,
    "application/rdf+xml": ox.RdfFormat.RDF_XML,
}


def asked(response, query: str) -> list[str]:
    store = ox.Store()
    store.load(response.data, format=FORMATS[response.mimetype])
    prefixes = {
        "vocals": "http://w3id.org/rsp/vocals#",
        "dcat": "http://www.w3.org/ns/dcat#",
        "sd": "http://www.w3.org/ns/sparql-service-description#",
    }
    return sorted(row[0].value for row in store.query(query, prefixes=prefixes))


@pytest.mark.parametrize("media_type", FORMATS)
def test_a_stream_is_described_with_its_endpoints(client, media_type: str) -> None:
    registered(client)
    told = client.get("/streams/s", headers={"Accept": media_type})
    assert (told.status_code, told.mimetype, told.headers["Vary"]) == (200, media_type, "Accept")
    assert asked(told, "SELECT ?s { ?d a vocals:StreamDescriptor ; dcat:dataset ?s . ?s a vocals:RDFStream }") == [
        f"{BASE}/streams/s"
    ]
    assert asked(told, "SELECT ?url { ?s vocals:hasEndpoint [ a vocals:StreamEndpoint ; dcat:accessURL ?url ] }") == [
        f"{BASE}/queries/q/answers",
        f"{BASE}/streams/s",
    ]


def test_json_is_what_most_people_get(client) -> None:
    registered(client)
    for accept in (None, "*/*", "application/json", "text/html, */*;q=0.8"):
        told = client.get("/streams/s", headers={"Accept": accept} if accept else {})
        assert (told.status_code, told.mimetype, told.json["name"]) == (200, "application/json", "s")
    assert client.get("/streams/s", headers={"Accept": "text/csv"}).status_code == 406


def test_the_service_is_described(client) -> None:
    client.put("/graphs?graph=urn:g", data="<urn:a> <urn:p> 1 .", content_type="text/turtle")
    told = client.get("/sparql")
    assert (told.status_code, told.mimetype) == (200, "text/turtle")
    assert asked(told, "SELECT ?e { ?s a sd:Service ; sd:endpoint ?e }") == [f"{BASE}/sparql"]
    assert asked(told, "SELECT ?g { [] sd:namedGraph [ sd:name ?g ] }") == ["urn:g"]
    assert client.get("/sparql?format=jsonld").mimetype == "application/ld+json"
