"""/kb, as clients of rsp-services use it."""

from __future__ import annotations

import pytest

from csparql_spark.asking.guarded import work
from csparql_spark.asking.log_view import Current
from csparql_spark.server.routes.graphs import GraphStore

A, B, C, D = (f'<urn:{letter}> <urn:p> "{letter}" .\n' for letter in "abcd")
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"
XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:"><rdf:Description '
    'rdf:about="urn:a"><e:p>a</e:p></rdf:Description></rdf:RDF>'
)


def lines(client, graph: str = "urn:g") -> set[str]:
    text = client.get(f"/graphs?graph={graph}&format=nt").text
    return {f"{line}\n" for line in text.removesuffix("\n").split("\n") if line}


def kb(client, **fields: str):
    return client.post("/kb", data=fields)


@pytest.mark.parametrize(
    "text, more",
    [(A, {}), (XML, {}), ('{"@id": "urn:a", "urn:p": "a"}', {}), (A, {"contentType": "application/n-triples"})],
)
def test_put_and_delete(client, text: str, more: dict[str, str]) -> None:
    told = kb(client, action="put", iri="urn:g", serialization=text, **more)
    assert (told.status_code, told.json["triples"]) == (200, 1), told.text
    assert lines(client) == {A}
    assert client.get("/kb?query=ASK { ?s ?p 'a' }").json["boolean"] is True
    assert kb(client, action="delete", iri="urn:g").json == {"iri": "urn:g", "deleted": True}
    assert kb(client, action="delete", iri="urn:g").json["code"] == "unknown-graph"


@pytest.mark.parametrize(
    "update, iri, expected",
    [
        ("INSERT DATA { GRAPH <urn:g> { <urn:b> <urn:p> 'b' } }", None, {A, B}),
        ("INSERT DATA { <urn:b> <urn:p> 'b' }", "urn:g", {A, B}),
        ("DELETE DATA { <urn:a> <urn:p> 'a' }", "urn:g", set()),
        ("WITH <urn:g> DELETE { ?s ?p ?o } INSERT { <urn:b> ?p 'b' } WHERE { ?s ?p ?o }", None, {B}),
        ("INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:p> 'a' } }", None, {A}),
        (
            "INSERT DATA { <urn:a> <urn:p> 'my service, a payload' }",
            "urn:g",
            {A, A.replace('"a"', '"my service, a payload"')},
        ),
    ],
)
def test_update(client, update: str, iri: str | None, expected: set[str]) -> None:
    kb(client, action="put", iri="urn:g", serialization=A)
    told = kb(client, action="update", queryBody=update, **({"iri": iri} if iri else {}))
    assert told.status_code == 200, told.text
    assert lines(client) == expected


def test_what_is_there_keeps_its_spelling(client) -> None:
    old = {f'<urn:a> <urn:p> "{text}"^^{INTEGER} .\n' for text in ("01", "1", "02")}
    kb(client, action="put", iri="urn:g", serialization="".join(old))
    told = kb(
        client,
        action="update",
        iri="urn:g",
        queryBody="DELETE DATA { <urn:a> <urn:p> 1 }; INSERT DATA { <urn:b> <urn:p> 'b' }",
    )
    assert (told.json["added"], told.json["removed"]) == (1, 1)
    assert lines(client) == {B, *(f'<urn:a> <urn:p> "{text}"^^{INTEGER} .\n' for text in ("01", "02"))}


def test_a_graph_that_is_made(client) -> None:
    told = kb(client, action="update", queryBody="INSERT DATA { GRAPH <urn:new> { <urn:a> <urn:p> 'a' } }")
    assert told.json["changed"]["iri"] == "urn:new" and lines(client, "urn:new") == {A}


BLANK = f"""_:x <urn:p> "01"^^<{INTEGER[1:-1]}> .
_:x <urn:q> _:y .
<urn:a> <urn:p> _:y .
<urn:a> <urn:t> "one\u2028two\u0085three" .
"""


@pytest.mark.parametrize(
    "update, gone, come",
    [
        ("INSERT DATA { <urn:b> <urn:p> 'b' }", "nothing", [B]),
        ("DELETE DATA { <urn:a> <urn:t> 'one\u2028two\u0085three' }", "urn:t", []),
        ("DELETE { ?s <urn:q> ?o } WHERE { ?s <urn:q> ?o }", "urn:q", []),
        ("DELETE { ?s ?p ?o } INSERT { ?s ?p ?o } WHERE { ?s ?p ?o }", "nothing", []),
    ],
)
def test_what_an_update_does_not_touch_comes_back_as_it_was(client, update: str, gone: str, come: list[str]) -> None:
    kb(client, action="put", iri="urn:g", serialization=BLANK, contentType="application/n-triples")
    before = lines(client)
    assert len(before) == 4
    for _ in range(2):
        told = kb(client, action="update", iri="urn:g", queryBody=update)
        assert told.status_code == 200, told.text
        assert lines(client) == {line for line in before if gone not in line} | set(come)


