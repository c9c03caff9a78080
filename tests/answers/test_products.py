from __future__ import annotations

import pytest

from csparql_spark.answers import snapshot as snapshots
from csparql_spark.answers.over_ids import over_ids
from csparql_spark.answers.products import largest_product
from csparql_spark.answers.snapshot import Dataset, Snapshot, TooManyRows
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.windows.content import Content

TRIPLES = [(f"<urn:{i}>", "<urn:p>" if i % 2 else "<urn:q>", f"<urn:o{i}>") for i in range(10)]


def held() -> tuple[Content, tuple]:
    content = Content()
    content.add(0, 1, Chunk.from_triples(TRIPLES, [1] * len(TRIPLES)))
    return content, content.window(0, 0, 1)[:3]


@pytest.mark.parametrize("where, product", [
    ("?a ?b ?c . ?d ?e ?f", 100), ("?a <urn:p> ?c . ?d <urn:q> ?f . ?g ?h ?i", 250), ("?a ?b ?c . ?c ?e ?f", 0),
    ("?a ?b ?c . ?d ?e ?f . ?a ?x ?d", 0),              # the third connects them
    ("?a <urn:p> ?c . ?c ?x ?y . ?d <urn:q> ?f", 0),    # of two patterns it is not known what they give
    ("?a ?b ?c FILTER(?c != <urn:x>) ?d ?e ?f", 100), ("{ ?a ?b ?c } UNION { ?d ?e ?f }", 0),
    # Another group has a say in it.
    ("?a <urn:p> ?c . ?d <urn:q> ?f { ?a ?x ?d }", 0), ("?a <urn:p> ?c . ?d <urn:q> ?f { ?a ?x ?y } { ?y ?z ?d }", 0),
    ("?a <urn:p> ?c . ?d <urn:q> ?f { ?a ?x ?y }", 0),
    ("?a <urn:none> ?c . ?d ?e ?f", 0)])
def test_what_is_multiplied(where: str, product: int) -> None:
    content, columns = held()
    assert largest_product(over_ids(f"SELECT * {{ {where} }}").reads, content.dictionary, *columns) == product


def test_a_bomb_is_seen_before_it_goes_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MOST_MULTIPLIED", 99)
    content, columns = held()
    bomb = Snapshot(over_ids("SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f }"), content)
    with pytest.raises(TooManyRows, match="nothing in common, and together 100 solutions: 99 are gone through at most"):
        bomb.move(Dataset(columns))
    monkeypatch.setattr(snapshots, "MOST_MULTIPLIED", 100)
    bomb.move(Dataset(columns))
    assert bomb.answer(limit=1).table.rows() == [{"n": '"100"^^<http://www.w3.org/2001/XMLSchema#integer>'}]
