"""Bodies with GRAPH blocks over moving graphs: maintained, they say what the snapshot evaluator and SPARQL's algebra say.

Each graph moves by itself: its window has a RANGE of its own, and a tag there is later than the query's by its offset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import translation
from csparql_spark.answers.bindings import Result
from csparql_spark.answers.incremental import Incremental, NamedGraph, Shared, why_not
from csparql_spark.answers.nodes import lines
from csparql_spark.answers.over_ids import over_ids
from csparql_spark.answers.snapshot import Dataset, Snapshot
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.language import parse
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.windows.content import Content
from tests.examples import examples

from .section18 import Graphs, Group, text
from .streams import LIMIT, Triple, Writer, integer, plan_of, said_here, taken
from .test_graph_blocks import LINKS, NAMES, NODES, SHOWN, Chance, meant

DEFAULT = ""
GRAPHS = tuple(name[1:-1] for name in NAMES)


class Scene:
    """Graphs that move, each with the RANGE of its window; 0: it stands still. The default graph's name is empty."""

    def __init__(self, ranges: Mapping[str, int]) -> None:
        self.content, self.ranges, self.now = Content(), dict(ranges), 0
        self.facts = {name: Expiration(self.content.dictionary) for name in ranges}
        self.shared = {name: Shared(facts.moving, self.content) for name, facts in self.facts.items()}
        self.queries: dict[str, Incremental] = {}

    def ask(self, body: str) -> Incremental:
        widest = self.ranges[DEFAULT]
        named = {
            name: NamedGraph(shared, widest - self.ranges[name] if self.ranges[name] else 0)
            for name, shared in self.shared.items()
            if name
        }
        self.queries[body] = Incremental(plan_of(body), body, self.shared[DEFAULT], named=named)
        return self.queries[body]

    def move(self, now: int, come: Mapping[str, list[Triple]]) -> None:
        self.now = now
        for name, facts in self.facts.items():
            ids = self.content.dictionary.encode([term for triple in come.get(name, ()) for term in triple])
            s, p, o = (np.ascontiguousarray(column) for column in ids.reshape(-1, 3).T)
            if not self.ranges[name]:
                facts.insert(s, p, o, np.full(len(s), ALWAYS))
                continue
            facts.expire(now - self.ranges[name])
            facts.insert(s, p, o, np.full(len(s), now))

    def dataset(self, instant: int) -> Dataset:
        seen = {
            name: facts.visible(instant - self.ranges[name] if self.ranges[name] else 0)[:3]
            for name, facts in self.facts.items()
        }
        return Dataset(seen.pop(DEFAULT), {name: tuple(columns) for name, columns in seen.items()})

    def snapshot(self, body: str, instant: int) -> Result:
        snapshot = Snapshot(plan_of(body), self.content)
        snapshot.move(self.dataset(instant))
        return said_here(snapshot)

    def graphs(self) -> Graphs:
        dataset = self.dataset(self.now)
        return {
            f"<{name}>" if name else name: set(
                zip(*(self.content.dictionary.decode(np.asarray(column)) for column in columns), strict=True)
            )
            for name, columns in {DEFAULT: dataset.default, **dataset.named}.items()
        }

    def check(self, body: str) -> Result:
        """What a query says now, and until when its rows hold."""
        query, widest = self.queries[body], self.ranges[DEFAULT]
        query.move(after=self.now - widest)
        answer, wanted = query.answer(limit=LIMIT), self.snapshot(body, self.now)
        assert answer.to_bytes() == wanted.to_bytes(), (body, rows_of(answer), rows_of(wanted))
        until = query.until()
        if until is not None and answer.table is not None:
            for cut in np.unique(until[until < ALWAYS])[:3].tolist():
                left = Result.from_table(answer.table.take(until > cut))
                assert rows_of(left) == rows_of(self.snapshot(body, cut + widest)), (body, cut)
        return answer


