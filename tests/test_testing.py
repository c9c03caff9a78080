"""The public test kit: what its users may rely on."""

from __future__ import annotations

from pathlib import Path

import pytest

from csparql_spark.answers import tables
from csparql_spark.answers.bindings import Result
from csparql_spark.answers.limits import Limits
from csparql_spark.asking import one_shot
from csparql_spark.asking.admission import Refusal
from csparql_spark.engine import views
from csparql_spark.language import LanguageError
from csparql_spark.rdf.errors import RdfError
from csparql_spark.testing import Instant, QueryFailed, replay

QUERY = "REGISTER QUERY q AS SELECT ?s ?o FROM STREAM <urn:s> [RANGE 2s STEP 1s] WHERE { ?s <urn:p> ?o }"
STREAM = '<urn:a> <urn:p> "01" <urn:t:1500> .\n_:x <urn:p> "b"@en <urn:t:2600> .\n'
GRAPH = '<urn:g> <urn:p> "g" .\n_:x <urn:p> "h" .\n'


def table(at: int, *rows: tuple[str, str]) -> Instant:
    return Instant(at, "bindings", ("s", "o"), [{"s": s, "o": o} for s, o in rows])


A, B = ("<urn:a>", '"01"'), ("_:b0x0", '"b"@en')
ALL = [table(2000, A), table(3000, A, B), table(4000, B), table(5000)]


def test_the_example_of_its_docstring() -> None:
    text = "REGISTER QUERY q AS SELECT ?s FROM STREAM <urn:s> [RANGE 2s STEP 1s] WHERE { ?s <urn:p> ?o }"
    instants = list(replay(text, streams={"urn:s": "<urn:a> <urn:p> <urn:b> <urn:t:1500> ."}))
    assert (instants[0].at, instants[0].rows) == (2000, [{"s": "<urn:a>"}])
    assert [instant.at for instant in instants] == [2000, 3000, 4000] and instants[2].rows == []


def test_every_instant_says_all_that_there_is_to_say() -> None:
    assert list(replay(QUERY, streams={"urn:s": STREAM})) == ALL
    first = ALL[0]
    assert (first.kind, first.boolean, first.ntriples) == ("bindings", None, None)


def test_a_recording_is_a_text_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "s.nq").write_text(STREAM)
    (tmp_path / "s.trig").write_text(
        'GRAPH <urn:t:1500> { <urn:a> <urn:p> "01" } GRAPH <urn:t:2600> { [] <urn:p> "b"@en }'
    )
    for source in (tmp_path / "s.nq", str(tmp_path / "s.nq"), tmp_path / "s.trig", (tmp_path / "s.trig").read_text()):
        assert list(replay(QUERY, streams={"urn:s": source})) == ALL


@pytest.mark.parametrize("until, expected", [(1000, []), (2999, ALL[:1]), (3000, ALL[:2]), (6000, [*ALL, table(6000)])])
def test_until(until: int, expected: list[Instant]) -> None:
    assert list(replay(QUERY, streams={"urn:s": STREAM}, until=until)) == expected


@pytest.mark.parametrize(
    ("evaluator", "others"), [("snapshot", "Incremental"), ("incremental", "Snapshot"), ("auto", "Snapshot")]
)
def test_evaluators_say_the_same_in_ways_of_their_own(
    monkeypatch: pytest.MonkeyPatch, evaluator: str, others: str
) -> None:
    def unwanted(*_: object) -> None:
        raise AssertionError(f"{evaluator} asks {others}")

    monkeypatch.setattr(views, others, unwanted)
    said = list(replay(QUERY, streams={"urn:s": STREAM}, evaluator=evaluator))
    assert said == ALL
    # Only matches that are maintained know when they end: "01" is stamped 1500, "b" 2600, and RANGE is 2 s.
    until = [None] * 4 if evaluator == "snapshot" else [[3500], [3500, 4600], [4600], []]
    assert [instant.until for instant in said] == until


@pytest.mark.parametrize(
    ("text", "because"),
    [
        (
            QUERY.replace("?s ?o FROM", "(NOW() AS ?n) FROM"),
            "NOW, RAND, UUID, STRUUID and BNODE say something else at each instant",
        ),
        ("SELECT ?s { ?s ?p ?o }", "it reads no stream, and is asked once"),
    ],
)
def test_what_cannot_be_maintained_is_refused_by_name(text: str, because: str) -> None:
    streams = {"urn:s": STREAM} if "STREAM" in text else {}
    with pytest.raises(Refusal) as caught:
        list(replay(text, streams=streams, evaluator="incremental"))
    assert str(caught.value) == f"the query cannot be answered incrementally: {because}"
    assert [instant.kind for instant in replay(text, streams=streams, evaluator="snapshot")]


def test_what_cannot_be_maintained_any_more_fails_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_ROWS", 1)
    text = QUERY.replace("?s ?o FROM", "DISTINCT ?s ?o FROM").replace("?s <urn:p> ?o", "{ ?s <urn:p> ?o } { ?x ?p ?y }")
    assert list(replay(text, streams={"urn:s": STREAM})) == ALL  # it is matched anew
    with pytest.raises(QueryFailed, match="^its matches cannot be maintained any more: a table on the way "):
        list(replay(text, streams={"urn:s": STREAM}, evaluator="incremental"))


def test_background_has_blank_nodes_of_its_own() -> None:
    text = QUERY.replace("WHERE", "FROM <urn:g> WHERE")
    instants = list(replay(text, streams={"urn:s": STREAM}, background={"urn:g": GRAPH, "urn:unread": GRAPH}))
    g, h = ("<urn:g>", '"g"'), ("_:b1000x0", '"h"')
    assert instants == [table(2000, A, g, h), table(3000, A, g, B, h), table(4000, g, B, h), table(5000, g, h)]


