"""The client, against a real server over a real socket."""

from __future__ import annotations

import datetime
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal

import pytest

from csparql_spark.answers.bindings import Result as Told
from csparql_spark.client import IRI, Answer, BlankNode, Client, Event, Literal, ProblemError, Unreachable, following
from csparql_spark.client.terms import XSD, term
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.server.backend import Backend
from tests.server.conftest import serving
from tests.server.playing import BASE, TEXT, Engine


@pytest.fixture
def client(port: int) -> Iterator[Client]:
    with Client(f"http://127.0.0.1:{port}", timeout=20, patience=20) as client:
        yield client


def made(client: Client, name: str = "q") -> int:
    client.create_stream("s", clock="event")
    return client.register(name, TEXT.replace("QUERY q", f"QUERY {name}"))["id"]


def test_it_needs_the_standard_library_alone() -> None:
    check = (
        "import csparql_spark.client, sys; "
        "assert not {'numpy', 'flask', 'pyspark', 'pyarrow', 'click', 'rdflib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", check], check=True)


def test_streams_and_pushes(client: Client, backend: Backend) -> None:
    assert client.create_stream("s", clock="event", delay="2s")["delay"] == 2000
    when = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    values = [
        21.5,
        7,
        True,
        Decimal("1.50"),
        'a "b"\\\n',
        when,
        Literal("ciao", language="it"),
        IRI("urn:o"),
        BlankNode("x"),
    ]
    told = client.push("s", [("urn:a", IRI("urn:p"), value, 1000 + i) for i, value in enumerate(values)])
    assert (told["accepted"], told["first"], told["last"]) == (9, 1000, 1008)
    (entry,) = [entry for entry in backend.stores.log.read(0, backend.stores.log.tail()) if entry.kind == "chunk"]
    chunk = Chunk.from_ipc(entry.payload)
    assert [o for _, _, o in chunk.triples()][:8] == [
        f'"21.5"^^<{XSD}double>',
        f'"7"^^<{XSD}integer>',
        f'"true"^^<{XSD}boolean>',
        f'"1.50"^^<{XSD}decimal>',
        '"a \\"b\\"\\\\\\n"',
        f'"2026-01-02T03:04:05+00:00"^^<{XSD}dateTime>',
        '"ciao"@it',
        "<urn:o>",
    ]
    assert client.push(f"{BASE}/streams/s", "<urn:a> <urn:p> 1 .")["accepted"] == 1
    assert client.push("s", [])["accepted"] == 0
    client.delete_stream("s")
    with pytest.raises(ProblemError) as caught:
        client.push("s", [])
    assert (caught.value.status, caught.value.code) == (404, "unknown-stream")


def test_a_problem_tells_where(client: Client) -> None:
    client.create_stream("s")
    with pytest.raises(ProblemError) as caught:
        client.push("s", "<urn:a> <urn:p>\n ex:x .")
    problem = caught.value
    assert (problem.status, problem.code, problem.line, problem.column) == (400, "bad-rdf", 2, 2)
    assert str(problem) == problem.detail == problem.problem["detail"]


UTC = datetime.timezone.utc
NOON = datetime.datetime(2026, 1, 1, 12, 0, 0, 1999, tzinfo=UTC)  # to the microsecond
LISBON = datetime.timezone(datetime.timedelta(hours=1))


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        (1767268800001, 1767268800001),
        ("1767268800001", 1767268800001),
        (1767268800001.7, 1767268800001),
        (NOON, 1767268800001),
        (NOON.astimezone(LISBON), 1767268800001),
        ("2026-01-01T12:00:00.001Z", 1767268800001),
        ("2026-01-01T13:00:00.001+01:00", 1767268800001),
        ("2026-01-01T12:00:00.001", 1767268800001),
        (datetime.datetime(1969, 12, 31, 23, 59, 59, 999_500, tzinfo=UTC), -1),
    ],
)
def test_times_are_what_python_has_for_them(client: Client, engine: Engine, when: object, expected: int) -> None:
    query = made(client)
    told = client.push("s", [("urn:a", IRI("urn:n"), 1, when)])
    assert (told["first"], told["last"]) == (expected, expected)
    engine.count(query, expected, expected + 1)
    assert client.answers("q", at=when).at == expected
    for answers in (client.subscribe("q", start=when), client.events("q", start=when)):
        first = next(answers)
        assert (first.at if isinstance(first, Answer) else first.data["at"]) == expected + 1
        answers.close()