def rows_of(answer: Result) -> Counter | str:
    if answer.table is None:
        return str(answer.ntriples or answer.truth)
    return Counter(tuple(sorted((f"?{name}", term) for name, term in row.items())) for row in answer.table.rows())


def scene_of(chance: Random) -> Scene:
    return Scene({DEFAULT: chance.randint(1, 5), **{name[1:-1]: chance.choice([0, 1, 2, 3, 5, 8]) for name in NAMES}})


def come(chance: Random, scene: Scene, terms: list[str]) -> dict[str, list[Triple]]:
    return {
        name: [(chance.choice(NODES), chance.choice(LINKS), chance.choice(terms)) for _ in range(chance.randint(0, 3))]
        for name in scene.ranges
        if name != NAMES[-1][1:-1]
    }


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=examples(150), deadline=None)
def test_what_is_maintained_is_what_the_algebra_defines(seed: int) -> None:
    chance = Chance(seed)
    scene, groups = scene_of(chance), []
    for _ in range(2):
        beside = chance.choice([(), (), (chance.triple(),)])
        group: Group = (*beside, ("graph", chance.graph(), chance.group(2)))
        body = parse(f"SELECT {SHOWN} {text(group)}").body
        if taken(body, GRAPHS):
            scene.ask(body)
            groups.append((body, group))
    now = 0
    for _ in range(4):
        now += chance.randint(1, 3)
        scene.move(now, come(chance, scene, NODES))
        for body, group in groups:
            assert rows_of(scene.check(body)) == shown(meant(group, scene.graphs())), (text(group), now)


def shown(rows: Counter) -> Counter:
    """The variables that are asked for, of rows of all."""
    found: Counter = Counter()
    for row, times in rows.items():
        found[tuple(cell for cell in row if cell[0] in SHOWN.split())] += times
    return found


class GraphWriter(Writer):
    """A random body, with GRAPH blocks in it."""

    def part(self, depth: int) -> str:
        if depth and self.one(0, 0, 1):
            name = self.one("?g", "?g", "?x", "?h", "<urn:g>", "<urn:h>", "<urn:no>")
            inner = self.group(depth - 1) if self.one(0, 0, 1) else f"{{ {self.select(depth - 1)} }}"
            return f"GRAPH {name} {inner}"
        return super().part(depth)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=examples(150), deadline=None)
def test_it_says_what_the_snapshot_evaluator_says(seed: int) -> None:
    chance = Random(seed)
    scene, writer = scene_of(chance), GraphWriter(chance)
    for _ in range(3):
        body = writer.body()
        if taken(body, GRAPHS):
            scene.ask(body)
    now = 0
    for _ in range(4):
        now += chance.randint(1, 3)
        scene.move(now, come(chance, scene, [*NODES, integer(1), integer(2), '"a"', integer("01")]))
        for body in scene.queries:
            scene.check(body)


ONE, TWO = integer(1), integer(2)


@pytest.mark.parametrize(
    "head, where, rows",
    [
        ("?g ?n", "GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s <urn:p> ?o } }", [("<urn:g>", ONE), ("<urn:h>", TWO)]),
        ("?g ?a", "GRAPH ?g { ?a <urn:p> <urn:o> MINUS { ?b <urn:p> <urn:o> } }", "all"),
        ("?g ?a", "GRAPH ?g { ?a <urn:p> <urn:o> MINUS { ?a <urn:p> <urn:o> } }", []),
        ("?g ?a", "GRAPH ?g { ?a <urn:p> ?o FILTER(BOUND(?g)) }", []),
        ("?g ?a", "GRAPH ?g { ?a <urn:p> ?o OPTIONAL { ?g <urn:q> ?x } }", "all"),
        ("?g ?a", "VALUES ?g { <urn:g> } GRAPH ?g { ?a <urn:p> ?o }", [("<urn:g>", "<urn:a>")]),
        ("?a", "GRAPH <urn:no> { ?a <urn:p> ?o }", []),
        ("?g", "GRAPH ?g { }", [("<urn:g>",), ("<urn:h>",)]),
    ],
)
def test_each_graph_answers_by_itself(head: str, where: str, rows: list[tuple[str, ...]] | str) -> None:
    scene = Scene({DEFAULT: 4, "urn:g": 4, "urn:h": 9})
    body = f"SELECT {head} {{ {where} }}"
    scene.ask(body)
    p, o = "<urn:p>", "<urn:o>"
    scene.move(1, {"urn:g": [("<urn:a>", p, o)], "urn:h": [("<urn:a>", p, o), ("<urn:b>", p, o)]})
    every = [("<urn:g>", "<urn:a>"), ("<urn:h>", "<urn:a>"), ("<urn:h>", "<urn:b>")]
    wanted = every if rows == "all" else rows
    table = scene.check(body).table
    assert [tuple(row.values()) for row in table.rows()] == wanted


