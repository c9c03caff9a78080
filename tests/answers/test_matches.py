from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import matches as module
from csparql_spark.answers.computing import Columns
from csparql_spark.answers.graph_scan import GraphScan
from csparql_spark.answers.matches import MatchTables, TooManyMatches, parted, renamed
from csparql_spark.answers.patterns import Pattern, is_variable
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.moving import Moving
from csparql_spark.windows.content import Content
from tests.examples import examples

TERMS = ("<urn:a>", "<urn:b>", "<urn:p>", "<urn:q>", '"1"')
Tagged = dict[tuple[str, str, str], int]


def found_by_trying(
    patterns: tuple[Pattern, ...], graph: Iterable[Pattern], bound: dict[str, str]
) -> Iterator[dict[str, str]]:
    """What the variables are in each way to match the patterns: every triple is tried for each of them."""
    if not patterns:
        yield bound
        return
    for triple in graph:
        more = dict(bound)
        if all(
            more.setdefault(node, term) == term if is_variable(node) else node == term
            for node, term in zip(patterns[0], triple)
        ):
            yield from found_by_trying(patterns[1:], graph, more)


class Followed:
    """A graph, the tagged triples that it should hold, and its tables."""

    def __init__(self) -> None:
        self.content = Content()
        self.moving = Moving()
        self.tables = MatchTables(self.moving, self.content.dictionary)
        self.triples: Tagged = {}
        self.now = 0

    def move(self, now: int, came: Tagged) -> None:
        self.now = now
        self.moving.graph.expire(now)
        for triple, tag in came.items():
            self.triples[triple] = max(tag, self.triples.get(triple, tag))
        self.triples = {triple: tag for triple, tag in self.triples.items() if tag > now}
        ids = self.content.dictionary.encode([term for triple in came for term in triple]).reshape(-1, 3).T.copy()
        self.moving.tell(self.moving.graph.add([(*ids, np.array(list(came.values()), dtype=np.int64))]))

    def take_back(self, triples: Iterable[Pattern], shorter: int = 0) -> None:
        """Some triples are no more, or hold `shorter` than they did."""
        for triple in triples:
            tag = self.triples.pop(triple)
            s, p, o = self.content.dictionary.encode(triple).reshape(3, 1)
            gone, graph = Facts(s, p, o, np.array([tag])), self.moving.graph
            graph.remove(s, p, o)
            if shorter and tag - shorter > self.now:
                self.triples[triple] = tag - shorter
                self.moving.tell(graph.add([gone._replace(tag=gone.tag - shorter)]), removed=gone)
            else:
                self.moving.tell(removed=gone)

    def take_some_back(self, random: Random) -> None:
        for shorter in (0, 1):
            if random.random() < 0.5:
                self.take_back(random.sample(sorted(self.triples), min(len(self.triples), 2)), shorter)

    def rows(self, table: module.Matches | GraphScan, after: int) -> list[tuple[object, ...]]:
        columns, tags = table.visible(after, table.variables)
        terms = [self.content.dictionary.decode(columns[name]) for name in table.variables]
        return sorted(zip(*terms, tags.tolist(), strict=True))

    def naive(self, patterns: tuple[Pattern, ...], variables: tuple[str, ...], after: int) -> list[tuple[object, ...]]:
        """Each match, once, with the latest of the earliest tags of the triples that make it."""
        graph = {triple: tag for triple, tag in self.triples.items() if tag > after}
        best: dict[tuple[str, ...], int] = {}
        for bound in found_by_trying(patterns, set(graph), {}):
            used = [tuple(bound.get(node, node) for node in pattern) for pattern in patterns]
            row = tuple(bound[name] for name in variables)
            best[row] = max(min(graph[triple] for triple in used), best.get(row, 0))
        return sorted((*row, tag) for row, tag in best.items())


nodes = st.sampled_from(["?x", "?y", "?z", "_:b", *TERMS])
patterns = st.lists(
    st.tuples(nodes, st.sampled_from(["<urn:p>", "<urn:q>", "?x", "?v"]), nodes), min_size=1, max_size=3
).map(tuple)


# What is taken back is joined with the rest, or looked for among the matches, or the one where the other is too much.
few_and_at_once = st.sampled_from([(0, 10**6), (0, 10), (1000, 10**6)])