def test_unbound_variables_are_absent() -> None:
    text = QUERY.replace("?s ?o", "?s ?never")
    (first, *_) = replay(text, streams={"urn:s": STREAM})
    assert first == Instant(2000, "bindings", ("s", "never"), [{"s": "<urn:a>"}])


def test_names_start_from_the_base() -> None:
    text = "REGISTER QUERY q AS SELECT ?s FROM STREAM <s> [RANGE 1s] WHERE { ?s <p> <o> }"
    instants = replay(text, streams={"http://x/s": "GRAPH <urn:t:1000> { <a> <p> <o> }"}, base="http://x/")
    assert [instant.rows for instant in instants] == [[{"s": "<http://x/a>"}], []]


# --- plain SPARQL

PLAIN = "SELECT ?s ?o {} WHERE {{ ?s <urn:p> ?o }}"
GRAPHS = {"urn:g": GRAPH, "urn:h": '<urn:h> <urn:p> "h" .'}
G, X, H = ("<urn:g>", '"g"'), ("_:b1000x0", '"h"'), ("<urn:h>", '"h"')


@pytest.mark.parametrize(
    "dataset, default_graphs, expected",
    [
        ("", None, [G, H, X]),
        ("FROM <urn:h>", None, [H]),
        ("FROM <urn:h>", ["urn:g"], [G, X]),
        ("", ["urn:h", "urn:g"], [G, H, X]),
        ("", [], []),
    ],
)
def test_plain_sparql_is_answered_once(
    dataset: str, default_graphs: list[str] | None, expected: list[tuple[str, str]]
) -> None:
    assert list(replay(PLAIN.format(dataset), background=GRAPHS, default_graphs=default_graphs)) == [
        table(0, *expected)
    ]


def test_plain_sparql_over_nothing() -> None:
    assert list(replay(PLAIN.format(""))) == [table(0)]


def test_background_with_timestamps_is_background() -> None:
    assert list(replay(PLAIN.format(""), background={"urn:g": '<urn:g> <urn:p> "g" <urn:t:1500> .'})) == [table(0, G)]


# --- what goes wrong


def test_a_query_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "LIMITS", Limits(rows=1))
    instants = replay(QUERY, streams={"urn:s": STREAM})
    assert next(instants) == ALL[0]
    with pytest.raises(
        QueryFailed,
        match="the answer has more than 1 rows, which is the limit for one instant: add a LIMIT or a FILTER",
    ):
        next(instants)


def test_plain_sparql_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_shot, "LIMITS", Limits(rows=1))
    with pytest.raises(
        QueryFailed,
        match="the answer has more than 1 rows, which is the limit for one instant: add a LIMIT or a FILTER",
    ):
        list(replay(PLAIN.format(""), background=GRAPHS))


@pytest.mark.parametrize(
    "options, error, sentence",
    [
        (
            dict(evaluator="magic"),
            ValueError,
            "there is no evaluator 'magic': choose one of auto, snapshot, incremental",
        ),
        (dict(engine="flink"), ValueError, "there is no engine 'flink': choose one of local, spark"),
        (
            dict(engine="spark", evaluator="snapshot"),
            ValueError,
            "the engine 'spark' chooses the evaluator itself: write engine='local', or leave out evaluator='snapshot'",
        ),
        (
            dict(maintenance="magic"),
            ValueError,
            "there is no maintenance 'magic': choose one of auto, expiration, delete-rederive, counting, recompute",
        ),
        (
            dict(engine="spark", maintenance="counting"),
            ValueError,
            "the engine 'spark' chooses the maintenance itself: write "
            "engine='local', or leave out maintenance='counting'",
        ),
        (
            dict(entailment="yours"),
            Refusal,
            "there is no rule set 'yours': there are owl-horst, rdf-full, rdfs, rdfs-full, "
            "rho-df; PUT /rules/{name} brings others",
        ),
        (
            dict(streams={}),
            Refusal,
            "there is no stream <urn:s>: create it first with PUT /streams/{name or encoded IRI}",
        ),
        (
            dict(streams={"urn:s": "<urn:a> <urn:p> <urn:o> ."}),
            Refusal,
            "1 of the 1 triples recorded for <urn:s> have no timestamp: "
            "name their graphs <urn:t:EPOCH-MILLISECONDS> or <urn:t:DATETIME>",
        ),
    ],
)
def test_refusals(options: dict[str, object], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as caught:
        list(replay(QUERY, **{"streams": {"urn:s": STREAM}, **options}))
    assert str(caught.value) == sentence


def test_what_does_not_parse_is_refused_with_its_place() -> None:
    with pytest.raises(LanguageError) as caught:
        list(replay("SELECT ?s\nWHERE { ?s }"))
    assert caught.value.line == 2
    with pytest.raises(RdfError) as wrong:
        list(replay(QUERY, streams={"urn:s": "<urn:a> <urn:p> .\n"}))
    assert wrong.value.line == 1


@pytest.mark.parametrize(
    "said, expected",
    [
        (Result.boolean(True), Instant(5, "boolean", boolean=True)),
        (Result.boolean(False), Instant(5, "boolean", boolean=False)),
        (Result.graph("<urn:a> <urn:p> <urn:é> .\n"), Instant(5, "graph", ntriples="<urn:a> <urn:p> <urn:é> .\n")),
        (Result.from_rows(("x", "y"), [{"x": '"1"'}, {}]), Instant(5, "bindings", ("x", "y"), [{"x": '"1"'}, {}])),
    ],
)
def test_every_kind_of_answer_is_an_instant(said: Result, expected: Instant) -> None:
    assert Instant.of(5, said) == expected
