"""REGISTER, COMPUTE EVERY, windows and dataset clauses: each row of the reference's tables, as a text."""

from __future__ import annotations

import pytest

from csparql_spark.language import LanguageError, Window, parse

STREAM = "http://ex.org/s"
BODY = "{ ?s ?p ?o }"
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


def windows_of(clause: str) -> tuple[Window, ...]:
    return parse(f"BASE <http://ex.org/> PREFIX ex: <http://ex.org/> SELECT * {clause} {BODY}").windows


@pytest.mark.parametrize(
    ("extent", "size", "step"),
    [
        ("RANGE 5s STEP 1s", 5 * SECOND, SECOND),
        ("RANGE 500ms STEP 250ms", 500, 250),
        ("range 30m step 30m", 30 * MINUTE, 30 * MINUTE),
        ("RANGE 2h STEP 1d", 2 * HOUR, DAY),
        ("RANGE 1d TUMBLING", DAY, DAY),
        ("RANGE 5s", 5 * SECOND, 5 * SECOND),
        ("RANGE 5s SLIDE 1s", 5 * SECOND, SECOND),
        ("RANGE 10sec STEP 1sec", 10 * SECOND, SECOND),
        ("RANGE 10 seconds STEP 1 min", 10 * SECOND, MINUTE),
        ("RANGE 5 s STEP 1 s", 5 * SECOND, SECOND),
        ("RANGE PT10S STEP PT5S", 10 * SECOND, 5 * SECOND),
        ("RANGE PT0.5S", 500, 500),
        ("RANGE P1DT0H STEP PT30M", DAY, 30 * MINUTE),
        ("RANGE P1D", DAY, DAY),
        ("RANGE PT1M STEP 5s", MINUTE, 5 * SECOND),
        ("RANGE\r\n5s\tSTEP # each\r\n1s", 5 * SECOND, SECOND),
        ("RaNgE 3000ms sTeP 1s", 3 * SECOND, SECOND),
    ],
)
def test_windows_of_time(extent: str, size: int, step: int) -> None:
    assert windows_of(f"FROM STREAM <s> [{extent}]") == (Window(STREAM, range=size, step=step),)


@pytest.mark.parametrize(
    ("extent", "window"),
    [
        ("RANGE TRIPLES 10", Window(STREAM, triples=10, triples_step=10)),
        ("RANGE TRIPLES 10 STEP 2", Window(STREAM, triples=10, triples_step=2)),
        ("RANGE TRIPLES 10 TUMBLING", Window(STREAM, triples=10, triples_step=10)),
        ("RANGE 10 TRIPLES", Window(STREAM, triples=10, triples_step=10)),
        ("range 10 triples slide 3", Window(STREAM, triples=10, triples_step=3)),
        ("ELEMENTS 50", Window(STREAM, elements=50, elements_step=50)),
        ("ELEMENTS 50 STEP 10", Window(STREAM, elements=50, elements_step=10)),
        ("RANGE TRIPLES 007", Window(STREAM, triples=7, triples_step=7)),
    ],
)
def test_windows_that_count(extent: str, window: Window) -> None:
    assert windows_of(f"FROM STREAM <s> [{extent}]") == (window,)


@pytest.mark.parametrize(
    ("clause", "window"),
    [
        ("FROM STREAM <http://ex.org/s> [RANGE 5s]", Window(STREAM, 5000, 5000)),
        ("FROM STREAM ex:s [RANGE 5s]", Window(STREAM, 5000, 5000)),
        ("FROM STREAM <s> [RANGE 5s]", Window(STREAM, 5000, 5000)),
        ("FROM NAMED STREAM <s> [RANGE 5s]", Window(STREAM, 5000, 5000, named=True)),
        (
            "FROM NAMED WINDOW <w> ON <s> [RANGE PT5S STEP PT1S]",
            Window(STREAM, 5000, 1000, name="http://ex.org/w", named=True),
        ),
        (
            "FROM NAMED WINDOW ex:w ON STREAM ex:s [RANGE 5s]",
            Window(STREAM, 5000, 5000, name="http://ex.org/w", named=True),
        ),
        (
            "FROM NAMED WINDOW ON STREAM ex:s [RANGE 5s SLIDE 1s] AS ex:w",
            Window(STREAM, 5000, 1000, name="http://ex.org/w", named=True),
        ),
    ],
)
def test_declarations_of_windows(clause: str, window: Window) -> None:
    assert windows_of(clause) == (window,)