def test_a_row_holds_as_long_as_the_window_of_each_of_its_triples() -> None:
    scene = Scene({DEFAULT: 4, "urn:g": 2, "urn:h": 9, "urn:still": 0})
    queries = {
        body: scene.ask(f"SELECT * {{ {body} }}")
        for body in (
            "GRAPH <urn:g> { ?s <urn:p> ?o }",
            "GRAPH ?w { ?s <urn:p> ?o }",
            "?s <urn:p> ?o GRAPH <urn:h> { ?s <urn:p> ?o }",
            "GRAPH <urn:still> { ?s <urn:p> ?o } GRAPH <urn:h> { ?s <urn:p> ?o }",
            "GRAPH <urn:still> { ?s <urn:p> ?o }",
            "GRAPH ?w { ?s <urn:p> ?o OPTIONAL { ?s <urn:q> ?x } }",
        )
    }
    triple = ("<urn:a>", "<urn:p>", "<urn:b>")
    scene.move(5, {name: [triple] for name in scene.ranges})
    until = []
    for body, query in queries.items():
        scene.check(f"SELECT * {{ {body} }}")
        tags = query.until()
        until.append(None if tags is None else [None if tag == ALWAYS else tag + 4 for tag in tags.tolist()])
    assert until == [[7], [7, 14, None], [9], [14], [None], None]


def test_the_plan_shows_its_graphs() -> None:
    scene = Scene({DEFAULT: 4, "urn:g": 2, "urn:h": 9})
    query = scene.ask("SELECT ?w ?n { GRAPH ?w { ?s <urn:p> ?n } FILTER(?n > 1) }")
    assert list(lines(query.nodes())) == [
        "project ?w ?n",
        "  union",
        "    graph <urn:g> as ?w",
        "      scan ?s <urn:p> ?n where ?n > 1",
        "    graph <urn:h> as ?w",
        "      scan ?s <urn:p> ?n where ?n > 1",
    ]


def test_only_graphs_that_data_names_are_asked() -> None:
    scene = Scene({DEFAULT: 4, "urn:g": 2, "urn:h": 9})
    query = scene.ask("SELECT * { VALUES ?w { <urn:h> <urn:no> } GRAPH ?w { ?s <urn:p> ?n } }")
    assert list(lines(query.nodes())) == [
        "project ?w ?s ?n",
        "  join",
        "    data 2 rows of ?w",
        "    graph <urn:h> as ?w",
        "      scan ?s <urn:p> ?n",
    ]


def test_a_block_that_becomes_too_many_parts_is_not_maintained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation, "MOST_PARTS", 9)
    graphs = [f"urn:g{number}" for number in range(5)]
    assert why_not(over_ids(body := "SELECT * { GRAPH ?g { ?s ?p ?o } }"), body, graphs) is None
    body = "SELECT * { GRAPH ?g { GRAPH ?h { ?s ?p ?o } } }"
    assert why_not(over_ids(body), body, graphs) == ("GRAPH ?g asks each of 5 graphs by itself, in more than 9 parts")
