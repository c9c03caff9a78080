from __future__ import annotations

import pytest

from csparql_spark.language import Window, describe, parse
from csparql_spark.language.queries.describe import describe_instants, describe_window
from tests.language import texts

S = "http://ex.org/s"


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (Window(S, range=30_000, step=5000), "the last 30 s of <http://ex.org/s>, seen anew every 5 s"),
        (
            Window(S, range=60_000, step=60_000),
            "the last 1 min of <http://ex.org/s>, seen anew every 1 min: each element once",
        ),
        (
            Window(S, range=120_000, step=300_000),
            "the last 2 min of <http://ex.org/s>, seen anew every 5 min: 3 min of every 5 min are never seen",
        ),
        (
            Window(S, triples=100, triples_step=100),
            "the last 100 triples of <http://ex.org/s>, seen anew after every 100 triples: each triple once",
        ),
        (
            Window(S, elements=50, elements_step=1, name="http://ex.org/w", named=True),
            "the last 50 graphs of <http://ex.org/s> (the graph <http://ex.org/w>), seen anew after every graph",
        ),
    ],
)
def test_windows(window: Window, words: str) -> None:
    assert describe_window(window) == words


EPOCH = "since 1970-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("clauses", "words"),
    [
        ("FROM STREAM <s:a> [RANGE 30s STEP 5s]", f"every 5 s: at the multiples of 5 s {EPOCH}"),
        (
            "FROM STREAM <s:a> [RANGE 30s STEP 5s] FROM STREAM <s:b> [RANGE 1h STEP 1m]",
            f"every 5 s: at the multiples of 5 s {EPOCH}",
        ),
        (
            "FROM STREAM <s:a> [RANGE 30s STEP 2s] FROM STREAM <s:b> [RANGE 1h STEP 3s] FROM STREAM <s:c> [RANGE 6s]",
            f"every 2 s and every 3 s: at the multiples of 2 s or 3 s {EPOCH}",
        ),
        ("FROM STREAM <s:a> [RANGE TRIPLES 9]", "whenever 9 more triples of <s:a> have arrived"),
        (
            "FROM STREAM <s:a> [RANGE 5s] FROM STREAM <s:b> [RANGE TRIPLES 9 STEP 1]",
            f"every 5 s: at the multiples of 5 s {EPOCH}; whenever 1 more triple of <s:b> has arrived",
        ),
        ("", "once, when it is asked"),
    ],
)
def test_instants(clauses: str, words: str) -> None:
    assert describe_instants(parse(f"SELECT * {clauses} {{ ?s ?p ?o }}")) == words


def test_compute_every() -> None:
    text = "REGISTER QUERY q COMPUTE EVERY 10s AS ASK FROM STREAM <s:a> [RANGE 30s STEP {}] {{}}"
    lead = f"every 10 s: at the multiples of 10 s {EPOCH}"
    assert describe_instants(parse(text.format("5s"))) == lead
    assert describe_instants(parse(text.format("4s"))) == f"{lead}, each window as of its own last instant"


def test_a_whole_query() -> None:
    assert describe(parse(texts.LEAVERS)) == (
        "sees      the last 50 graphs of <http://ex.org/streams/gates> (the graph <http://ex.org/w/last>), "
        "seen anew after every 10 graphs\n"
        "beside    the graph <http://ex.org/kb/lots>\n"
        "evaluated whenever 10 more graphs of <http://ex.org/streams/gates> have arrived\n"
        "tells     the answers that have ceased since the instant before, "
        "as a stream of triples that other queries can read"
    )
