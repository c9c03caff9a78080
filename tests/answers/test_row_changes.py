"""What has come and gone, as operators tell it, is the whole now minus the whole before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import shared_templates
from csparql_spark.answers.incremental import Incremental, TooManyRows, TooMuch
from csparql_spark.answers.limits import Limits
from csparql_spark.answers.maintained import body as body_module
from csparql_spark.answers.maintained import join_side, numbered_rows, row_calendar
from csparql_spark.answers.tables import Table
from csparql_spark.kernel import native
from csparql_spark.language.rules.rule import Atom, Rule
from csparql_spark.rdf.chunk import Chunk
from tests.examples import examples

from .streams import XSD, Stage, Writer, integer, plan_of, stream, taken
from .test_graph_blocks import NODES
from .test_named_graphs import GRAPHS, GraphWriter, come, scene_of

Bag = Counter[tuple[int, ...]]
FLAT = Rule((Atom("?a", "<urn:p>", "?b"),), (Atom("?a", "<urn:q>", "?b"),))
CHAIN = Rule((Atom("?a", "<urn:p>", "?c"),), (Atom("?a", "<urn:p>", "?b"), Atom("?b", "<urn:p>", "?c")))


def bag(table: Table) -> Bag:
    """The rows of a table with their tags."""
    columns = [column.tolist() for column in table.columns.values()]
    tags = [0] * table.length if table.tag is None else table.tag.tolist()
    assert all(len(column) == table.length == len(tags) for column in columns)
    return Counter(zip(*columns, tags, strict=True))


class Twin:
    """Who remembers the whole of a query, and takes the one from the other."""

    def __init__(self, query: Incremental, body: str = "") -> None:
        self.query, self.body = query, body
        self.last: Bag | None = None
        self.tagged: bool | None = None
        self.told = 0  # how often it was told changes

    def forget(self) -> None:
        self.last = None

    def check(self) -> None:
        found, now = self.query.changed(), self.query.rows()
        assert self.query.changed() is None or self.query.changed().size == 0  # nothing has happened since
        if found is not None:
            assert self.last is not None, "changes, and nobody knows since when"
            assert list(found.come.columns) == list(found.gone.columns) == list(now.columns)
            assert (found.come.tag is None) == (found.gone.tag is None) == (now.tag is None)
            assert bag(found.come) == bag(now) - self.last, self.body
            assert bag(found.gone) == self.last - bag(now), self.body
            assert self.query.length == now.length
            self.told += 1
        else:
            assert self.last is None, "it knows what it said"
        self.last = bag(now)


def selects(random: Random, count: int, writer: type[Writer] = Writer) -> list[str]:
    """Bodies whose answers are told as changes."""
    found: list[str] = []
    graphs = GRAPHS if writer is GraphWriter else ()
    while len(found) < count:
        body = writer(random).body()
        if taken(body, graphs) and plan_of(body).form == "SELECT" and not plan_of(body).ordered:
            if plan_of(body).variables:
                found.append(body)
    return found


@pytest.fixture(autouse=True, params=[(0, -1), (4096, -1), (4096, 5)], ids=["forgetful", "operators", "either way"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many rows that have gone are held, and of how many matches the whole is compared: of none, or of few."""
    spare, few = request.param
    for module in (numbered_rows, row_calendar):
        monkeypatch.setattr(module, "SPARE", spare)
    monkeypatch.setattr(body_module, "FEW", few)
    monkeypatch.setattr(body_module, "LONGEST", 64 if few > 0 else 0)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 10**9))
