"""The incremental evaluator against the snapshot evaluator, over a graph that moves."""

from __future__ import annotations

import gc
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import matches
from csparql_spark.answers.incremental import Incremental, NotMaintainable, TooManyMatches, TooManyRows, why_not
from csparql_spark.answers.over_ids import over_ids
from csparql_spark.language.rules.rule import Atom, Rule
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.relations.tags import ALWAYS
from tests.examples import examples

from .streams import LIMIT, Stage, Writer, integer, stream, taken


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 10**9))
def test_it_says_what_the_snapshot_evaluator_says(seed: int) -> None:
    random = Random(seed)
    bodies = [Writer(random).body() for _ in range(2)]
    stage = Stage((body, range_) for body in bodies if taken(body) for range_ in (3, 7))
    for now, triples in stream(random):
        stage.move(now, triples)
        stage.check()


FLAT = Rule((Atom("?a", "<urn:p>", "?b"),), (Atom("?a", "<urn:q>", "?b"),))
CHAIN = Rule((Atom("?a", "<urn:p>", "?c"),), (Atom("?a", "<urn:p>", "?b"), Atom("?b", "<urn:p>", "?c")))


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**9))
def test_it_follows_what_is_entailed_and_what_is_taken_back(seed: int) -> None:
    random = Random(seed)
    bodies = [Writer(random).body() for _ in range(2)]
    bodies = [body for body in bodies if taken(body)]
    stage = Stage(((body, range_) for body in bodies for range_ in (2, 5)), [FLAT, CHAIN])
    for now, triples in stream(random):
        stage.move(now, triples)
        stage.check()
        if triples and random.random() < 0.5:
            ids = stage.content.dictionary.encode(random.choice(triples))
            stage.facts.remove(*(ids[place : place + 1] for place in range(3)))
            stage.check()
        if random.random() < 0.3:
            stage.ask(random.choice(bodies), random.randint(1, 8)) if bodies else None


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 10**9))
def test_it_goes_on_when_ids_change_their_meaning(seed: int) -> None:
    random = Random(seed)
    bodies = [Writer(random).body() for _ in range(3)]
    stage = Stage((body, range_) for body in bodies if taken(body) for range_ in (3, 7))
    stage.content.dictionary.holders += [stage.facts, stage.shared]
    generations = set()
    for number, (now, triples) in enumerate(stream(random)):
        stage.content.add(
            0,
            number,
            Chunk.from_triples([(f"<urn:{number}-{n}>", "<urn:p>", f'"{n}"') for n in range(2500)], [now] * 2500),
        )
        stage.move(now, triples)
        stage.check()
        stage.content.forget({0: now})
        generations.add(stage.content.dictionary.generation)
        stage.check()
    assert len(generations) == number + 1


def test_windows_of_other_ranges_see_the_same_graph_from_further_back() -> None:
    body = "SELECT ?s ?n (?n * 2 AS ?m) WHERE { ?s <urn:p> ?n FILTER(?n > 1) }"
    stage = Stage([(body, 10), (body, 20), (body, 5)])
    stage.move(10, [("<urn:a>", "<urn:p>", integer(1)), ("<urn:a>", "<urn:p>", integer(2))])
    stage.move(16, [("<urn:b>", "<urn:p>", integer(3))])
    stage.move(21, [("<urn:c>", "<urn:p>", integer(4)), ("<urn:b>", "<urn:p>", integer(3))])
    stage.check()
    rows = [[row["n"] for row in query.answer(limit=9).table.rows()] for *_, query in stage.queries]
    assert rows == [[integer(3), integer(4)], [integer(2), integer(3), integer(4)], [integer(3), integer(4)]]
    assert stage.queries[1][-1].until().tolist() == [10, 21, 21]
    assert len(stage.shared.tables._tables) == 1


