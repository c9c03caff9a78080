from __future__ import annotations

import itertools
import random

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Result
from csparql_spark.answers.limits import TooManyRows
from csparql_spark.answers.over_ids import Plan, over_ids
from csparql_spark.answers.snapshot import Dataset, Snapshot
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.windows.content import Content
from tests.engine.asked import Asked, Triple
from tests.engine.naive import solutions  # the brute force that the whole pipeline is held against
from tests.examples import examples

P = (("?s", "<urn:p>", "?o"),)


def selecting(variables: tuple[str, ...], patterns: tuple[Triple, ...], distinct: bool = False) -> Plan:
    """The plan of a SELECT over a basic graph pattern; without variables, of SELECT *."""
    names = " ".join(f"?{name}" for name in variables) or "*"
    body = " . ".join(" ".join(pattern) for pattern in patterns)
    return over_ids(f"SELECT {'DISTINCT ' * distinct}{names} WHERE {{ {body} }}")


class Held:
    """A graph that changes, and a snapshot of it for each plan that was asked, which moves along."""

    def __init__(self) -> None:
        self.content = Content()
        self.snapshots: dict[Plan, Snapshot] = {}
        self._seq = 0

    def move(self, triples: list[Triple]) -> None:
        """Move to exactly these triples: they come at an instant, and those of before go."""
        self._seq += 1
        self.content.add(0, self._seq, Chunk.from_triples(triples, [self._seq] * len(triples)))
        for snapshot in self.snapshots.values():
            snapshot.move(self.dataset())

    def dataset(self) -> Dataset:
        return Dataset(self.content.window(0, self._seq - 1, self._seq)[:3])

    def forget(self) -> None:
        self.content.forget({0: self._seq - 1})

    def snapshot(self, plan: Plan) -> Snapshot:
        if plan not in self.snapshots:
            self.snapshots[plan] = Snapshot(plan, self.content)
            self.snapshots[plan].move(self.dataset())
        return self.snapshots[plan]

    def select(
        self, variables: tuple[str, ...], patterns: tuple[Triple, ...], distinct: bool = False, limit: int = 1000
    ) -> Result:
        return self.snapshot(selecting(variables, patterns, distinct)).answer(limit=limit)


def holding(*triples: Triple) -> Held:
    held = Held()
    held.move(list(triples))
    return held


def rows(answer: Result) -> list[tuple[str, ...]]:
    return [tuple(row.values()) for row in answer.table.rows()]


def star(*objects: str) -> list[Triple]:
    return [("<urn:s>", "<urn:p>", o) for o in objects]


def test_terms_come_back_as_they_were_sent() -> None:
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    terms = [
        "<urn:a>",
        "<http://é/ü?x=1>",
        "_:b0",
        '"x y"',
        '"01"',
        f'"01"{integer}',
        f'"1"{integer}',
        f'"+1"{integer}',
        '"é"@en-gb',
        '"<i:1> \\" \\n\\t\\\\ ."',
        '""',
        '"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>',
    ]
    held = holding(*star(*terms))
    assert rows(held.select(("o",), P)) == [(term,) for term in sorted(terms)]
    for term in terms:
        if not term.startswith("_:"):
            assert rows(held.select(("s",), (("?s", "?p", term),))) == [("<urn:s>",)]
    assert rows(held.select(("s",), (("?s", "?p", '"1"'),))) == []


def test_rows_are_in_the_order_of_their_terms_however_the_triples_came() -> None:
    triples = [(f"<urn:{s}>", "<urn:p>", f'"{o}"') for s in ("b", "a", "é", "z") for o in ("2", "10", "1")]
    expected = [(s, o) for s in ("<urn:a>", "<urn:b>", "<urn:z>", "<urn:é>") for o in ('"1"', '"10"', '"2"')]
    answers = []
    for seed in range(4):
        random.Random(seed).shuffle(triples)
        answers.append(holding(*triples).select(("s", "o"), P))
        assert rows(answers[-1]) == expected
    assert len({answer.to_bytes() for answer in answers}) == 1
    assert rows(holding(*triples).select(("o", "s"), P)) == sorted((o, s) for s, o in expected)


