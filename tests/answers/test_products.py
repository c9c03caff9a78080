from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import snapshot as snapshots
from csparql_spark.answers.limits import TooMuch
from csparql_spark.answers.over_ids import over_ids
from csparql_spark.answers.products import _together, _variables, largest_product, most_solutions
from csparql_spark.answers.snapshot import Dataset, Snapshot
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.windows.content import Content
from tests.examples import examples

TRIPLES = [(f"<urn:{i}>", "<urn:p>" if i % 2 else "<urn:q>", f"<urn:o{i}>") for i in range(10)]


def held() -> tuple[Content, tuple]:
    content = Content()
    content.add(0, 1, Chunk.from_triples(TRIPLES, [1] * len(TRIPLES)))
    return content, content.window(0, 0, 1)[:3]


@pytest.mark.parametrize(
    "where, product",
    [
        ("?a ?b ?c . ?d ?e ?f", 100),
        ("?a <urn:p> ?c . ?d <urn:q> ?f . ?g ?h ?i", 250),
        ("?a ?b ?c . ?c ?e ?f", 0),
        ("?a ?b ?c . ?d ?e ?f . ?a ?x ?d", 0),  # the third connects them
        ("?a <urn:p> ?c . ?c ?x ?y . ?d <urn:q> ?f", 0),  # of two patterns it is not known what they give
        ("?a ?b ?c FILTER(?c != <urn:x>) ?d ?e ?f", 100),
        ("{ ?a ?b ?c } UNION { ?d ?e ?f }", 0),
        # Another group has a say in it.
        ("?a <urn:p> ?c . ?d <urn:q> ?f { ?a ?x ?d }", 0),
        ("?a <urn:p> ?c . ?d <urn:q> ?f { ?a ?x ?y } { ?y ?z ?d }", 0),
        ("?a <urn:p> ?c . ?d <urn:q> ?f { ?a ?x ?y }", 0),
        ("?a <urn:none> ?c . ?d ?e ?f", 0),
    ],
)
def test_what_is_multiplied(where: str, product: int) -> None:
    content, columns = held()
    assert largest_product(over_ids(f"SELECT * {{ {where} }}").reads, content.dictionary, *columns) == product


def test_a_bomb_is_seen_before_it_goes_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MOST_MULTIPLIED", 99)
    content, columns = held()
    bomb = Snapshot(over_ids("SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f }"), content)
    with pytest.raises(TooMuch, match="nothing in common, and together 100 solutions: 99 are gone through at most"):
        bomb.move(Dataset(columns))
    monkeypatch.setattr(snapshots, "MOST_MULTIPLIED", 100)
    bomb.move(Dataset(columns))
    assert bomb.answer(limit=1).table.rows() == [{"n": '"100"^^<http://www.w3.org/2001/XMLSchema#integer>'}]


@pytest.mark.parametrize(
    "where, most",
    [
        ("?a ?b ?c . ?d ?e ?f", 100),
        ("{ ?a ?b ?c } { ?d ?e ?f }", 100),
        ("?a ?b ?c OPTIONAL { ?a ?e ?f }", 100),
        ("{ SELECT ?a { ?a ?b ?c } } { SELECT ?a { ?a ?b ?c } }", 100),
        ("?a ?b ?c FILTER EXISTS { ?a ?b ?c }", 100),
        ("?a ?b ?c . ?c ?e ?f", 10),
        ("?a <urn:p> ?c . ?a <urn:q> ?f", 5),
        ("?a ?b ?c . ?d ?b ?f", 50),
        ("?a ?b ?c . ?c ?e ?f . ?x ?y ?z", 100),
        ("?a ?b ?c . ?c ?e ?f . ?f <urn:none> ?g", 10),
        ("<urn:1> ?b ?c", 1),
        ("?a <urn:p>/<urn:q> ?c", 100),
        ("?a <urn:p>+ ?c", 100),
        ("?a !<urn:p> ?c", 10),
        ("?a !(<urn:p>|^<urn:q>) ?c", 20),
        ("VALUES ?a { 1 2 3 } ?a ?b ?c", 30),
    ],
)
def test_what_is_at_most(where: str, most: int) -> None:
    """Ten triples, each of another subject and with another object; five of each predicate."""
    content, columns = held()
    plan = over_ids(f"SELECT * {{ {where} }}")
    assert plan.rows * most_solutions(plan.blocks, content.dictionary, *columns, enough=0) == most


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 10**9))
def test_no_join_has_more_than_it_may_have(seed: int) -> None:
    """Whichever patterns of a block hang together: they have no more solutions than were foreseen for all of it."""
    random = Random(seed)
    content = Content()
    content.add(
        0, 1, Chunk.from_triples([tuple(f"<urn:{random.randint(0, 3)}>" for _ in range(3)) for _ in range(9)], [1] * 9)
    )
    columns = content.window(0, 0, 1)[:3]
    patterns = [
        " ".join(random.choice(("?a", "?b", "?c", "?d", "<urn:0>", "<urn:1>")) for _ in range(3))
        for _ in range(random.randint(2, 4))
    ]
    plan = over_ids(f"SELECT * {{ {' . '.join(patterns)} }}")
    most = most_solutions(plan.blocks, content.dictionary, *columns, enough=0)
    for some in range(1, 1 << len(patterns)):
        chosen = [pattern for place, pattern in enumerate(patterns) if some >> place & 1]
        part = over_ids(f"SELECT * {{ {' . '.join(chosen)} }}")
        if len(_together([_variables(one) for one in part.blocks[0]])) == 1:
            snapshot = Snapshot(part, content)
            snapshot.move(Dataset(columns))
            assert len(snapshot.answer(limit=10**6)) <= most, (patterns, chosen)
