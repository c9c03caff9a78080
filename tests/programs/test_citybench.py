"""The queries of CityBench over the streams of its city: at every instant, what Oxigraph says of a store that was made
for that instant alone.

Terms are compared by value: Oxigraph's store rewrites the lexical form of numbers ("12.0" to "12"), and ours come back
as they were sent, which is checked on its own. Blank nodes are compared up to their labels, which must be the same ones
at all instants.

    query ─▶ replay, by the evaluator that is chosen ─┐
          ─▶ replay, matched anew ────────────────────┤ equal at each instant
          ─▶ a new store for each instant ────────────┘
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pyoxigraph as ox
import pytest

from csparql_spark.language import parse
from csparql_spark.testing import Instant, replay
from tests.engine.running import matched_anew

from .citybench import (
    CITYBENCH,
    XSD,
    Answer,
    Recording,
    file_of,
    instants_of,
    said,
    seen,
    static,
    static_text,
    streams_of,
    text_of,
)

# Rows that each stream sends, and how many answers there are at the instant that has most of them (ASK: whether one
# says yes). A window of three seconds holds three rows. The seventh place of the user is the first near an event.
QUERIES = {
    "Q1": (4, 9),
    "Q10": (4, 9),
    "Q10_5": (4, 3**5),
    "Q10_8": (4, 2 * 3**7),  # when the last stream has sent its third row, the first is at its end
    "Q11": (4, False),  # what a pattern binds is bound
    "Q1_5_win_1": (4, 8),
    "Q2": (4, 8748),
    "Q4": (9, 99),
    "Q6": (4, 9),
    "Q7": (4, 6),
    "Q8": (4, 13_932),
    "location_parking_1": (4, 0),  # it asks for ct:hasLongtitude, which nobody says
    "pollution_weather_1": (4, 12),
    "traffic_parking_1": (4, 3),
}
NUMBERS = {f"<{XSD}{name}>": read for name, read in (("integer", int), ("decimal", float), ("double", float))}

pytestmark = pytest.mark.skipif(not CITYBENCH.exists(), reason=f"{CITYBENCH} is absent: no query of CityBench was run")


def test_these_are_the_queries() -> None:
    assert sorted(QUERIES) == sorted(path.stem for path in (CITYBENCH / "queries").glob("*.csparql"))


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("anew", [False, True], ids=["chosen", "anew"])
def test_a_query_says_what_a_new_store_says_at_each_instant(name: str, anew: bool) -> None:
    found = played(name, anew)
    wanted = expected(name)
    assert [instant.at for instant in found] == list(wanted)
    for instant in found:
        assert bag(answer_of(instant)) == bag(wanted[instant.at]), f"{name} at {instant.at}"
    assert labelled({instant.at: answer_of(instant) for instant in found}) == labelled(wanted)
    terms = {term for instant in found for row in instant.rows for term in row.values()}
    assert {term for term in terms if not term.startswith("_:")} <= sent(name)


@pytest.mark.parametrize("name", list(QUERIES))
def test_a_query_has_answers(name: str) -> None:
    answers = expected(name).values()
    most = max(answer if isinstance(answer, bool) else len(answer) for answer in answers)
    assert most == QUERIES[name][1]
    assert list(answers)[-1] in ([], False), "the last instant is that of empty windows"


# --- the two sides


def played(name: str, anew: bool) -> list[Instant]:
    streams = {iri: recording.text for iri, recording in streams_of_the(name).items()}
    background = {graph: static_text(file_of(graph)) for graph in parse(text_of(name)).graphs}
    if not anew:
        return list(replay(text_of(name), streams=streams, background=background))
    with matched_anew():
        return list(replay(text_of(name), streams=streams, background=background))


@cache
def expected(name: str) -> dict[int, Answer]:
    """By instant. Windows that hold the same triples again, as when all streams are silent, are not asked again."""
    query, streams = parse(text_of(name)), streams_of_the(name)
    answers: dict[frozenset[ox.Triple], Answer] = {}
    found = {}
    for instant in instants_of(query, streams):
        held = frozenset(triple for window in query.windows for triple in seen(window, streams[window.stream], instant))
        if held not in answers:
            answers[held] = said(query, streams, instant)
        found[instant] = answers[held]
    return found


@cache
def streams_of_the(name: str) -> dict[str, Recording]:
    return streams_of(parse(text_of(name)), QUERIES[name][0])


@cache
def sent(name: str) -> set[str]:
    """All terms of a query's streams and graphs, as they are written there."""
    elements = [triple for recording in streams_of_the(name).values() for _, triple in recording.elements]
    return {str(term) for triple in elements for term in triple}.union(
        *(terms_of(file_of(graph)) for graph in parse(text_of(name)).graphs)
    )


@cache
def terms_of(name: str) -> frozenset[str]:
    return frozenset(str(term) for quad in static(name) for term in quad.triple)


def answer_of(instant: Instant) -> Answer:
    if instant.kind == "boolean":
        return instant.boolean
    return [tuple(row.get(variable, "") for variable in instant.variables) for row in instant.rows]


# --- comparing


def bag(answer: Answer) -> Counter | bool:
    """An answer, all blank nodes being one."""
    return answer if isinstance(answer, bool) else Counter(tuple(map(shape, row)) for row in answer)


def labelled(answers: dict[int, Answer]) -> Counter:
    """What is said of each blank node at all instants, whatever its label. A row has one blank node at most."""
    about: dict[str, Counter] = {}
    for at, answer in answers.items():
        for row in answer if isinstance(answer, list) else ():
            blank = {term for term in row if term.startswith("_:")}
            assert len(blank) <= 1, row
            for label in blank:
                about.setdefault(label, Counter())[at, tuple(map(shape, row))] += 1
    return Counter(frozenset(rows.items()) for rows in about.values())


@cache
def shape(term: str) -> str | tuple[str, float]:
    if term.startswith("_:"):
        return "_:"
    lexical, mark, datatype = term.rpartition("^^")
    return (datatype, NUMBERS[datatype](lexical[1:-1])) if mark and datatype in NUMBERS else term


def test_numbers_are_equal_by_value_and_other_terms_by_letter() -> None:
    assert shape(f'"12.0"^^<{XSD}double>') == shape(f'"1.2E1"^^<{XSD}double>') != shape(f'"12"^^<{XSD}integer>')
    assert shape('"12.0"') != shape('"12"') and shape("_:a") == shape("_:b") != shape("<urn:a>")
    once, twice = {1: [("_:a",)], 2: [("_:a",)]}, {1: [("_:b",)], 2: [("_:c",)]}
    assert labelled(once) == labelled({1: [("_:b",)], 2: [("_:b",)]}) != labelled(twice)