def test_rows_repeat_unless_they_are_distinct() -> None:
    held = holding(*star('"1"', '"2"', '"3"'))
    assert rows(held.select(("s",), P)) == [("<urn:s>",)] * 3
    assert rows(held.select(("s",), P, distinct=True)) == [("<urn:s>",)]
    assert rows(held.select(("s",), (*P, ("?s", "<urn:p>", "_:x")))) == [("<urn:s>",)] * 9


def test_a_variable_that_is_not_in_the_pattern_is_unbound() -> None:
    answer = holding(*star('"1"', '"2"')).select(("x", "o", "y"), P)
    assert answer == Result.bindings(("x", "o", "y"), [[None, None], ['"1"', '"2"'], [None, None]])


def test_when_nothing_is_shown_rows_are_counted() -> None:
    held = holding(*star('"1"', '"2"'))
    assert held.select((), (("<urn:s>", "<urn:p>", '"1"'),)) == Result.bindings((), (), 1)
    assert held.select((), (("<urn:s>", "<urn:p>", "_:x"),)) == Result.bindings((), (), 2)
    assert held.select((), (("<urn:s>", "<urn:p>", "_:x"),), distinct=True) == Result.bindings((), (), 1)
    assert held.select(("x",), P) == Result.bindings(("x",), [[None, None]])
    assert held.select(("x",), P, distinct=True) == Result.bindings(("x",), [[None]])
    assert held.select((), (("<urn:s>", "<urn:p>", '"3"'),)) == Result.bindings((), (), 0)


def test_the_empty_pattern_has_one_solution() -> None:
    for held in (Held(), holding(*star('"1"'))):
        for distinct in (False, True):
            assert held.select((), (), distinct) == Result.bindings((), (), 1)
            assert held.select(("x",), (), distinct) == Result.bindings(("x",), [[None]])


def test_what_is_in_no_triple_matches_nothing() -> None:
    held = holding(*star('"1"'))
    assert rows(held.select(("p",), (("<urn:never>", "?p", "?o"),))) == []
    assert rows(held.select(("p",), (('"1"', "?p", "?o"),))) == []  # no literal is a subject
    assert rows(Held().select(("s", "o"), P)) == []


def test_the_limit() -> None:
    held = holding(*star('"1"', '"2"', '"3"'))
    for variables, distinct in itertools.product([("s", "o"), ("s",), ("never",)], [False]):
        assert len(held.select(variables, P, distinct, limit=3)) == 3
        with pytest.raises(TooManyRows) as caught:
            held.select(variables, P, distinct, limit=2)
        assert (
            str(caught.value)
            == "the answer has more than 2 rows, which is the limit for one instant: add a LIMIT or a FILTER"
        )
    assert len(held.select(("s",), P, True, limit=1)) == 1
    with pytest.raises(TooManyRows, match="more than 1,000 rows"):
        holding(*star(*(f'"{i}"' for i in range(1001)))).select(("o",), P)


def test_its_version_grows_when_what_matters_changes() -> None:
    held = Held()
    snapshot = held.snapshot(selecting(("o",), (("?s", "<urn:p>", "?o"), ("?s", "<urn:q>", '"on"'))))
    on, off = ("<urn:s>", "<urn:q>", '"on"'), ("<urn:s>", "<urn:q>", '"off"')
    versions = []
    for triples in (
        [],
        [on],
        star('"1"'),
        [on, *star('"1"')],
        [on, on, *star('"1"')],
        [on, off, *star('"1"')],
        [on, *star('"1"', '"2"')],
        [off, *star('"1"', '"2"')],
        [],
    ):
        held.move(triples)
        versions.append(snapshot.version)
    changed = [after > before for before, after in itertools.pairwise([0, *versions])]
    assert changed == [False, False, False, True, False, False, True, True, False]


def test_it_stands_when_ids_change_their_meaning() -> None:
    held = Held()
    held.move([(f"<urn:old{i}>", "<urn:p>", f'"{i}"') for i in range(5000)])
    asked = ("s",), (("?s", "<urn:p>", '"new"'),)
    assert rows(held.select(*asked)) == []
    held.move([("<urn:new>", "<urn:p>", '"new"')])
    assert rows(held.select(*asked)) == [("<urn:new>",)]
    before = held.content.dictionary.generation
    held.forget()
    assert held.content.dictionary.generation > before
    held.move([("<urn:other>", "<urn:p>", '"new"'), ("<urn:other>", "<urn:p>", '"old"')])
    assert rows(held.select(*asked)) == [("<urn:other>",)]
    assert rows(held.select(("s", "o"), P)) == [("<urn:other>", '"new"'), ("<urn:other>", '"old"')]