def test_blank_nodes_that_are_copied_keep_their_labels_and_new_ones_get_their_own(client) -> None:
    kb(client, action="put", iri="urn:g", serialization="<urn:a> <urn:p> _:y .", contentType="application/n-triples")
    (before,) = lines(client)
    label = before.split()[2]
    update = "INSERT { ?o <urn:q> ?s . ?o <urn:new> _:z } WHERE { ?s <urn:p> ?o }"
    told = kb(client, action="update", iri="urn:g", queryBody=update)
    assert (told.status_code, told.json["added"], told.json["removed"]) == (200, 2, 0)
    after = lines(client)
    assert {before, f"{label} <urn:q> <urn:a> .\n"} < after
    (made,) = after - {before, f"{label} <urn:q> <urn:a> .\n"}
    assert made.startswith(f"{label} <urn:new> _:") and made.split()[2] != label


DOUBLED = " ".join(f"BIND(CONCAT(?v{n}, ?v{n}) AS ?v{n + 1})" for n in range(40))


@pytest.mark.parametrize(
    "update, why",
    [
        (f"INSERT {{ <urn:a> <urn:d> ?v40 }} WHERE {{ BIND('12345678' AS ?v0) {DOUBLED} }}", "more memory than the"),
        (
            "INSERT { ?a <urn:d> ?c } WHERE { ?a ?b ?c { SELECT (COUNT(*) AS ?n) "
            "{ ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?q ?o } } FILTER(?n = 0) }",
            "takes longer than 0.3 s of processor time",
        ),
    ],
)
def test_an_update_that_needs_too_much_is_refused(client, monkeypatch, update: str, why: str) -> None:
    monkeypatch.setenv("CSPARQL_SPARK_MOST_MILLISECONDS", "300" if "processor" in why else "10000")
    monkeypatch.setenv("CSPARQL_SPARK_MOST_BYTES", str(256 << 20))
    kb(client, action="put", iri="urn:g", serialization="".join(f"<urn:{n}> <urn:p> <urn:{n}> .\n" for n in range(60)))
    before = lines(client)
    told = kb(client, action="update", iri="urn:g", queryBody=update)
    assert (told.status_code, told.json["code"]) == (422, "too-much")
    assert why in told.json["detail"] and "Nothing was changed." in told.json["detail"]
    assert lines(client) == before


def test_an_update_that_others_are_always_faster_than_ends(client, monkeypatch) -> None:
    kb(client, action="put", iri="urn:g", serialization=A)
    monkeypatch.setattr(GraphStore, "set_if", lambda *_: None)
    told = kb(client, action="update", iri="urn:g", queryBody="INSERT DATA { <urn:b> <urn:p> 'b' }")
    assert (told.status_code, told.json["code"]) == (409, "bad-update")
    assert "3 times" in told.json["detail"] and lines(client) == {A}


HERE = "<http://127.0.0.1:8080/>"


@pytest.mark.parametrize(
    "update",
    [
        f"LOAD {HERE} INTO GRAPH <urn:g>",
        f"load silent {HERE} INTO GRAPH <urn:g>",
        f"INSERT {{ GRAPH <urn:g> {{ ?a ?b ?c }} }} WHERE {{ SERVICE {HERE} {{ ?a ?b ?c }} }}",
        f"PREFIX : {HERE} INSERT {{ GRAPH <urn:g> {{ ?a ?b ?c }} }} WHERE {{sErViCe:x {{ ?a ?b ?c }} }}",
        f"INSERT {{ GRAPH <urn:g> {{ ?a ?b ?c }} }} WHERE {{ FILTER(?a<?b#>'''\n) SERVICE {HERE} {{ ?a ?b ?c }} #'''\n }}",
        "INSERT DATA { <urn:a> <urn:p> 1 }",
        "INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:p> 1 } GRAPH <urn:h> { <urn:a> <urn:p> 1 } }",
        "SELECT * {}",
        "nonsense",
    ],
)
def test_what_is_not_done(client, update: str) -> None:
    kb(client, action="put", iri="urn:g", serialization=A)
    told = kb(client, action="update", queryBody=update)
    assert (told.status_code, told.json["code"]) == (400, "bad-update")
    assert lines(client) == {A}