def test_changes_are_the_whole_now_minus_the_whole_before(seed: int) -> None:
    random = Random(seed)
    stage = Stage((body, range_) for body in selects(random, 2) for range_ in (3, 7))
    twins = [Twin(query, body) for body, _, _, query in stage.queries]
    for _ in range(2):
        for now, triples in stream(random):
            stage.move(stage.now + now, triples)
            for (_, range_, _, query), twin in zip(stage.queries, twins):
                query.move(after=stage.now - range_)
                if random.random() < 0.8:  # the others hear of it later
                    twin.check()


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 10**9))
def test_what_is_entailed_and_what_is_taken_back(seed: int) -> None:
    random = Random(seed)
    stage = Stage(((body, range_) for body in selects(random, 2) for range_ in (2, 5)), [FLAT, CHAIN])
    twins = [Twin(query, body) for body, _, _, query in stage.queries]

    def check() -> None:
        for (_, range_, _, query), twin in zip(stage.queries, twins):
            query.move(after=stage.now - range_)
            twin.check()

    for now, triples in [*stream(random), *stream(random)]:
        stage.move(max(now, stage.now + 1), triples, stamp=max(now, stage.now + 1) - random.choice([0, 0, 1]))
        check()
        if triples and random.random() < 0.5:
            ids = stage.content.dictionary.encode(random.choice(triples))
            stage.facts.remove(*(ids[place : place + 1] for place in range(3)))
            check()


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 10**9))
def test_when_ids_change_their_meaning_it_begins_anew(seed: int) -> None:
    random = Random(seed)
    stage = Stage((body, range_) for body in selects(random, 2) for range_ in (3, 7))
    stage.content.dictionary.holders += [stage.facts, stage.shared]
    twins = [Twin(query, body) for body, _, _, query in stage.queries]
    for number, (now, triples) in enumerate(stream(random)):
        stage.content.add(
            0,
            number,
            Chunk.from_triples([(f"<urn:{number}-{n}>", "<urn:p>", f'"{n}"') for n in range(2500)], [now] * 2500),
        )
        stage.move(now, triples)
        for (_, range_, _, query), twin in zip(stage.queries, twins):
            query.move(after=stage.now - range_)
            twin.check()
        before = stage.content.dictionary.generation
        stage.content.forget({0: now})
        assert stage.content.dictionary.generation > before
        for twin in twins:
            twin.forget()


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_graphs_that_have_names(seed: int) -> None:
    chance = Random(seed)
    scene = scene_of(chance)
    bodies = [*selects(chance, 3, GraphWriter), "SELECT * { GRAPH ?w { ?s <urn:p> ?o } }"]
    twins = [Twin(scene.ask(body), body) for body in bodies]
    now = 0
    for _ in range(6):
        now += chance.randint(1, 3)
        scene.move(now, come(chance, scene, [*NODES, integer(1), integer(2), '"a"', integer("01")]))
        for twin in twins:
            twin.query.move(after=now - scene.ranges[""])
            twin.check()


@pytest.mark.parametrize("pattern", ["?s <urn:p> ?o", "?s <urn:p> ?o . ?o <urn:p> ?s"])
def test_when_nobody_knows_what_has_happened_it_begins_anew(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_module, "FEW", -1)
    monkeypatch.setattr(body_module, "LONGEST", 0)
    body = f"SELECT ?s {{ {pattern} }}"
    stage = Stage([(body, 9)])
    twin = Twin(stage.queries[0][-1], body)
    for now in range(1, 20):
        stage.move(now, [(f"<urn:{now % 5}>", "<urn:p>", f"<urn:{now % 3}>") for now in (now, 2 * now, 3 * now)])
        if now % 5 == 3:
            stage.facts.moving.forget()
            twin.forget()
        twin.query.move(after=now - 9)
        twin.check()
    assert twin.told == 14


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**9))
def test_members_of_one_family(seed: int) -> None:
    """Those that ask the same of different things, some of whom ask for changes, and come and go."""
    random = Random(seed)
    things = [f"<urn:t{n}>" for n in range(5)]
    shapes: list[Callable[[str], str]] = [
        lambda thing: f"SELECT ?s ?v {{ ?s <urn:in> {thing} . ?s <urn:value> ?v }}",
        lambda thing: f"SELECT ?v {{ ?s <urn:in> {thing} . ?s <urn:value> ?v FILTER(?v > 1) }}",
        lambda thing: f"SELECT DISTINCT ?s {{ ?s <urn:in> {thing} . ?s <urn:value> ?v }}",
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_templates, "MANY", 3)
        stage, twins = Stage([]), []
        for now in range(1, 9):
            if random.random() < 0.7:
                body, range_ = random.choice(shapes)(random.choice(things)), random.choice((3, 5))
                twins.append((Twin(stage.ask(body, range_), body), range_, random.random() < 0.7))
            stage.move(
                now,
                [
                    (f"<urn:s{random.randint(0, 5)}>", "<urn:in>", random.choice(things))
                    for _ in range(random.randint(0, 4))
                ]
                + [
                    (f"<urn:s{random.randint(0, 5)}>", "<urn:value>", integer(random.randint(0, 3)))
                    for _ in range(random.randint(0, 4))
                ],
                stamp=now - random.choice([0, 0, 1]),
            )
            if random.random() < 0.4:
                s, p, o, _ = stage.facts.moving.graph.facts()
                if len(s):
                    place = random.randrange(len(s))
                    stage.facts.remove(*(column[place : place + 1] for column in (s, p, o)))
            for twin, range_, asks in twins:
                twin.query.move(after=now - range_)
                if asks:
                    twin.check()
            if twins and random.random() < 0.2:
                gone = twins.pop(random.randrange(len(twins)))[0].query
                stage.queries = [query for query in stage.queries if query[-1] is not gone]


