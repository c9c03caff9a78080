"""Every kind of error, with its whole problem document: status, headers that matter, and body."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from csparql_spark.asking.admission import Refusal
from csparql_spark.disk import StoreError
from csparql_spark.disk.errors import DatabaseFault, DatabaseFull
from csparql_spark.server.backend import Backend
from csparql_spark.server.http import problems
from csparql_spark.server.http.problems import CATALOGUE, Problem
from tests.server.playing import TEXT, Engine, registered

NT, NQ = {"Content-Type": "application/n-triples"}, {"Content-Type": "application/n-quads"}
GZIP, EVENTS = {**NT, "Content-Encoding": "gzip"}, {"Accept": "text/event-stream"}
ONE = b"<urn:a> <urn:b> <urn:c> .\n"

GRAPH, RULES = "/graphs?graph=urn:g", "[r: (?a <urn:p> ?b) -> (?b <urn:p> ?a)]"
TURTLE = {"Content-Type": "text/turtle"}

# Requests that go wrong, in a house that is furnished as below. What is answered is in `problems.json`.
CASES: dict[str, tuple[str, str, dict[str, object]]] = {
    "no such page": ("GET", "/nothing", {}),
    "no such problem": ("GET", "/problems/nix", {}),
    "wrong method": ("PATCH", "/health", {}),
    "stream: a name with a blank": ("PUT", "/streams/a%20b", {}),
    "stream: an IRI with a blank": ("PUT", "/streams/http%3A%2F%2Fex.org%2F%20", {}),
    "stream: a name that is not UTF-8": ("PUT", "/streams/%FF", {}),
    "stream: settings that are not JSON": ("PUT", "/streams/new", {"data": '{"clock":\n "event",}'}),
    "stream: settings that are no object": ("PUT", "/streams/new", {"data": '"event"'}),
    "stream: an unknown setting": ("PUT", "/streams/new?clok=event", {}),
    "stream: an unknown clock": ("PUT", "/streams/new?clock=wall", {}),
    "stream: a clock that is a list": ("PUT", "/streams/new", {"json": {"clock": ["event"]}}),
    "stream: a unit in upper case": ("PUT", "/streams/new?clock=event&delay=5S", {}),
    "stream: a negative delay": ("PUT", "/streams/new", {"json": {"clock": "event", "delay": -1}}),
    "stream: a delay on the arrival clock": ("PUT", "/streams/new?delay=5s", {}),
    "stream: made again with another clock": ("PUT", "/streams/s", {}),
    "stream: unknown": ("GET", "/streams/nix", {}),
    "stream: deleting one that is not there": ("DELETE", "/streams/urn:x", {}),
    "stream: deleting one that is read": ("DELETE", "/streams/s", {}),
    "push: into no stream": ("POST", "/streams/nix", {"data": b"", "headers": NT}),
    "push: no body": ("POST", "/streams/s", {"headers": NT}),
    "push: a gzip of nothing": ("POST", "/streams/s", {"data": gzip.compress(b""), "headers": GZIP}),
    "push: a picture": ("POST", "/streams/s", {"data": b"x", "headers": {"Content-Type": "image/png"}}),
    "push: no Content-Type": ("POST", "/streams/s", {"data": b"x"}),
    "push: Latin-1 declared": ("POST", "/streams/s", {"headers": {"Content-Type": "text/turtle; charset=latin-1"}}),
    "push: Latin-1 undeclared": ("POST", "/streams/s", {"data": b'<urn:a> <urn:b> "\n\xe9" .', "headers": NT}),
    "push: compressed with brotli": ("POST", "/streams/s", {"headers": {**NT, "Content-Encoding": "br"}}),
    "push: gzip that is none": ("POST", "/streams/s", {"data": b"plain", "headers": GZIP}),
    "push: half a gzip": ("POST", "/streams/s", {"data": gzip.compress(b"x" * 99)[:-5], "headers": GZIP}),
    "push: half a body": (
        "POST",
        "/streams/s",
        {"data": b"12345", "headers": NT, "environ_overrides": {"CONTENT_LENGTH": "9"}},
    ),
    "push: too large": ("POST", "/streams/s", {"headers": NT, "environ_overrides": {"CONTENT_LENGTH": "100000001"}}),
    "push: an invalid IRI": ("POST", "/streams/s", {"data": ONE + b"<urn:a> <urn:b> <c d> .", "headers": NT}),
    "push: a stamp that is none": (
        "POST",
        "/streams/s",
        {"data": ONE.replace(b" .", b" <urn:t:soon> ."), "headers": NQ},
    ),
    "push: into a derived stream": ("POST", "/streams/Hot", {"data": ONE, "headers": NT}),
    "stream: one that a query makes": ("PUT", "/streams/Hot", {}),
    "stream: deleting one that a query makes": ("DELETE", "/streams/Hot", {}),
    "query: another text under a live name": ("PUT", "/queries/q", {"data": TEXT.replace("2s", "3s")}),
    "query: in place of another version": (
        "PUT",
        "/queries/q",
        {"data": TEXT.replace("2s", "3s"), "headers": {"If-Match": '"99"'}},
    ),
    "query: only if there is none": ("PUT", "/queries/q", {"data": TEXT, "headers": {"If-None-Match": "*"}}),
    "query: in place of one that is not there": ("PUT", "/queries/nix", {"data": "", "headers": {"If-Match": "*"}}),
    "query: deleted in another version": ("DELETE", "/queries/q", {"headers": {"If-Match": '"99"'}}),
    "query: an unknown version": ("GET", "/queries/q?version=99", {}),
    "answers: events of one version": (
        "GET",
        "/queries/q/answers?version=2",
        {"headers": {"Accept": "text/event-stream"}},
    ),
    "query: a unit in upper case": (
        "PUT",
        "/queries/w",
        {"data": "REGISTER QUERY w AS\nSELECT ?s FROM STREAM <urn:s> [RANGE 10S] {}"},
    ),
    "query: a stream that is not there": (
        "PUT",
        "/queries/w",
        {"data": "SELECT ?s FROM STREAM <urn:s> [RANGE 1s] { ?s ?p ?o }"},
    ),
    "query: no stream": ("PUT", "/queries/w", {"data": "ASK { ?s ?p ?o }"}),
    "query: its own output": (
        "PUT",
        "/queries/w",
        {"data": "REGISTER STREAM w AS CONSTRUCT { ?s ?p 1 } FROM STREAM <streams/w> [RANGE 1s] { ?s ?p ?o }"},
    ),
    "query: its stream is somebody else's": (
        "PUT",
        "/queries/t",
        {"data": "REGISTER STREAM t AS CONSTRUCT { ?s ?p 1 } FROM STREAM <streams/s> [RANGE 1s] { ?s ?p ?o }"},
    ),
    "query: deleting one whose stream is read": ("DELETE", "/queries/Hot", {}),
    "query: two names": ("PUT", "/queries/w", {"data": TEXT}),
    "query: a picture": ("PUT", "/queries/w", {"data": "x", "headers": {"Content-Type": "image/png"}}),
    "query: UTF-16": ("PUT", "/queries/w", {"data": "x", "headers": {"Content-Type": "text/plain; charset=utf-16"}}),
    "query: not UTF-8": ("PUT", "/queries/w", {"data": b"ASK {\xff}"}),
    "query: JSON without a text": ("PUT", "/queries/w", {"json": {"text": "ASK {}"}}),
    "query: too long": ("PUT", "/queries/w", {"data": b" " * (256 * 1024 + 1)}),
    "query: unknown": ("GET", "/queries/nix", {}),
    "query: deleting one that is not there": ("DELETE", "/queries/nix", {}),
    "answers: of no query": ("GET", "/queries/nix/answers", {}),
    "events: of no query": ("GET", "/queries/nix/answers", {"headers": EVENTS}),
    "answers: at another instant": ("GET", "/queries/q/answers?at=1500", {}),
    "answers: at no instant": ("GET", "/queries/q/answers?at=now", {}),
    "events: from no instant": ("GET", "/queries/q/answers?from=now", {"headers": EVENTS}),
    "events: after no id": ("GET", "/queries/q/answers", {"headers": {**EVENTS, "Last-Event-ID": "x"}}),
    "answers: as a picture": ("GET", "/queries/q/answers", {"headers": {"Accept": "image/png"}}),
    "answers: a table as N-Triples": ("GET", "/queries/q/answers?format=nt", {}),
    "answers: a range of no size": ("GET", "/queries/q/answers?limit=0", {}),
    "answers: one instant and several": ("GET", "/queries/q/answers?at=1000&to=2000", {}),
    "answers: a range as CSV": ("GET", "/queries/q/answers?from=0&format=csv", {}),
    "observer: of no query": ("POST", "/queries/nix", {"data": "https://hooks.example.org/"}),
    "observer: while webhooks are off": ("POST", "/queries/q", {"data": "https://hooks.example.org/"}),
    "observer: no URL": ("POST", "/queries/q", {"data": "hello"}),
    "observer: an unknown action": ("POST", "/queries/q", {"data": "action=stop"}),
    "observer: unknown": ("GET", "/queries/q/observers/0", {}),
    "knowledge: no form": ("POST", "/kb", {"data": "x", "content_type": "text/plain"}),
    "knowledge: an unknown action": ("POST", "/kb", {"data": {"action": "drop", "iri": "urn:g"}}),
    "knowledge: an update that fetches": ("POST", "/kb", {"data": {"action": "update", "queryBody": "LOAD <urn:x>"}}),
    "knowledge: an update of no graph": (
        "POST",
        "/kb",
        {"data": {"action": "update", "queryBody": "INSERT DATA { <urn:a> <urn:p> 1 }"}},
    ),
    "url: too long": ("GET", "/health?" + "x" * 40_000, {}),
    "graph: none": ("PUT", "/graphs", {"data": ONE, "headers": NT}),
    "graph: the default graph": ("GET", "/graphs?default", {}),
    "graph: two at once": ("GET", "/graphs?graph=urn:g&graph=urn:h", {}),
    "graph: an IRI with angle brackets": ("GET", "/graphs?graph=<urn:g>", {}),
    "graph: a relative IRI": ("GET", "/graphs?graph=g", {}),
    "graph: an unknown setting": ("GET", "/graphs?graph=urn:g&at=5", {}),
    "graph: unknown": ("GET", "/graphs?graph=urn:x", {}),
    "graph: deleting one that is not there": ("DELETE", "/graphs?graph=urn:x", {}),
    "graph: deleting one that is read": ("DELETE", GRAPH, {}),
    "graph: as a picture": ("GET", GRAPH, {"headers": {"Accept": "image/png"}}),
    "graph: in no format": ("GET", f"{GRAPH}&format=png", {}),
    "graph: a picture": ("PUT", GRAPH, {"data": b"x", "headers": {"Content-Type": "image/png"}}),
    "graph: an undeclared prefix": ("POST", GRAPH, {"data": "<urn:a> <urn:p>\n  ex:a .", "headers": TURTLE}),
    "graph: not UTF-8": ("PUT", GRAPH, {"data": b"<urn:a> <urn:p> '\xe9' .", "headers": TURTLE}),
    "graph: too large": ("PUT", GRAPH, {"headers": NT, "environ_overrides": {"CONTENT_LENGTH": "100000001"}}),
    "graph: a body that names graphs": (
        "PUT",
        GRAPH,
        {"data": "<urn:h> { <urn:a> <urn:p> <urn:b> }", "headers": {"Content-Type": "application/trig"}},
    ),
    "graph: quads": ("POST", GRAPH, {"data": ONE.replace(b" .", b" <urn:g> ."), "headers": NQ}),
    "graph: JSON-LD with a name": (
        "POST",
        GRAPH,
        {
            "data": '{"@id": "urn:h", "@graph": [{"@id": "urn:a", "urn:p": "1"}]}',
            "headers": {"Content-Type": "application/ld+json"},
        },
    ),
    "rules: no rules": ("PUT", "/rules/new", {"data": "# two\n[r: (?a <urn:p> ?b) -> (?a <urn:p> ?c)]"}),
    "rules: an include that is not there": ("PUT", "/rules/new", {"data": "@include <owl-all>."}),
    "rules: a picture": ("PUT", "/rules/new", {"data": "x", "headers": {"Content-Type": "image/png"}}),
    "rules: not UTF-8": ("PUT", "/rules/new", {"data": b"\xff"}),
    "rules: too long": ("PUT", "/rules/new", {"data": b" " * (256 * 1024 + 1)}),
    "rules: those of the server": ("PUT", "/rules/rdfs", {"data": RULES}),
    "rules: deleting those of the server": ("DELETE", "/rules/OWL", {}),
    "rules: unknown": ("GET", "/rules/new", {}),
    "rules: deleting some that are not there": ("DELETE", "/rules/new", {}),
    "rules: deleting some that are used": ("DELETE", "/rules/lab", {}),
    "why: no triple": ("GET", "/queries/q/why", {}),
    "why: not a triple": ("GET", "/queries/q/why?triple=a%20b", {}),
    "why: of no query": ("GET", "/queries/nix/why?triple=a", {}),
    "why: at no instant": ("GET", "/queries/q/why?triple=%3Curn%3Aa%3E%20a%201&at=now", {}),
    "why: before the first answer": ("GET", "/queries/r/why?triple=%3Curn%3Aa%3E%20a%201", {}),
    "sparql: no query": ("GET", "/sparql?query=", {}),
    "sparql: no form": ("POST", "/sparql", {"data": "query=%FF", "content_type": "application/x-www-form-urlencoded"}),
    "sparql: a picture": ("POST", "/sparql", {"data": "x", "headers": {"Content-Type": "image/png"}}),
    "sparql: not a query": ("GET", "/sparql?query=ASK%20%7B", {}),
    "sparql: a registration": ("POST", "/sparql", {"data": TEXT}),
    "sparql: an unknown graph": ("GET", "/sparql?query=ASK%20FROM%20%3Curn:x%3E%20%7B%7D", {}),
    "sparql: an unknown stream": ("POST", "/sparql", {"data": "ASK FROM STREAM <urn:x> [RANGE 1s] {}"}),
    "sparql: a service": ("POST", "/sparql", {"data": "ASK { SERVICE <http://x/> { ?s ?p ?o } }"}),
    "sparql: unknown rules": ("POST", "/sparql", {"data": "ASK USING ENTAILMENT nix { ?s ?p ?o }"}),
    "sparql: a table as N-Triples": ("GET", "/sparql?query=SELECT%20*%20%7B%7D&format=nt", {}),
}
# What is not there was named in the text, not in the URL: the request was found, and cannot be done.
OF_A_TEXT = {"query: a stream that is not there", "sparql: an unknown graph", "sparql: unknown rules"}
GOLDEN = json.loads(Path(__file__).with_name("problems.json").read_text())


def furnish(client) -> None:
    """Beside the stream `s` and the query `q`: a stream `t`, from which the stream query `Hot` makes another one, which
    the query `r` reads, with a graph and rules of its own."""
    made = [
        client.put("/streams/t?clock=event"),
        client.put(GRAPH, data=ONE, headers=NT),
        client.put("/rules/lab", data=RULES),
        client.put(
            "/queries/Hot",
            data=("REGISTER STREAM Hot AS CONSTRUCT { ?s ?p 1 } FROM STREAM <streams/t> [RANGE 1s] { ?s ?p ?o }"),
        ),
        client.put(
            "/queries/r",
            data="SELECT ?s FROM <urn:g> FROM STREAM <streams/Hot> [RANGE 1s] USING ENTAILMENT lab WHERE { ?s ?p ?o }",
        ),
    ]
    assert [response.status_code for response in made] == [201] * len(made), made[-1].text


@pytest.mark.parametrize("name", CASES)
def test_problem(client, backend: Backend, engine: Engine, name: str) -> None:
    engine.count(registered(client), 1000, 2000)
    furnish(client)
    tail = backend.stores.log.tail()
    method, path, asked = CASES[name]
    response = client.open(path, method=method, **asked)
    assert response.json == GOLDEN[name]
    assert (response.status_code, response.content_type) == (GOLDEN[name]["status"], "application/problem+json")
    assert response.data.endswith(b"}\n")
    assert backend.stores.log.tail() == tail, "an error left something in the log"


def test_the_golden_documents_keep_the_rules() -> None:
    """Each belongs to a case; its code fixes its type, its title and (but for refused queries) its status."""
    assert GOLDEN.keys() == CASES.keys()
    for name, told in GOLDEN.items():
        status, title, _ = CATALOGUE[told["code"]]
        assert (told["type"], told["title"]) == (f"/problems/{told['code']}", title)
        assert told["status"] == (422 if name in OF_A_TEXT else status), name


def test_headers_of_problems(client, engine: Engine) -> None:
    registered(client)
    assert set(client.post("/health").headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}
    encoded = client.post("/streams/s", headers={**NT, "Content-Encoding": "br"})
    assert encoded.headers["Accept-Encoding"] == "gzip, zstd"


def test_a_query_that_failed_before_it_had_an_answer(client, engine: Engine) -> None:
    engine.fail(registered(client), 1000, "too many rows")
    response = client.get("/queries/q/answers")
    assert (response.status_code, response.json) == (
        409,
        {
            "type": "/problems/query-failed",
            "title": "Query failed",
            "status": 409,
            "code": "query-failed",
            "detail": "The query q failed at 1000, before it had an answer: Too many rows.",
            "query": "q",
            "at": 1000,
            "reason": "too many rows",
        },
    )


FULL = "the log could not be written (database or disk is full): nothing of this request was kept"
FULL_ERROR = StoreError(FULL)
FULL_ERROR.__cause__ = DatabaseFull("database or disk is full")
SLOW = "the log did not take the entry in time: the disk does not keep up; try again"


@pytest.mark.parametrize(
    "error, code, detail",
    [
        (FULL_ERROR, "store-full", f"T{FULL[1:]}. Make room on the disk, then try again."),
        (StoreError(SLOW), "store-unavailable", f"T{SLOW[1:]}."),
        (DatabaseFault("disk I/O error"), "store-unavailable", "Disk I/O error."),
    ],
    ids=["full", "slow", "broken"],
)
def test_a_store_that_does_not_work(
    client, backend: Backend, monkeypatch, error: Exception, code: str, detail: str
) -> None:
    client.put("/streams/s")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(backend.stores.writer, "append", fail)
    response = client.post("/streams/s", data=ONE, headers=NT)
    status, title, _ = CATALOGUE[code]
    assert response.json == {
        "type": f"/problems/{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "code": code,
    }
    assert response.status_code == status
    assert response.headers.get("Retry-After") == ("5" if status == 503 else None)


def test_a_fault_is_told_to_the_log_and_numbered_for_the_client(client, backend: Backend, monkeypatch, capsys) -> None:
    monkeypatch.setattr(backend.stores.registry, "streams", lambda: 1 / 0)
    response = client.get("/streams")
    told = response.json
    incident = told.pop("incident")
    assert told == {
        "type": "/problems/internal",
        "title": "Internal error",
        "status": 500,
        "code": "internal",
        "detail": f"The server made a mistake. Its log tells more under incident {incident}.",
    }
    assert response.status_code == 500
    logged = capsys.readouterr().err
    assert logged.startswith(f"incident {incident}:\nTraceback") and "ZeroDivisionError" in logged


@pytest.mark.parametrize(
    "code, title", [("not-supported", "Not supported"), ("unknown-graph", "Unknown graph"), ("unheard-of", "Refused")]
)
def test_refusals_are_unprocessable(code: str, title: str) -> None:
    told = json.loads(problems.of_refusal(Refusal(code, "the query cannot be answered")).body())
    known = code if code in CATALOGUE else "refused"
    assert told == {
        "type": f"/problems/{known}",
        "title": title,
        "status": 422,
        "code": known,
        "detail": "The query cannot be answered.",
    }


def test_the_type_of_a_problem_is_a_url_that_explains_it(client) -> None:
    for code, (status, title, meaning) in CATALOGUE.items():
        problem = json.loads(Problem(code, "…").body())
        assert client.get(problem["type"]).json == {"code": code, "status": status, "title": title, "meaning": meaning}


@pytest.mark.parametrize("text, expected", [("the disk", "The disk."), ("Why?", "Why?"), ("Done.", "Done."), ("", ".")])
def test_sentence(text: str, expected: str) -> None:
    assert problems.sentence(text) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("there is no stream", "There is no stream."),
        ("the store's disk is full.", "The store's disk is full."),
        ("a, b and c", "A, b and c."),
        ("what now?", "What now?"),
        ("", "."),
        ("line 1, column 5: no", "Line 1, column 5: no."),
        ("https://a.example/ is none of the places", "https://a.example/ is none of the places."),
        ("urn:x:y is no stream", "urn:x:y is no stream."),
        ("<urn:s> is relative", "<urn:s> is relative."),
        ("ex:a has no prefix", "ex:a has no prefix."),
        ("f:timestamp asks", "f:timestamp asks."),
        ("csparql-spark check says more", "csparql-spark check says more."),
        ("--base is no IRI", "--base is no IRI."),
        ("owl-horst is a rule set", "owl-horst is a rule set."),
        ("prov:generatedAtTime tells", "prov:generatedAtTime tells."),
        ("keep_log is no setting", "keep_log is no setting."),
        ("hooks.example.org is not public", "hooks.example.org is not public."),
        ("iPhone is a name", "iPhone is a name."),
        ("from= is no instant", "from= is no instant."),
    ],
)
def test_a_sentence_begins_with_a_capital_unless_with_a_name(text: str, told: str) -> None:
    assert problems.sentence(text) == told