@settings(max_examples=examples(250), deadline=None)
@given(st.lists(patterns, min_size=1, max_size=2), few_and_at_once, st.integers(0, 10**9))
def test_tables_hold_what_trying_finds(
    asked: list[tuple[Pattern, ...]], few_and_at_once: tuple[int, int], seed: int
) -> None:
    random, graph = Random(seed), Followed()
    parts = [part for body in asked for part in parted(body)]
    tables = [graph.tables.table(part) for part in parts]
    seen: dict[int, tuple[int, list[tuple[object, ...]]]] = {}
    for now in range(1, 9):
        if random.random() < 0.5:
            graph.take_some_back(random)
        graph.move(
            now,
            {
                tuple(random.choice(TERMS) for _ in range(3)): now + random.randint(1, 5)
                for _ in range(random.randint(0, 5))
            },
        )
        if random.random() < 0.5:
            graph.take_some_back(random)
        for number, (part, table) in enumerate(zip(parts, tables)):
            if random.random() < 0.7:  # not everybody looks each time
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(module, "FEW", few_and_at_once[0])
                    patch.setattr(module, "AT_ONCE", few_and_at_once[1])
                    try:
                        table.move()
                    except TooManyMatches:
                        assert few_and_at_once[1] == 10
                        seen.pop(number, None)
                        continue
                for after in (now, now + 1, now + 3):
                    assert graph.rows(table, after) == graph.naive(part, table.variables, after)
                    assert table.count(after) == len(graph.rows(table, after))
                # The version says when there is something else to be seen than before, but for what has expired.
                version, before = seen.get(number, (-1, []))
                rows = graph.rows(table, now)
                assert version != table.version or rows == [row for row in before if row[-1] > now]
                seen[number] = table.version, rows


@dataclass(frozen=True)
class Differing:
    """Keeps the matches in which two variables are not the same."""

    names: tuple[str, str]
    early: bool
    threshold = None

    def mask(self, columns: Columns, length: int) -> np.ndarray:
        nothing = np.full(length, -1)
        return columns.get(self.names[0], nothing) != columns.get(self.names[1], nothing)

    def differ(self, row: dict[str, object]) -> bool:
        return row.get(self.names[0]) != row.get(self.names[1])


variables = st.sampled_from(["?x", "?y", "?z", "?v", "?never"])
keeps = st.lists(
    st.builds(Differing, st.tuples(variables, variables).filter(lambda names: names[0] != names[1]), st.booleans()),
    min_size=1,
    max_size=3,
).map(tuple)


@settings(max_examples=examples(150), deadline=None)
@given(patterns.filter(lambda asked: len(parted(asked)) == 1), keeps, st.integers(0, 10**9), st.booleans())
def test_only_what_is_to_be_kept_is_there_whenever_it_was_sifted(
    asked: tuple[Pattern, ...], keep: tuple[Differing, ...], seed: int, few: bool
) -> None:
    random, graph = Random(seed), Followed()
    table = graph.tables.table(asked, keep)
    with pytest.MonkeyPatch.context() as patch:
        if few:
            patch.setattr(module, "AT_ONCE", 8)  # in parts
        patch.setattr(module, "FEW", 0)
        for now in range(1, 7):
            graph.take_some_back(random)
            graph.move(
                now,
                {
                    tuple(random.choice(TERMS) for _ in range(3)): now + random.randint(1, 5)
                    for _ in range(random.randint(0, 7))
                },
            )
            try:
                table.move()
            except TooManyMatches:
                assert few
                continue
            wanted = graph.naive(asked, table.variables, now)
            assert graph.rows(table, now) == [
                row for row in wanted if all(one.differ(dict(zip(table.variables, row))) for one in keep)
            ]


def test_what_shares_no_variable_is_kept_apart() -> None:
    one, two, three = ("?a", "<urn:p>", "?b"), ("?c", "<urn:p>", "_:d"), ("?c", "?b", "<urn:x>")
    assert parted([one, two]) == [(one,), (two,)]
    assert parted([one, two, one]) == [(one,), (two,)]
    assert parted([one, two, three]) == [(one, two, three)]
    assert parted([("<urn:a>", "<urn:p>", '"1"')]) == [(("<urn:a>", "<urn:p>", '"1"'),)]
    assert parted([]) == []


def test_one_table_for_all_who_ask_the_same() -> None:
    graph = Followed()
    asked = ("?s", "<urn:p>", "?o"), ("?o", "<urn:p>", "_:b")
    same, names = renamed((("?a", "<urn:p>", "?b"), ("?b", "<urn:p>", "?c")))
    assert renamed(asked)[0] == same and names == {"?a": "?0", "?b": "?1", "?c": "?2"}
    assert graph.tables.table(same) is not graph.tables.table(asked)  # nobody holds them, nobody has them
    table = graph.tables.table(same)
    assert graph.tables.table(renamed(asked)[0]) is table


def test_the_version_grows_when_there_is_more_to_see() -> None:
    graph = Followed()
    joined = graph.tables.table((("?s", "<urn:p>", "?o"), ("?o", "<urn:q>", "?z")))
    single = graph.tables.table((("?s", "<urn:p>", "?o"),))
    seen = []
    for came in (
        {("<urn:a>", "<urn:p>", "<urn:b>"): 9},
        {("<urn:b>", "<urn:r>", "<urn:c>"): 9},
        {},
        {("<urn:b>", "<urn:q>", "<urn:c>"): 9},
        {("<urn:b>", "<urn:q>", "<urn:c>"): 5},
    ):
        graph.move(1, came)
        for table in (joined, single):
            table.move()
        seen.append((joined.version, single.version))
    assert [after - before for (before, _), (after, _) in zip(seen, seen[1:])] == [0, 0, 1, 0]
    assert [after - before for (_, before), (_, after) in zip(seen, seen[1:])] == [0, 0, 0, 0]