def test_a_distinct_row_that_comes_again_with_an_earlier_tag_holds_as_long_as_before() -> None:
    body = "SELECT DISTINCT ?s { ?s <urn:p> ?o }"
    stage = Stage([(body, 9)])
    twin = Twin(stage.queries[0][-1], body)
    for now, stamp, value in ((5, 5, "<urn:a>"), (6, 4, "<urn:b>"), (7, 3, "<urn:c>"), (13, 13, "<urn:a>")):
        stage.move(now, [("<urn:s>", "<urn:p>", value)], stamp=stamp)
        twin.query.move(after=now - 9)
        twin.check()
        ((_, until),) = twin.last or ()
        assert until == (5 if now < 13 else 13)
    assert twin.told == 3


NUMBERS = (
    *(integer(text) for text in (0, 1, "01", -7, 10**15 - 1, 10**20)),
    *(
        f'"{text}"^^<{XSD}decimal>'
        for text in ("0.5", "0.50", "-0.000001", "2251799814.5", "9999999999.99999", "999999999.999999")
    ),
    *(f'"{text}"^^<{XSD}double>' for text in ("0.1", "1e300", "-1e300", "1e-300", "-0.0", "INF", "-INF", "NaN")),
    f'"1.5"^^<{XSD}float>',
    '"text"',
    "<urn:node>",
)
ALIKE = [integer(1), integer("01"), f'"1.0"^^<{XSD}decimal>', integer(0)]  # of equal ones the first in text is told
SETS = " ".join(
    f"({name}({distinct} ?v) AS ?{name}{bool(distinct)})"
    for name in ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")
    for distinct in ("", "DISTINCT")
)


@pytest.mark.parametrize("head, tail", [("?s", "GROUP BY ?s"), ("", ""), ("?s", "GROUP BY ?s HAVING(SUM(?v) > 0)")])
@settings(max_examples=examples(30), deadline=None)
@given(seed=st.integers(0, 10**9))
def test_aggregates_of_all_kinds_of_numbers(head: str, tail: str, seed: int) -> None:
    random = Random(seed)
    numbers = random.choice([random.sample(NUMBERS, random.randint(1, 6)), ALIKE])
    body = f"SELECT {head} (COUNT(*) AS ?n) (SUM(?v + 1) AS ?m) {SETS} {{ ?s <urn:p> ?v }} {tail}"
    stage = Stage([(body, 4)])
    twin = Twin(stage.queries[0][-1], body)
    for now in range(1, 9):
        triples = [(f"<urn:{random.randint(0, 2)}>", "<urn:p>", random.choice(numbers)) for _ in range(4)]
        stage.move(now, triples)
        if random.random() < 0.3:
            ids = stage.content.dictionary.encode(random.choice(triples))
            stage.facts.remove(*(ids[place : place + 1] for place in range(3)))
        twin.query.move(after=now - 4)
        twin.check()
    assert twin.told == 7