@pytest.mark.parametrize(
    "fields, code",
    [
        ({"x": "y"}, "bad-setting"),
        ({"action": "put", "iri": "urn:g"}, "bad-setting"),
        ({"action": "put", "serialization": A}, "bad-setting"),
        ({"action": "put", "iri": "g", "serialization": A}, "bad-graph"),
        ({"action": "update"}, "bad-setting"),
        ({"action": "put", "iri": "urn:g", "serialization": "<a"}, "bad-rdf"),
        ({"action": "x", "iri": "urn:g"}, "bad-setting"),
    ],
)
def test_forms_that_say_nothing(client, fields: dict[str, str], code: str) -> None:
    assert kb(client, **fields).json["code"] == code


def test_what_is_no_form(client) -> None:
    assert client.post("/kb", json={"action": "put"}).status_code == 415
    assert client.get("/kb").json["code"] == "bad-setting"


def test_literals_that_are_added_keep_their_form(client) -> None:
    kb(client, action="put", iri="urn:g", serialization=A)
    update = "INSERT DATA { <urn:a> <urn:p> 01, +1, 1.0, 1e0, 'x'@EN }; DELETE DATA { <urn:a> <urn:p> 1 }"
    assert kb(client, action="update", iri="urn:g", queryBody=update).json["added"] == 5
    kinds = {"01": "integer", "+1": "integer", "1.0": "decimal", "1e0": "double"}
    typed = {f'<urn:a> <urn:p> "{text}"^^{INTEGER.replace("integer", kind)} .\n' for text, kind in kinds.items()}
    assert lines(client) == {A, *typed, '<urn:a> <urn:p> "x"@en .\n'}


def test_a_graph_is_dropped_unless_it_is_read(client) -> None:
    kb(client, action="put", iri="urn:g", serialization=A)
    client.put("/streams/temp")
    text = "REGISTER QUERY Q AS SELECT ?s FROM STREAM <streams/temp> [RANGE 1s STEP 1s] FROM <urn:g> WHERE { ?s ?p ?o }"
    assert client.put("/queries/Q", data=text).status_code == 201
    assert kb(client, action="update", queryBody="DROP GRAPH <urn:g>").json["code"] == "graph-in-use"
    assert kb(client, action="update", queryBody="CLEAR GRAPH <urn:g>").json["changed"]["triples"] == 0
    assert client.delete("/queries/Q").status_code == 204
    told = kb(
        client, action="update", queryBody="INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:p> 1 } }; DROP GRAPH <urn:g>"
    )
    assert told.json == {"changed": None, "added": 0, "removed": 0}
    assert client.get("/graphs?graph=urn:g").status_code == 404


def test_only_the_graphs_that_an_update_may_look_at_are_sent(client, monkeypatch) -> None:
    for graph in ("urn:g", "urn:h"):
        kb(client, action="put", iri=graph, serialization=A)
    looked: list[str] = []
    version = Current.version
    monkeypatch.setattr(Current, "version", lambda self, iri: looked.append(iri) or version(self, iri))
    kb(client, action="update", iri="urn:g", queryBody="INSERT DATA { <urn:b> <urn:p> 'b' }")
    assert looked == ["urn:g"] and lines(client) == {A, B}


@pytest.mark.parametrize("change", ["put", "delete", "make"])
@pytest.mark.parametrize("update", ["copy", "drop"])
def test_an_update_means_what_it_means_where_it_stands_in_the_log(
    client, monkeypatch, change: str, update: str
) -> None:
    """While it is worked out somebody else changes a graph that it only reads: it is worked out again."""
    kb(client, action="put", iri="urn:g", serialization=A)
    if change != "make":
        kb(client, action="put", iri="urn:h", serialization=B)
    changes_in, tries = work.changes_in, []

    def meanwhile(reply: bytes) -> list[work.Changed]:
        tries.append(reply)
        if len(tries) == 1:
            new = {"action": "delete"} if change == "delete" else {"action": "put", "serialization": C}
            assert kb(client, iri="urn:h", **new).status_code == 200
        return changes_in(reply)

    monkeypatch.setattr(work, "changes_in", meanwhile)
    text = "INSERT DATA { GRAPH <urn:g> { <urn:d> <urn:p> 'd' } } ; "
    text += "INSERT { GRAPH <urn:g> { ?s ?p ?o } } WHERE { GRAPH <urn:h> { ?s ?p ?o } }"
    text += " ; DROP GRAPH <urn:g>" if update == "drop" else ""
    assert kb(client, action="update", queryBody=text).status_code == 200
    if update == "drop":
        assert client.get("/graphs?graph=urn:g").status_code == 404
    else:
        assert lines(client) == ({A, D} if change == "delete" else {A, D, C})
    assert len(tries) == 2