@pytest.mark.parametrize(
    ("when", "said"),
    [
        (
            datetime.datetime(2026, 1, 1, 12),
            "datetime.datetime(2026, 1, 1, 12, 0) has no time zone: give it one, as in "
            "value.replace(tzinfo=datetime.timezone.utc)",
        ),
        (
            datetime.date(2026, 1, 1),
            "datetime.date(2026, 1, 1) is no instant: use a datetime with a time zone, an ISO time "
            "like 2026-01-01T12:00:00Z, or milliseconds since 1970",
        ),
        (
            "soon",
            "'soon' is no instant: use a datetime with a time zone, an ISO time like 2026-01-01T12:00:00Z, or "
            "milliseconds since 1970",
        ),
        (
            True,
            "True is no instant: use a datetime with a time zone, an ISO time like 2026-01-01T12:00:00Z, or "
            "milliseconds since 1970",
        ),
        (
            float("nan"),
            "nan is no instant: use a datetime with a time zone, an ISO time like 2026-01-01T12:00:00Z, or "
            "milliseconds since 1970",
        ),
    ],
)
def test_what_is_no_time_is_not_sent(client: Client, when: object, said: str) -> None:
    made(client)
    for call in (
        lambda: client.push("s", [("urn:a", "urn:p", 1, when)]),
        lambda: client.answers("q", at=when),
        lambda: next(client.subscribe("q", start=when)),
        lambda: next(client.events("q", start=when)),
    ):
        with pytest.raises(ValueError) as caught:
            call()
        assert str(caught.value) == said


def test_a_delay_is_a_timedelta_too(client: Client) -> None:
    assert client.create_stream("late", clock="event", delay=datetime.timedelta(seconds=2.5))["delay"] == 2500


@pytest.mark.parametrize("triple", [(1, 2), ("a b", "urn:p", 1), ("urn:a", "urn:p", object())])
def test_what_is_no_triple_is_not_sent(client: Client, triple: tuple[object, ...]) -> None:
    with pytest.raises(ValueError):
        client.push("s", [triple])