@pytest.mark.parametrize(
    "body",
    [
        "SELECT ?a ?b { ?a <urn:p> ?b }",
        "SELECT DISTINCT ?b { ?a <urn:p> ?b }",
        "SELECT ?a ?c { ?a <urn:p> ?b OPTIONAL { ?b <urn:p> ?c } }",
        "SELECT ?b (MAX(?a) AS ?m) { ?a <urn:p> ?b } GROUP BY ?b",
    ],
)
def test_what_is_held_grows_with_the_rows_and_not_with_their_coming_again(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (numbered_rows, row_calendar):
        monkeypatch.setattr(module, "SPARE", 64)
    monkeypatch.setattr(body_module, "FEW", -1)
    monkeypatch.setattr(body_module, "LONGEST", 0)
    triples = [(f"<urn:{n}>", "<urn:p>", f"<urn:{n % 9}>") for n in range(120)]
    stage = Stage([(body, 600)])
    query = stage.queries[0][-1]
    held = []
    for now in range(1, 301):
        stage.move(now, triples if now == 1 else [triples[(30 * now + n) % 120] for n in range(30)])
        query.move(after=now - 600)
        assert (query.changed() is None) == (now == 1)
        held.append(query._maintained.nbytes)
    query.forget_changes()
    assert query.changed() is None
    assert max(held) <= 4 * query._maintained.nbytes + 10_000  # as if it had begun here


def test_the_way_is_chosen_by_what_there_is_and_what_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_module, "FEW", 10)
    monkeypatch.setattr(body_module, "KEYED", 1)
    monkeypatch.setattr(body_module, "MOST_KEYED", 2)
    monkeypatch.setattr(body_module, "LONGEST", 4)
    body = "SELECT ?a ?b { ?a <urn:p> ?b MINUS { ?b <urn:q> ?c } }"
    stage = Stage([(body, 50)])
    twin = Twin(stage.queries[0][-1], body)
    followed = []
    for now in range(1, 30):
        # A little at each instant; then everything at each of them, and a little again.
        many, range_ = (10, 50) if now <= 8 or now > 20 else (60, 1)
        stage.move(now, [(f"<urn:{now}-{n}>", "<urn:p>", "<urn:o>") for n in range(many)])
        twin.query.move(after=now - range_ if now <= 20 else 18)
        if now == 21:
            continue
        twin.check()
        followed.append(twin.query._maintained._scans is not None)
    assert twin.told == len(followed) - 1
    few, sliding, tumbling, back = followed[:2], followed[2:8], followed[8:20], followed[20:]
    assert few == [False] * 2 and all(sliding)
    assert tumbling.count(True) <= 5 and not any(tumbling[-2:])
    assert back[-1]


@pytest.mark.parametrize(
    "body",
    [
        "SELECT ?a ?b { ?a <urn:p> ?b MINUS { ?b <urn:q> ?c } }",
        "SELECT ?a ?c { ?a <urn:p> ?b OPTIONAL { ?b <urn:q> ?c } }",
        "SELECT ?a ?b { ?a <urn:p> ?b FILTER NOT EXISTS { ?b <urn:q> ?c } }",
        "SELECT ?a ?c { ?a <urn:p> ?b { ?b <urn:q> ?c } UNION { ?b <urn:r> ?c } }",
    ],
)
def test_wholes_are_compared_while_one_row_changes_what_most_become(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_module, "FEW", 10)
    monkeypatch.setattr(body_module, "KEYED", 1)
    monkeypatch.setattr(body_module, "LONGEST", 8)
    for share, follows in ((0.01, True), (0.9, False)):
        stage = Stage([(body, 900)])
        twin = Twin(stage.queries[0][-1], body)
        hub = int(200 * share)
        stage.move(1, [(f"<urn:{n}>", "<urn:p>", "<urn:hub>" if n < hub else f"<urn:{n}>") for n in range(200)])
        followed = []
        for now in range(2, 90):
            touched = "<urn:hub>" if now < 60 else "<urn:other>"
            stage.move(now, [(touched, "<urn:q>", f"<urn:{now % 2}>")])
            twin.query.move(after=now - 900)
            twin.check()
            followed.append(twin.query._maintained._scans is not None)
        busy, quiet = followed[:58], followed[58:]
        assert all(busy) if follows else busy.count(True) <= 12 and not all(busy[-9:])
        assert all(quiet[8:])  # that it was so is not for ever
        assert twin.told == 87