def test_until() -> None:
    def until(body: str) -> list[int] | None:
        query = stage.ask(body, 10)
        query.move(after=0)
        query.answer(limit=100)
        found = query.until()
        return None if found is None else found.tolist()

    stage = Stage([])
    stage.move(1, [("<urn:a>", "<urn:p>", "<urn:b>"), ("<urn:a>", "<urn:p>", "<urn:c>")], stamp=4)
    stage.move(2, [("<urn:b>", "<urn:p>", "<urn:d>")], stamp=2)
    stage.move(3, [("<urn:c>", "<urn:q>", "<urn:d>")], stamp=7)
    assert until("SELECT * { ?s <urn:p> ?o }") == [4, 4, 2]
    assert until("SELECT DISTINCT ?s { ?s ?p ?o }") == [4, 2, 7]
    assert until("SELECT ?z { ?s <urn:p> ?o . ?o ?p ?z } ORDER BY ?o") == [4, 2]
    assert until("SELECT ?s { ?s <urn:p>+ ?o }") == [4, 4, 2, 2]
    assert until("SELECT ?o { <urn:a> (<urn:p>|<urn:q>)+ ?o }") == [4, 4, 4]
    assert until("SELECT ?o { <urn:a> <urn:p>* ?o }") == [ALWAYS, 4, 4, 2]
    assert until("SELECT ?s { ?s <urn:p>? <urn:d> }") == [2, ALWAYS]
    assert until("SELECT ?n { ?n <urn:none>* ?n }") == [4, 4, 7, 7]
    assert until("SELECT ?s { ?s !<urn:p> ?o }") == [7]
    assert until("ASK { <urn:a> <urn:p>+ <urn:d> }") == [2]
    assert until("SELECT DISTINCT ?z { ?s <urn:p> ?o . ?o ?p ?z }") == [4]
    assert until("SELECT ?s { { ?s <urn:p> <urn:d> } UNION { ?s <urn:q> <urn:d> } UNION { BIND(1 AS ?s) } }") == [
        ALWAYS,
        2,
        7,
    ]
    assert until("SELECT ?s { ?s <urn:q> ?o FILTER EXISTS { ?x <urn:p> ?s } }") == [4]
    assert until("SELECT ?o { ?s <urn:p> ?o FILTER EXISTS { ?o ?p ?z } }") == [2, 4]
    assert until("ASK { ?s ?p <urn:d> }") == [7]
    assert until("ASK { ?s ?p <urn:never> }") is None
    for body in (
        "SELECT * { ?s <urn:p> ?o OPTIONAL { ?o <urn:q> ?z } }",
        "SELECT * { ?s <urn:p> ?o MINUS { ?o <urn:q> ?z } }",
        "SELECT * { ?s <urn:p> ?o FILTER NOT EXISTS { ?o <urn:q> ?z } }",
        "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
        "SELECT * { ?s <urn:p> ?o } LIMIT 2",
        "CONSTRUCT WHERE { ?s <urn:p> ?o }",
        "SELECT * { ?s <urn:p> ?o { SELECT ?o { ?x ?p ?o } LIMIT 1 } }",
    ):
        assert until(body) is None, body


def test_its_version_grows_when_what_it_sees_changes() -> None:
    stage = Stage([])
    queries = [
        stage.ask("SELECT ?n { ?s <urn:p> ?n FILTER(?n > 1) }", 4),
        stage.ask("SELECT ?n { ?s <urn:p> ?n . ?s <urn:on> <urn:yes> }", 4),
    ]
    seen = []
    for now, triples in (
        (1, []),
        (2, [("<urn:a>", "<urn:p>", integer(1))]),
        (3, [("<urn:a>", "<urn:p>", integer(5))]),
        (4, [("<urn:a>", "<urn:on>", "<urn:yes>")]),
        (5, []),
        (6, []),
        (7, []),
    ):
        stage.move(now, triples)
        for query in queries:
            query.move(after=now - 4)
        seen.append([query.version for query in queries])
    changed = [[after > before for before, after in zip(one, two)] for one, two in zip(seen, seen[1:])]
    assert changed == [[False, False], [True, False], [False, True], [False, False], [False, True], [True, True]]