class Faulty:
    """A store of which one method fails, once."""

    def __init__(self, store: ox.Store, method: str) -> None:
        self._store, self._method = store, method

    def __getattr__(self, name: str) -> object:
        if name == self._method:
            self._method = ""
            raise MemoryError
        return getattr(self._store, name)


@pytest.mark.parametrize("after", ['"b" "c"', '"a" "b"', '"b"', '"c" "d"', ""])
@pytest.mark.parametrize(
    "method, before, half_way",
    [
        ("load", '"a" "b"', '"b" "c"'),  # what has gone is out of the store, what is new is not yet in it
        ("update", '"a" "b"', '"b" "c"'),
        ("load", '"a" "b" "c" "x"', '"d"'),  # the store has been emptied
    ],
)
def test_a_move_that_fails_half_way_does_not_spoil_the_next(
    method: str, before: str, half_way: str, after: str
) -> None:
    held = holding(*star(*before.split()))
    snapshot = held.snapshot(selecting(("o",), P))
    assert rows(held.select(("o",), P)) == [(o,) for o in before.split()]
    version = snapshot.version
    snapshot._store = Faulty(snapshot._store, method)
    with pytest.raises(MemoryError):
        held.move(star(*half_way.split()))
    held.move(star(*after.split()))
    assert rows(held.select(("o",), P)) == [(o,) for o in after.split()]
    assert snapshot.version > version  # nobody takes an earlier answer for this one


nodes = st.sampled_from(["<urn:a>", "<urn:b>", "_:c"])
predicates = st.sampled_from(["<urn:p>", "<urn:q>", "<urn:a>"])
graphs = st.lists(
    st.tuples(nodes, predicates, st.one_of(nodes, st.sampled_from(['"1"', '"01"', '"a"@en']))), max_size=14
)
variables = st.sampled_from(["?x", "?y", "?z", "_:b"])
named = st.sampled_from(["?x", "?y", "?z"])  # no blank node stands for a predicate
patterns = st.lists(
    st.tuples(
        st.one_of(variables, st.sampled_from(["<urn:a>", "<urn:never>"])),
        st.one_of(named, predicates),
        st.one_of(variables, st.sampled_from(["<urn:b>", '"1"', '"01"'])),
    ),
    max_size=3,
).map(tuple)
shown = st.lists(st.sampled_from(["x", "y", "z", "never"]), min_size=1, max_size=3, unique=True).map(tuple)


@given(
    st.lists(graphs, min_size=1, max_size=4),
    st.lists(st.tuples(shown, patterns, st.booleans()), min_size=1, max_size=3),
    st.booleans(),
)
@settings(max_examples=examples(150), deadline=None)
def test_it_says_what_trying_every_triple_says(steps: list[list[Triple]], asked: list[tuple], forgetful: bool) -> None:
    held = Held()
    for triples in steps:
        held.move(triples)
        for names, pattern, distinct in asked:
            answer = held.select(names, pattern, distinct, limit=100_000)
            query = Asked.over("", 1, 1, names, pattern, distinct)
            assert answer == Result.from_rows(names, solutions(query, {"": set(triples)}))
        if forgetful:
            held.forget()


def test_large_ids_are_the_same() -> None:
    """Beyond 2²¹ ids are not packed any more."""
    content = Content()
    ids = content.dictionary.encode(["<urn:s>", "<urn:p>", "<urn:o>"])
    content.dictionary.encode([f"<urn:{i}>" for i in range(10)])
    for plan, sizes in (
        (selecting(("s",), (("?s", "?p", "?o"),)), (2, 1)),
        (selecting(("o",), (("<urn:s>", "?p", "?o"),)), (1, 1)),
    ):
        snapshot = Snapshot(plan, content)
        snapshot.move(Dataset(tuple(np.array([id, (1 << 21) + id]) for id in ids)))
        assert len(snapshot._rows(9)) == sizes[0]
        snapshot.move(Dataset(tuple(np.array([id]) for id in ids)))
        assert len(snapshot.answer(limit=9)) == sizes[1]
    assert rows(snapshot.answer(limit=9)) == [("<urn:o>",)]