def test_dataset_clauses_in_any_order() -> None:
    query = parse(
        "PREFIX ex: <http://ex.org/> SELECT * "
        "FROM NAMED ex:n FROM STREAM ex:s [RANGE 5s] FROM ex:g USING ENTAILMENT rdfs, ex:rules "
        "FROM NAMED STREAM ex:t [RANGE TRIPLES 3] FROM GRAPH ex:h FROM ex:g FROM NAMED GRAPH ex:m "
        f"UNDER ENTAILMENT REGIME rho-df {BODY}"
    )
    assert query.windows == (
        Window("http://ex.org/s", 5000, 5000),
        Window("http://ex.org/t", triples=3, triples_step=3, named=True),
    )
    assert query.graphs == ("http://ex.org/g", "http://ex.org/h")
    assert query.named_graphs == ("http://ex.org/n", "http://ex.org/m")
    assert query.entailment == ("rdfs", "http://ex.org/rules", "rho-df")
    assert query.body == "PREFIX ex: <http://ex.org/>\nSELECT *\n{ ?s ?p ?o }"


WINDOW = "FROM STREAM <http://ex.org/s> [RANGE 10s]"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("REGISTER QUERY q AS SELECT *", ("q", "query", "RSTREAM", None)),
        ("register query Gas as select *", ("Gas", "query", "RSTREAM", None)),
        ("REGISTER QUERY 42 AS SELECT *", ("42", "query", "RSTREAM", None)),
        ("REGISTER QUERY 4ever AS SELECT *", ("4ever", "query", "RSTREAM", None)),
        ("REGISTER QUERY my-query_2 AS SELECT *", ("my-query_2", "query", "RSTREAM", None)),
        ("REGISTER QUERY été AS SELECT *", ("été", "query", "RSTREAM", None)),
        ("REGISTER QUERY as AS SELECT *", ("as", "query", "RSTREAM", None)),
        ("REGISTER QUERY Select COMPUTED EVERY 5s AS SELECT *", ("Select", "query", "RSTREAM", 5000)),
        ("REGISTER QUERY P1 AS SELECT *", ("P1", "query", "RSTREAM", None)),
        ("REGISTER QUERY q COMPUTED EVERY 10s AS SELECT *", ("q", "query", "RSTREAM", 10_000)),
        ("REGISTER QUERY q COMPUTE EVERY 1sec AS SELECT *", ("q", "query", "RSTREAM", 1000)),
        ("REGISTER QUERY q COMPUTE EVERY PT1M AS SELECT *", ("q", "query", "RSTREAM", 60_000)),
        ("REGISTER QUERY <http://ex.org/q> AS SELECT *", ("http://ex.org/q", "query", "RSTREAM", None)),
        ("REGISTER QUERY ex:q AS PREFIX ex: <http://ex.org/> SELECT *", ("http://ex.org/q", "query", "RSTREAM", None)),
        ("PREFIX ex: <http://ex.org/> REGISTER QUERY ex:q AS SELECT *", ("http://ex.org/q", "query", "RSTREAM", None)),
        ("REGISTER RSTREAM <http://ex.org/q> AS SELECT *", ("http://ex.org/q", "query", "RSTREAM", None)),
        ("REGISTER ISTREAM <http://ex.org/q> AS ASK", ("http://ex.org/q", "query", "ISTREAM", None)),
        ("REGISTER DSTREAM <http://ex.org/q> AS CONSTRUCT {}", ("http://ex.org/q", "stream", "DSTREAM", None)),
        ("REGISTER STREAM q AS CONSTRUCT ISTREAM {}", ("q", "stream", "ISTREAM", None)),
        ("REGISTER STREAM q AS DESCRIBE <http://ex.org/a>", ("q", "stream", "RSTREAM", None)),
        ("REGISTER QUERY q AS SELECT ISTREAM *", ("q", "query", "ISTREAM", None)),
        ("REGISTER QUERY q AS SELECT DISTINCT DSTREAM *", ("q", "query", "DSTREAM", None)),
        ("REGISTER QUERY q AS SELECT DSTREAM DISTINCT *", ("q", "query", "DSTREAM", None)),
        ("REGISTER ISTREAM q AS SELECT ISTREAM *", ("q", "query", "ISTREAM", None)),
        ("SELECT ISTREAM *", (None, "query", "ISTREAM", None)),
        ("ASK", (None, "query", "RSTREAM", None)),
    ],
)
def test_registrations(head: str, expected: tuple[str | None, str, str, int | None]) -> None:
    query = parse(f"{head} {WINDOW} {BODY}")
    assert (query.name, query.kind, query.output, query.every) == expected