def test_the_limit() -> None:
    stage = Stage([])
    select = stage.ask("SELECT ?o { ?s <urn:p> ?o }", 9)
    construct = stage.ask("CONSTRUCT { ?s <urn:x> ?o . ?o <urn:y> ?s } WHERE { ?s <urn:p> ?o }", 9)
    stage.move(1, [("<urn:a>", "<urn:p>", f"<urn:{n}>") for n in range(3)])
    for query in (select, construct):
        query.move(after=0)
    assert len(select.answer(limit=3)) == 3 and len(construct.answer(limit=6)) == 6
    with pytest.raises(TooManyRows, match="more than 2 rows, which is the limit"):
        select.answer(limit=2)
    with pytest.raises(TooManyRows, match="more than 5 triples, which is the limit"):
        construct.answer(limit=5)


def test_what_fails_once_can_be_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage([])
    query = stage.ask("SELECT * { ?a <urn:p> ?b . ?c <urn:p> ?b }", 100)
    stage.move(1, [(f"<urn:{n}>", "<urn:p>", "<urn:o>") for n in range(20)])
    stage.check()
    version = query.version
    monkeypatch.setattr(matches, "MOST", 500)
    stage.move(2, [(f"<urn:new{n}>", "<urn:p>", "<urn:o>") for n in range(20)])
    with pytest.raises(TooManyMatches):
        query.move(after=-98)
    monkeypatch.undo()
    stage.check()
    assert query.version > version and len(query.answer(limit=LIMIT)) == 1600


@pytest.mark.parametrize(
    "body, reason",
    [
        ("SELECT * { ?s <urn:p>* ?o . ?s (<urn:p>|<urn:q>)+ ?o . ?s <urn:p>? ?o . ?s !<urn:p> ?o }", None),
        ("SELECT * { ?s <urn:p> ?o FILTER EXISTS { ?s <urn:p>* ?z } }", "a path that may have no length within EXISTS"),
        ("SELECT * { ?s <urn:p> ?o FILTER EXISTS { ?s <urn:p>+ ?z } }", None),
        ("SELECT * { GRAPH ?g { ?s ?p ?o } }", None),
        (
            "SELECT * { ?s ?p ?o FILTER(NOW() > ?o) }",
            "NOW, RAND, UUID, STRUUID and BNODE say something else at each instant",
        ),
        ("DESCRIBE ?s { ?s ?p ?o }", "DESCRIBE looks at all triples of what it describes"),
        ("SELECT (COUNT(DISTINCT *) AS ?n) { ?s ?p ?o }", "COUNT(DISTINCT *) compares whole solutions"),
        ("SELECT * { ?s ?p ?o FILTER(?o = 1 || EXISTS { ?o ?q ?z }) }", "EXISTS within a greater expression"),
        ("SELECT * { ?s ?p ?o BIND(EXISTS { ?o ?q ?z } AS ?e) }", "EXISTS within a greater expression"),
        ("SELECT * { ?s ?p ?o FILTER EXISTS { ?o ?q ?z MINUS { ?z ?q 1 } } }", "MINUS within EXISTS"),
        ("SELECT * { ?s ?p ?o FILTER EXISTS { ?o ?q ?z OPTIONAL { ?z ?q 1 } } }", "OPTIONAL within EXISTS"),
        ("SELECT * { ?s ?p ?o FILTER EXISTS { ?o ?q ?z BIND(?s AS ?t) } }", "BIND within EXISTS"),
        ("SELECT * { ?s ?p ?o FILTER EXISTS { ?o ?q ?z FILTER EXISTS { ?z ?q ?o } } }", "EXISTS within EXISTS"),
        ("SELECT * { ?s ?p ?o FILTER EXISTS { { SELECT ?o { ?o ?q ?z } } } }", "a sub-SELECT within EXISTS"),
        (
            "SELECT * { ?s ?p ?o FILTER EXISTS { { ?o ?q ?z FILTER(?s > 1) } } }",
            "a filter in a group within EXISTS looks at what that group may leave unbound",
        ),
        (
            "SELECT * { ?s ?p ?o OPTIONAL { ?o ?q ?z FILTER EXISTS { ?z ?q ?s } } }",
            "EXISTS in a filter of an OPTIONAL group looks at both sides",
        ),
        ("SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING(EXISTS { ?s ?q 1 } && COUNT(*) > 1)", None),
        ("SELECT * { ?s ?p/^<urn:q> ?o }", None),
        (
            "SELECT * { ?s ^<urn:p>/(<urn:q>|a) ?o FILTER(?o > 1 && NOT EXISTS { ?o <urn:p> ?z FILTER(?z = ?s) }) }",
            None,
        ),
    ],
)
def test_what_is_left_to_the_snapshot_evaluator_and_why(body: str, reason: str | None) -> None:
    body = body.replace("?s ?p/", "?s <urn:p>/")
    assert why_not(over_ids(body), body) == reason
    if reason is not None:
        with pytest.raises(NotMaintainable):
            stage = Stage([])
            Incremental(over_ids(body), body, stage.shared)