def test_a_push_whose_answer_gets_lost_is_counted_once(
    client: Client, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = client.create_stream("s")["iri"]
    once, lost = client._wire._once, iter((OSError("cut"), OSError("cut")))

    def losing(*request: object) -> object:
        answer = once(*request)
        if (error := next(lost, None)) is not None:
            raise error
        return answer

    monkeypatch.setattr(client._wire, "_once", losing)
    told = client.push("s", "<urn:a> <urn:p> 1 .")
    assert told["repeated"] and backend.stores.log.totals(stream) == (1, 1)


def test_who_is_not_there_is_told_so_in_the_end() -> None:
    client = Client("http://127.0.0.1:9", patience=0.5)
    with pytest.raises(Unreachable, match="^http://127.0.0.1:9 cannot be reached: "):
        client.health()
    with pytest.raises(Unreachable):
        list(client.subscribe("q"))
    with pytest.raises(ValueError, match="is not the URL of a server"):
        Client("127.0.0.1:8000")


def test_queries_and_answers(client: Client, engine: Engine) -> None:
    query = made(client)
    assert client.answers("q") is None
    rows = [{"s": "<urn:a>", "n": f'"7"^^<{XSD}integer>'}, {"s": "_:b"}]
    engine.answer(query, 1000, Told.from_rows(("s", "n"), rows))
    answer = client.answers("q", at=1000)
    assert (answer.query, answer.at, answer.variables) == ("q", 1000, ("s", "n"))
    assert answer.rows == [{"s": IRI("urn:a"), "n": Literal("7", XSD + "integer")}, {"s": answer.rows[1]["s"]}]
    assert isinstance(answer.rows[1]["s"], BlankNode) and answer.rows[0]["n"].to_python() == 7
    client.delete("q")
    with pytest.raises(ProblemError, match="q"):
        client.answers("q")


def test_replacing(client: Client, engine: Engine) -> None:
    first, text = made(client), TEXT.replace("2s", "3s")
    with pytest.raises(ProblemError, match=f'If-Match: "{first}"') as refused:
        client.register("q", text)
    assert refused.value.code == "query-exists"
    engine.count(first, 1000)
    told = client.replace("q", text, first)
    assert (told["id"], told["version"], told["text"]) == (first, first + 1, text)
    assert client.replace("q", text, first)["version"] == first + 1
    with pytest.raises(ProblemError) as refused:
        client.replace("q", TEXT, first)
    assert (refused.value.status, refused.value.code) == (412, "precondition-failed")
    assert client.answers("q") is None
    old = client.answers("q", version=first)
    assert (old.version, old.at) == (first, 1000) == (client.answers("q", 1000, first).version, 1000)
    assert client.replace("q", TEXT)["version"] == first + 2
    with pytest.raises(ProblemError, match="If-Match does not name"):
        client.delete("q", first)
    client.delete("q", first + 2)
    with pytest.raises(ProblemError) as refused:
        client.replace("q", TEXT)
    assert refused.value.status == 412


def test_background(client: Client) -> None:
    client.graph_put("urn:g", "<urn:a> <urn:p> 1, 2 .")
    answer = client.query("SELECT ?o { <urn:a> <urn:p> ?o } ORDER BY ?o")
    assert [row["o"].to_python() for row in answer.rows] == [1, 2]
    assert client.query("ASK { <urn:a> <urn:p> 3 }").truth is False
    assert client.query("CONSTRUCT WHERE { <urn:a> <urn:p> 1 }").triples == f'<urn:a> <urn:p> "1"^^<{XSD}integer> .\n'
    assert client.rules_put("r", "[r: (?a <urn:p> ?b) -> (?b <urn:p> ?a)]")["rules"] == 1
    client.rules_delete("r")
    client.graph_delete("urn:g")
    assert client.health()["streams"] == 0


def test_a_subscription_goes_on_where_it_was_when_the_server_comes_back(
    backend: Backend, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut in the middle, and again: no answer is missed, none is told twice."""
    threads, idle = backend.settings.threads, backend.settings.idle_seconds
    with (
        serving(backend, threads=threads, idle_seconds=idle) as port,
        Client(f"http://127.0.0.1:{port}", patience=20) as client,
    ):
        query = made(client)
        engine.count(query, 1000, 2000)
        answers = client.subscribe("q", start="beginning")
        assert [next(answers).at, next(answers).at] == [1000, 2000]
        connection, cut = following.connected, threading.Event()

        def cutting(wire: object, path: str, last: str | None) -> Iterator[object]:
            for number, event in enumerate(connection(wire, path, last)):
                if number == 3 and not cut.is_set():
                    cut.set()
                    raise ConnectionResetError("cut")
                yield event

        monkeypatch.setattr(following, "connected", cutting)
        resumed = client.subscribe("q", last=f"{query}-2000")
        engine.count(query, 3000, 4000, 5000, 6000)
        assert [next(resumed).at for _ in range(4)] == [3000, 4000, 5000, 6000]
        assert cut.is_set()
        assert [next(answers).at for _ in range(2)] == [3000, 4000]
        resumed.close()
        answers.close()


def test_what_is_no_answer_is_told_or_raised(client: Client, engine: Engine) -> None:
    query = made(client)
    engine.count(query, 1000)
    engine.fail(query, 2000, "too many rows")
    seen: list[Event] = []
    answers = client.subscribe("q")
    assert next(answers).at == 1000
    with pytest.raises(ProblemError, match="The query q has failed: too many rows"):
        next(answers)
    answers = client.subscribe("q", notice=seen.append)
    assert next(answers).rows == [{"n": Literal("1000")}]
    client.delete("q")
    assert list(answers) == []
    assert [event.kind for event in seen] == ["problem", "end"]


def test_several_queries_on_one_connection(client: Client, engine: Engine) -> None:
    queries = [made(client, name) for name in ("q", "r")]
    for query in queries:
        engine.count(query, 1000)
    answers = client.subscribe("q", "r")
    first: list[Answer] = [next(answers), next(answers)]
    assert sorted((answer.query, answer.at) for answer in first) == [("q", 1000), ("r", 1000)]
    answers.close()


def test_terms_are_python_values() -> None:
    assert term({"type": "literal", "value": "1.5", "datatype": XSD + "decimal"}).to_python() == Decimal("1.5")
    assert term({"type": "literal", "value": "x", "datatype": XSD + "integer"}).to_python() == "x"
    assert term({"type": "literal", "value": "true", "datatype": XSD + "boolean"}).to_python() is True
    assert term({"type": "literal", "value": "ciao", "xml:lang": "it"}).language == "it"
    assert str(term({"type": "uri", "value": "urn:a"})) == "urn:a"


def test_an_id_alone_is_remembered_and_all_queries_can_be_followed(client: Client, engine: Engine) -> None:
    events = client.events(start="latest")
    query = made(client)
    engine.count(query, 1000)
    kinds = []
    for event in events:
        assert event.kind  # an id alone is no event
        kinds.append((event.kind, event.data.get("query")))
        if event.kind == "answer":
            break
    assert ("answer", "q") in kinds
    events.close()
    client.delete("q")
    assert list(client.subscribe("q", last=event.id, notice=lambda event: None)) == []


def test_pausing(client: Client) -> None:
    made(client)
    assert client.pause("q")["status"] == "paused"
    assert client.resume("q")["status"] == "running"


@pytest.mark.parametrize("token", ["…", "csp_a\n", "a b", "\x00"])
def test_a_token_that_no_header_can_carry_is_refused_with_a_sentence(token: str) -> None:
    with pytest.raises(ValueError, match=r"^the token has the character '.+' \(U\+[0-9A-F]{4}\), which no header"):
        Client("http://127.0.0.1:8000", token=token)
    Client("http://127.0.0.1:8000", token="csp_a-Z_0~").close()