@pytest.mark.skipif(native.library is None, reason="rows in Python take more bytes than the room here is for")
def test_what_held_too_much_is_tried_again_ever_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A burst, and all as before it: once too large for operators, once even for wholes."""
    monkeypatch.setattr(body_module, "FEW", 10)
    monkeypatch.setattr(body_module, "KEYED", 1)
    monkeypatch.setattr(body_module, "MOST_KEYED", 2)
    monkeypatch.setattr(body_module, "LONGEST", 16)
    tries: list[int] = []
    start, now = body_module.MaintainedBody._start, 0

    def counted(body: body_module.MaintainedBody, follow: bool, most: int) -> None:
        tries.append(now)
        start(body, follow, most)

    monkeypatch.setattr(body_module.MaintainedBody, "_start", counted)
    body = "SELECT ?a ?c { ?a <urn:p> ?b OPTIONAL { ?b <urn:q> ?c } }"
    for burst, given_up in ((1500, False), (7000, True)):
        tries.clear()
        stage = Stage([(body, 60)])
        query = stage.queries[0][-1]
        query.limits = Limits(bytes=400_000)
        told, followed = [], []
        for now in range(1, 181):
            count = burst if now == 20 else 3
            stage.move(now, [(f"<urn:{now}-{n}>", "<urn:p>", f"<urn:{now}-{n}>") for n in range(count)])
            query.move(after=now - 60)
            told.append(query.changed() is not None)
            followed.append(query._maintained._scans is not None)
            assert query._maintained.nbytes <= 100_000
        assert followed[15] and not any(followed[20:79]) and all(followed[110:])
        assert all(told[1:19]) and all(told[110:]) and all(told[20:79]) != given_up
        assert [one for one in tries if 20 <= one < 79] == [20, 21, 23, 27, 35, 51, 67]


def test_what_was_too_large_begins_again_when_it_has_room_to_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_module, "FEW", 10)
    monkeypatch.setattr(body_module, "LONGEST", 2)
    stage = Stage([("SELECT ?a ?c { ?a <urn:p> ?b OPTIONAL { ?b <urn:q> ?c } }", 30)])
    query = stage.queries[0][-1]
    followed, held = [], []

    def run(instants: range, most: int, count: int = 5) -> bool:
        query.limits = Limits(bytes=4 * most)
        for now in instants:
            stage.move(now, [(f"<urn:{now}-{n}>", "<urn:p>", f"<urn:{now}-{n}>") for n in range(count)])
            query.move(after=now - 30)
            query.changed()
            followed.append(query._maintained._scans is not None)
            held.append(query._maintained.nbytes)
        return followed[-1]

    assert run(range(1, 60), 1 << 30)
    query.forget_changes()
    assert run(range(60, 61), 1 << 30)
    size = held[-1]  # as it begins
    assert run(range(61, 70), 4 * size)
    assert not run(range(70, 80), size // 2)
    assert not run(range(80, 90), size + size // 2)  # it would fit, just so
    assert run(range(90, 100), 4 * size)


def test_what_joins_look_at_is_compared_with_all_that_they_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be more of it than there are matches."""
    monkeypatch.setattr(body_module, "FEW", 10)
    monkeypatch.setattr(body_module, "KEYED", 1)
    body = "SELECT * { { ?a <urn:p> ?b . OPTIONAL { ?c <urn:q> ?b } } OPTIONAL { ?c <urn:r> ?d } }"
    stage = Stage([(body, 900)])
    twin = Twin(stage.queries[0][-1], body)
    stage.move(
        1,
        [(f"<urn:a{n}>", "<urn:p>", "<urn:b>") for n in range(40)]
        + [(f"<urn:c{n}>", "<urn:q>", "<urn:b>") for n in range(20)],
    )
    for now in range(2, 12):
        stage.move(now, [(f"<urn:c{now}>", "<urn:r>", f"<urn:{now}>")])  # touches 40 of 800 rows, and 60 matches
        twin.query.move(after=now - 900)
        twin.check()
    assert twin.query._maintained._scans is not None
    assert twin.told == 9