def test_tables_and_marks_go_with_the_queries_that_hold_them() -> None:
    stage = Stage([("SELECT * { ?s <urn:p> ?o . ?o <urn:q> ?z }", 5)])
    stage.move(1, [("<urn:a>", "<urn:p>", "<urn:b>")])
    stage.check()
    stage.queries.clear()
    gc.collect()
    assert len(stage.shared.tables._tables) == 0
    stage.move(2, [("<urn:a>", "<urn:p>", "<urn:c>")])
    assert stage.facts.moving.remembered == 0


@pytest.mark.parametrize(
    "body, rows",
    [
        ("SELECT ?m ?k { ?s <urn:p> ?m OPTIONAL { ?s <urn:q> ?k FILTER(?k > ?m) } }", [(2, 3), (5, None)]),
        ("SELECT ?m ?k { ?s <urn:p> ?m OPTIONAL { { ?s <urn:q> ?k FILTER(?k > ?m) } } }", [(2, None), (5, None)]),
        ("SELECT ?m ?k { ?s <urn:p> ?m OPTIONAL { ?s <urn:q> ?k } FILTER(?k > ?m) }", [(2, 3)]),
        ("SELECT ?m { ?s <urn:p> ?m FILTER NOT EXISTS { ?s <urn:q> ?k FILTER(?k > ?m) } }", [(5,)]),
        ("SELECT ?m { ?s <urn:p> ?m FILTER EXISTS { ?s <urn:q> ?k FILTER(?k > ?m) } }", [(2,)]),
        ("SELECT ?m { ?s <urn:p> ?m MINUS { ?s <urn:q> ?k FILTER(?k > ?m) } }", [(2,), (5,)]),
        ("SELECT (COUNT(*) AS ?n) { ?s <urn:p> ?m } VALUES ?m { 2 5 6 }", [(2,)] * 3),
    ],
)
def test_where_a_filter_holds_and_where_data_is_joined(body: str, rows: list[tuple[int | None, ...]]) -> None:
    stage = Stage([(body, 5)])
    stage.move(
        1, [("<urn:a>", "<urn:p>", integer(2)), ("<urn:a>", "<urn:p>", integer(5)), ("<urn:a>", "<urn:q>", integer(3))]
    )
    stage.check()
    table = stage.queries[0][-1].answer(limit=LIMIT).table
    assert list(zip(*(column.to_pylist() for column in table.columns))) == [
        tuple(None if cell is None else integer(cell) for cell in row) for row in rows
    ]