def test_entailment_where_the_drafts_have_it() -> None:
    query = parse(f"REGISTER STREAM q UNDER ENTAILMENT REGIME <http://ex.org/r> AS CONSTRUCT {{}} {WINDOW} {BODY}")
    assert query.entailment == ("http://ex.org/r",)


@pytest.mark.parametrize("head", ["SELECT ISTREAM DISTINCT *", "SELECT DISTINCT ISTREAM *"])
def test_the_output_operator_leaves_the_body(head: str) -> None:
    assert parse(f"{head} {WINDOW} {BODY}").body == "SELECT DISTINCT *\n{ ?s ?p ?o }"


def test_a_registration_can_be_required() -> None:
    text = f"# nameless\nSELECT * {WINDOW} {BODY}"
    assert parse(text).name is None
    with pytest.raises(LanguageError) as caught:
        parse(text, require_register=True)
    error = caught.value
    assert (error.code, error.line, error.column, error.expected) == ("missing-register", 2, 1, "REGISTER")


@pytest.mark.parametrize(
    ("clause", "warning"),
    [
        (
            "FROM STREAM <s> [RANGE 2m STEP 5m]",
            "line 1, column 76: STEP is longer than the window: 3 min of every 5 min are never seen.",
        ),
        (
            "FROM STREAM <s> [RANGE TRIPLES 2 STEP 5]",
            "line 1, column 76: STEP is longer than the window: 3 of every 5 are never seen.",
        ),
        (
            "FROM STREAM <s> [RANGE 2m] FROM STREAM <s> [RANGE 5m]",
            "line 1, column 92: <http://ex.org/s> has several windows; what they see is merged.",
        ),
    ],
)
def test_warnings_about_windows(clause: str, warning: str) -> None:
    query = parse(f"BASE <http://ex.org/> PREFIX ex: <http://ex.org/> SELECT * {clause} {BODY}")
    assert query.warnings == (warning,)


@pytest.mark.parametrize(
    ("head", "window", "column", "told"),
    [
        ("", "[RANGE 10s STEP 1ms]", 50, "1 ms is 1,000"),
        ("", "[RANGE 9ms]", 50, "9 ms is 111"),
        ("COMPUTE EVERY 2ms ", "[RANGE 10s STEP 1ms]", 18, "2 ms is 500"),
    ],
)
def test_a_warning_about_more_instants_than_can_be_answered(head: str, window: str, column: int, told: str) -> None:
    query = parse(f"REGISTER QUERY q {head}AS SELECT * FROM STREAM <urn:s> {window} {BODY}")
    assert query.warnings == (
        f"line 1, column {column}: an instant every {told} answers a second, more than can be worked out. Write a longer "
        "STEP: elements are seen to the millisecond all the same.",
    )


@pytest.mark.parametrize(
    ("head", "window"),
    [
        ("", "[RANGE 10s STEP 10ms]"),
        ("", "[RANGE 10ms]"),
        ("COMPUTE EVERY 10ms ", "[RANGE 10s STEP 1ms]"),
        ("", "[RANGE TRIPLES 10 STEP 1]"),
    ],
)
def test_no_warning_about_instants_that_can_be_answered(head: str, window: str) -> None:
    assert parse(f"REGISTER QUERY q {head}AS SELECT * FROM STREAM <urn:s> {window} {BODY}").warnings == ()


def test_a_warning_about_an_evaluation_that_misses_elements() -> None:
    query = parse(f"REGISTER QUERY q COMPUTE EVERY 1m AS SELECT * {WINDOW} {BODY}")
    assert query.warnings == ("line 1, column 1: COMPUTE EVERY is longer than the windows: 50 s are never seen.",)