def test_what_would_hold_too_much_holds_wholes_and_then_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_module, "FEW", -1)
    monkeypatch.setattr(body_module, "LONGEST", 64)
    body = "SELECT ?a ?c { ?a <urn:p> ?b OPTIONAL { ?b <urn:q> ?c } }"
    for limit, followed, told in ((1 << 30, True, True), (40_000, False, True), (400, False, False)):
        stage = Stage([(body, 9)])
        query = stage.queries[0][-1]
        query.limits = Limits(bytes=limit)
        for now in (1, 2, 3):
            stage.move(now, [(f"<urn:{now}-{n}>", "<urn:p>", "<urn:b>") for n in range(50)])
            query.move(after=now - 9)
            found = query.changed()
            assert (found is not None) == (told and now > 1)
        assert (query._maintained._scans is not None) == followed
        assert (query._maintained.nbytes > 0) == told and query._maintained.nbytes <= limit // 4


def test_it_says_at_first_and_after_a_failure_that_it_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage([("SELECT ?a ?b { ?a <urn:p> ?b OPTIONAL { ?b <urn:q> ?c } }", 9)])
    query = stage.queries[0][-1]
    stage.move(1, [("<urn:a>", "<urn:p>", "<urn:b>")])
    query.move(after=-8)
    assert query.changed() is None
    stage.move(2, [("<urn:b>", "<urn:p>", "<urn:b>")])
    query.move(after=-7)
    found = query.changed()
    assert found is not None and (found.come.length, found.gone.length, query.length) == (1, 0, 2)
    query.limits = Limits(rows=2)
    stage.move(3, [("<urn:c>", "<urn:p>", "<urn:b>")])
    query.move(after=-6)
    for _ in range(2):  # and it goes on saying so
        with pytest.raises(TooManyRows):
            query.changed()
    query.limits = Limits()
    assert query.changed() is None
    stage.move(4, [("<urn:b>", "<urn:q>", "<urn:c>"), ("<urn:b>", "<urn:q>", "<urn:d>")])
    query.move(after=-5)
    found = query.changed()
    assert found is not None and (found.come.length, found.gone.length, query.length) == (3, 0, 6)


def test_what_fails_half_way_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_module, "FEW", -1)
    monkeypatch.setattr(body_module, "LONGEST", 0)
    body = "SELECT ?a (COUNT(*) AS ?n) { ?a <urn:p> ?b OPTIONAL { ?b <urn:p> ?c } } GROUP BY ?a"
    stage = Stage([(body, 4)])
    twin = Twin(stage.queries[0][-1], body)
    touching = join_side.JoinSide.touching
    for now in range(1, 24):
        stage.move(now, [(f"<urn:{now % 3}>", "<urn:p>", f"<urn:{now % 2}>"), (f"<urn:{now}>", "<urn:p>", "<urn:0>")])
        twin.query.move(after=now - 4)
        if now % 6 == 4:
            fails = iter([False] * (now // 6) + [True])  # each time one step further on

            def failing(side: join_side.JoinSide, rows: Table, fails: Iterator[bool] = fails) -> Table:
                if next(fails, False):
                    raise TooMuch("at some place on the way")
                return touching(side, rows)

            with monkeypatch.context() as patch:
                patch.setattr(join_side.JoinSide, "touching", failing)
                with pytest.raises(TooMuch):
                    twin.query.changed()
            twin.forget()
        twin.check()
    assert twin.told == 23 - 1 - 4
    twin.query.forget_changes()
    assert twin.query._maintained._scans is None  # nor does any table note anything for it
    assert twin.query._maintained.nbytes == 0 and twin.query.changed() is None


@pytest.mark.parametrize(
    "body",
    [
        "ASK { ?s <urn:p> ?o }",
        "CONSTRUCT WHERE { ?s <urn:p> ?o }",
        "SELECT ?s { ?s <urn:p> ?o } ORDER BY ?o",
        "SELECT * { <urn:a> <urn:p> <urn:b> }",
    ],
)
def test_what_is_compared_as_a_whole(body: str) -> None:
    stage = Stage([(body, 9)])
    query = stage.queries[0][-1]
    for now in (1, 2):
        stage.move(now, [("<urn:a>", "<urn:p>", f"<urn:{now}>")])
        query.move(after=now - 9)
        assert query.changed() is None