def test_only_what_passes_is_kept() -> None:
    class Odd:
        names = ("?o",)
        threshold = None

        def mask(self, columns: dict[str, np.ndarray], length: int) -> np.ndarray:
            asked.append(length)
            return columns["?o"] % 2 == 1

    asked: list[int] = []
    graph = Followed()
    graph.content.dictionary.encode(TERMS)
    table = graph.tables.table((("?s", "<urn:p>", "?o"),), (Odd(),))
    graph.move(1, {("<urn:a>", "<urn:p>", term): 9 for term in TERMS})
    table.move()
    graph.move(2, {("<urn:a>", "<urn:p>", "<urn:a>"): 12})
    table.move()
    assert graph.rows(table, 2) == [("<urn:a>", "<urn:b>", 9), ("<urn:a>", "<urn:q>", 9)]
    assert asked == [5, 1]  # each new match is looked at once


def test_tables_go_on_when_ids_change_their_meaning() -> None:
    graph = Followed()
    graph.content.dictionary.holders += [graph.tables]
    body = (("?s", "<urn:p>", "?o"), ("?o", "<urn:q>", "<urn:c>"))
    tables = [graph.tables.table(body), graph.tables.table((("?s", "<urn:p>", "?o"),))]
    graph.move(
        1,
        {
            ("<urn:a>", "<urn:p>", "<urn:b>"): 9,
            ("<urn:b>", "<urn:q>", "<urn:c>"): 9,
            ("<urn:x>", "<urn:p>", "<urn:y>"): 9,
        },
    )
    for table in tables:
        table.move()
    old = [(f"<urn:old{n}>", "<urn:p>", f'"{n}"') for n in range(5000)]
    graph.content.add(0, 1, Chunk.from_triples(old, [1] * 5000))

    class Holder:
        terms = graph.moving.graph.terms

        @staticmethod
        def renumber(table: np.ndarray) -> None:
            graph.moving.graph.renumber(table)
            graph.moving.renumber(table)

    graph.content.dictionary.holders.insert(0, Holder())
    graph.content.forget({0: 10})
    assert graph.content.dictionary.generation == 1
    for table, part in zip(tables, (body, (("?s", "<urn:p>", "?o"),))):
        assert graph.rows(table, 0) == graph.naive(part, table.variables, 0)
    graph.move(2, {("<urn:n>", "<urn:p>", "<urn:b>"): 12})
    for table, part in zip(tables, (body, (("?s", "<urn:p>", "?o"),))):
        table.move()
        assert graph.rows(table, 2) == graph.naive(part, table.variables, 2)
        assert len(graph.rows(table, 2)) > 1


def test_keys_are_packed_again_when_terms_become_many() -> None:
    graph = Followed()
    table = graph.tables.table((("?s", "<urn:p>", "?o"), ("?o", "<urn:p>", "?z"), ("?z", "<urn:p>", "?w")))
    for now in range(1, 6):
        graph.move(now, {(f"<urn:{now}-{n}>", "<urn:p>", f"<urn:{now}-{n + 1}>"): 100 for n in range(4**now)})
        table.move()
    assert table.count(0) == sum(4**now - 2 for now in range(1, 6))
    assert len(set(graph.rows(table, 0))) == table.count(0)


def test_what_would_be_too_much_is_refused_and_can_be_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Followed()
    body = (("?s", "<urn:p>", "?o"), ("?z", "<urn:p>", "?o"))
    table = graph.tables.table(body)
    graph.move(1, {(f"<urn:{n}>", "<urn:p>", "<urn:o>"): 2 + n % 2 for n in range(60)})
    monkeypatch.setattr(module, "MOST", 3000)
    with pytest.raises(TooManyMatches, match=r"\?s <urn:p> \?o \. \?z <urn:p> \?o has more than 3,000 matches"):
        table.move()
    monkeypatch.setattr(module, "MOST", 10_000)
    monkeypatch.setattr(module, "AT_ONCE", 100)  # in parts
    table.move()
    assert table.count(1) == 3600
    monkeypatch.setattr(module, "AT_ONCE", 10)
    graph.move(1, {("<urn:new>", "<urn:p>", "<urn:o>"): 3})
    with pytest.raises(TooManyMatches):
        table.move()
    monkeypatch.undo()
    graph.move(2, {})
    table.move()
    assert graph.rows(table, 2) == graph.naive(body, table.variables, 2)
    assert table.count(2) == 31**2
