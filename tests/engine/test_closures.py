"""Queries under entailment: what they say is what follows from what their windows see, however it was come by."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Result
from csparql_spark.answers.limits import Limits
from csparql_spark.engine.group import Group
from csparql_spark.engine.messages import InstantAnswer, Message, QueryFailure
from csparql_spark.entailment.evaluate import bounds
from csparql_spark.entailment.maintain.strategies import STRATEGIES
from csparql_spark.entailment.rules.regimes import rules_of
from csparql_spark.log import Entry
from csparql_spark.log.contents import QueryFailed
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.terms import RDF
from csparql_spark.schedule.routing import to_fail
from csparql_spark.store import QueryRecord, StreamRecord
from tests.engine.logs import law
from tests.engine.running import DictState, Worker, in_one_go, matched_anew, routed, routed_between
from tests.entailment.twin import ALWAYS, closure
from tests.examples import examples

Triple = tuple[str, str, str]

TYPE, RDFS = f"<{RDF}type>", "http://www.w3.org/2000/01/rdf-schema#"
SUB, DOMAIN, SUBPROPERTY = (f"<{RDFS}{name}>" for name in ("subClassOf", "domain", "subPropertyOf"))
GRAPH, STREAM, OTHER = "urn:kb", "urn:s", "urn:t"
RULES = (
    "[(?a <urn:p> ?b) (?b <urn:p> ?c) -> (?a <urn:p> ?c)]",
    "[(?a <urn:q> ?b) -> (?b <urn:p> ?a)] [(?a <urn:p> ?b) (?b <urn:q> ?c) -> (?a <urn:r> ?c)]",
    "[(?a ?p ?b) (?p <urn:inverse> ?q) -> (?b ?q ?a)] [(?a <urn:p> ?b) notEqual(?a, ?b) -> (?a <urn:r> <urn:b>)]",
)


@dataclass(frozen=True)
class Asked:
    """A query: its windows as (stream, range, step, name), its regimes, and the triple patterns that it asks for."""

    windows: tuple[tuple[str, int, int, str | None], ...]
    regimes: tuple[str, ...]
    pattern: Triple
    graph: bool

    @property
    def text(self) -> str:
        named = self.windows[0][3]
        windows = " ".join(
            f"FROM NAMED WINDOW <{name}> ON <{stream}> [RANGE PT{range / 1000}S STEP PT{step / 1000}S]"
            if name
            else f"FROM STREAM <{stream}> [RANGE {range}ms STEP {step}ms]"
            for stream, range, step, name in self.windows
        )
        pattern = " ".join(self.pattern)
        body = f"WINDOW <{named}> {{ {pattern} }}" if named else pattern
        return (
            f"REGISTER QUERY q AS SELECT * {windows} {f'FROM <{GRAPH}> ' if self.graph else ''}"
            f"USING ENTAILMENT {', '.join(self.regimes)} WHERE {{ {body} }}"
        )


nodes = st.sampled_from(["<urn:a>", "<urn:b>", "<urn:c>"])
data = st.one_of(
    st.tuples(nodes, st.sampled_from(["<urn:p>", "<urn:q>", TYPE]), nodes),
    st.tuples(nodes, st.just("<urn:p>"), st.just('"1"')),
)
schema = st.one_of(
    st.tuples(nodes, st.just(SUB), nodes),
    st.tuples(st.just("<urn:p>"), st.just(DOMAIN), nodes),
    st.tuples(st.just("<urn:q>"), st.just(SUBPROPERTY), st.just("<urn:p>")),
    st.just(("<urn:p>", "<urn:inverse>", "<urn:q>")),
    data,
)
WINDOWS = (
    [(STREAM, 4, 2, None)],
    [(STREAM, 9, 3, None)],
    [(STREAM, 4, 4, None)],
    [(STREAM, 2, 5, None)],
    [(STREAM, 8, 2, None), (OTHER, 4, 2, None)],
    [(STREAM, 6, 2, None), (OTHER, 2, 2, None)],
    [(STREAM, 6, 4, None), (OTHER, 4, 2, None)],
    [(STREAM, 4, 2, "urn:w")],
)
PATTERNS = (("?x", "?y", "?z"), ("?x", "<urn:p>", "?z"), ("?x", TYPE, "<urn:a>"), ("<urn:a>", "<urn:r>", "?z"))
asked = st.builds(
    lambda windows, regimes, pattern, graph: Asked(tuple(windows), regimes, pattern, graph),
    st.sampled_from(WINDOWS),
    st.sampled_from([("rho-df",), ("mine",), ("mine",), ("rho-df", "mine")]),
    st.sampled_from(PATTERNS),
    st.booleans(),
)
later = st.integers(0, 3)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("register"), later, asked),
        st.tuples(st.just("tick"), st.integers(0, 6), st.none()),
        st.tuples(st.just("background"), later, st.lists(schema, max_size=4)),
        st.tuples(st.just("rules"), later, st.sampled_from(RULES)),
        *[
            st.tuples(st.just(stream), later, st.lists(facts, min_size=1, max_size=4))
            for stream, facts in ((STREAM, data), (STREAM, data), (STREAM, data), (OTHER, data), (STREAM, schema))
        ],
    ),
    min_size=8,
    max_size=24,
)


@dataclass
class World:
    """A log, and what each query says by the naive closure of what its windows see."""

    log: list[Entry] = field(default_factory=list)
    at: int = 0
    elements: list[tuple[str, int, int, Triple]] = field(default_factory=list)  # stream, place, stamp, triple
    background: list[Triple] = field(default_factory=list)
    rules: str = RULES[0]
    queries: dict[int, tuple[Asked, int]] = field(default_factory=dict)  # and its next instant
    said: dict[int, list[tuple[int, set]]] = field(default_factory=dict)

    def write(self, made: list[tuple]) -> World:
        for stream in (STREAM, OTHER):
            self.append("stream", stream, StreamRecord.draft(stream, name=stream, clock="arrival", delay=0).payload)
        self.append("background", GRAPH, Chunk.empty().to_ipc())
        self.append("rules", "mine", self.rules.encode())
        for kind, delay, value in made:
            self.at += delay
            seq = len(self.log) + 1
            match kind:
                case "register":
                    self.append("register", f"q{seq}", QueryRecord.draft("q", text=value.text, base=None).payload)
                    self.queries[seq] = value, self.at + 1
                    self.said[seq] = []
                    continue
                case "background":
                    self.background = value
                    self.append(kind, GRAPH, Chunk.from_triples(value).to_ipc())
                    continue
                case "rules":
                    self.rules = value
                    self.append(kind, "mine", value.encode())
                    continue
                case "tick":
                    self.append(kind, None, None)
                    self.answer(self.at)
                    self.at += 1
                    continue
            self.elements += [(kind, seq, self.at, triple) for triple in value]
            chunk = Chunk.from_triples(value)
            self.log.append(Entry(seq, "chunk", self.at, kind, len(chunk), None, None, len(chunk), chunk.to_ipc()))
            self.answer(self.at - 1, kind)
        return self

    def append(self, kind: str, subject: str | None, payload: bytes | None) -> None:
        self.log.append(Entry(len(self.log) + 1, kind, self.at, subject, payload=payload))

    def answer(self, passed: int, stream: str | None = None) -> None:
        """All instants up to this one have passed; a chunk tells so only those that read its stream."""
        for id, (query, start) in list(self.queries.items()):
            if stream is not None and all(of != stream for of, *_ in query.windows):
                continue
            steps = {step for _, _, step, _ in query.windows}
            for t in range(start, passed + 1):
                if any(t % step == 0 for step in steps):
                    self.said[id].append((t, self.solutions(id, query, t)))
            self.queries[id] = query, max(start, passed + 1)

    def solutions(self, id: int, query: Asked, t: int) -> set:
        rules = rules_of(query.regimes, {"mine": self.rules})
        facts = dict.fromkeys(self.background if query.graph else (), ALWAYS)
        alone = closure(rules, facts)
        seen = {
            triple
            for stream, seq, stamp, triple in self.elements
            if seq > id
            for of, range, step, _ in query.windows
            if stream == of and t // step * step - range < stamp <= t // step * step
        }
        closed = set(closure(rules, {**dict.fromkeys(seen, 1), **facts}))
        if query.windows[0][3]:  # a named window holds nothing that the background says by itself
            closed = closed - set(alone) | seen
        return {
            tuple(sorted(bound.items())) for triple in closed if (bound := match(query.pattern, triple)) is not None
        }


def match(pattern: Triple, triple: Triple) -> dict[str, str] | None:
    bound: dict[str, str] = {}
    for node, term in zip(pattern, triple):
        if node[0] == "?":
            bound[node[1:]] = term
        elif node != term:
            return None
    return bound


def shown(told: list[Message]) -> dict[int, list[tuple[int, set]]]:
    found: dict[int, list[tuple[int, set]]] = {}
    for one in told:
        assert isinstance(one, InstantAnswer), one
        rows = [tuple(sorted(row.items())) for row in Result.from_bytes(one.payload).table.rows()]
        assert len(rows) == len(set(rows))
        found.setdefault(one.query, []).append((one.instant, set(rows)))
    return found


def wanted(world: World) -> dict[int, list[tuple[int, set]]]:
    return {id: said for id, said in world.said.items() if said}


@given(steps)
@law(max_examples=examples(70))
def test_answers_are_what_follows(made: list[tuple]) -> None:
    """By either evaluator."""
    world = World().write(made)
    told = [one for said in in_one_go(world.log).values() for one in said]
    assert shown(told) == wanted(world)
    with matched_anew():
        assert shown([one for said in in_one_go(world.log).values() for one in said]) == wanted(world)


@given(steps, st.data())
@law(max_examples=examples(60))
def test_batches_and_cold_workers_cannot_be_seen(made: list[tuple], data: st.DataObject) -> None:
    world = World().write(made)
    workers, states, told = [Worker(), Worker()], {}, []
    start = 0
    while start < len(world.log):
        end = min(len(world.log), start + data.draw(st.sampled_from([1, 2, 5])))
        rows = routed_between(world.log, start, end)
        for key in dict.fromkeys(row.group for row in rows):
            if data.draw(st.sampled_from([False, False, True])):
                workers = [Worker(), Worker()]
            worker = data.draw(st.sampled_from([0, 1]))
            told += workers[worker].work(
                key, [row for row in rows if row.group == key], states.setdefault(key, DictState())
            )
        start = end
    assert shown(told) == wanted(world)


def test_a_window_that_becomes_wider_finds_what_is_still_needed() -> None:
    """
          2     4     6     8
    ──────┼──●──┼──●──┼─────┼──     the wide window is registered at 3, after the narrow one;
            3     5                  at 8 it still sees what came at 4 and 5
    """

    def query(reach: int) -> Asked:
        return Asked(((STREAM, reach, 2, None),), ("mine",), ("?x", "<urn:p>", "?z"), False)

    a, b = ("<urn:a>", "<urn:p>", "<urn:b>"), ("<urn:b>", "<urn:p>", "<urn:c>")
    world = World().write(
        [
            ("register", 0, query(2)),
            (STREAM, 3, [a]),
            ("register", 0, query(6)),
            (STREAM, 1, [b]),
            (STREAM, 1, [a]),
            ("tick", 3, None),
        ]
    )
    told = [one for said in in_one_go(world.log).values() for one in said]
    assert shown(told) == wanted(world)
    assert len(world.said[7][-1][1]) == 3


@pytest.mark.parametrize("name", STRATEGIES)
@given(made=steps)
@law(max_examples=examples(20))
def test_each_strategy_gives_the_same_bytes(name: str, made: list[tuple]) -> None:
    """Rules and background change, windows slide together or not, with names and without."""
    log = World().write(made).log
    assert in_one_go(log, name) == in_one_go(log)
    with matched_anew():
        assert in_one_go(log, name) == in_one_go(log)


def test_a_group_that_is_maintained_in_another_way_from_now_on() -> None:
    query = Asked(((STREAM, 6, 2, None),), ("mine",), ("?x", "?y", "?z"), True)
    made = [("rules", 0, RULES[1]), ("background", 0, [("<urn:b>", "<urn:q>", "<urn:c>")]), ("register", 0, query)]
    for turn in range(8):
        made += [
            (STREAM, 1, [("<urn:a>", "<urn:q>", "<urn:b>"), (f"<urn:{turn}>", "<urn:p>", "<urn:b>")]),
            ("tick", 1, None),
        ]
    world = World().write(made)
    rows = routed(world.log)
    group, told = Group(rows[0].group), []
    for place, row in enumerate(rows):
        group.maintain([*STRATEGIES][place % len(STRATEGIES)])
        told += group.feed([row])
    assert shown(told) == wanted(world)


def test_rules_that_cannot_be_run_fail_their_query_alone() -> None:
    world = World().write(
        [
            ("register", 0, Asked(((STREAM, 4, 2, None),), ("mine",), ("?x", "?y", "?z"), False)),
            ("register", 0, Asked(((STREAM, 4, 2, None),), ("rho-df",), ("?x", "?y", "?z"), False)),
        ]
    )
    world.append("rules", "mine", b"[(?a <urn:n> ?b) sum(?b, 1, ?c) -> (?a <urn:n> ?c)]")
    world.append("tick", None, None)
    world.log[-1] = Entry(len(world.log), "tick", 2)
    told = [one for said in in_one_go(world.log).values() for one in said]
    assert {one.query: type(one) for one in told} == {5: QueryFailure, 6: InstantAnswer}
    assert json.dumps(next(one for one in told if isinstance(one, QueryFailure)).reason)


@pytest.mark.parametrize("windows", [WINDOWS[0], WINDOWS[6]], ids=["together", "replaced"])
def test_a_rule_that_multiplies_fails_who_asks_for_what_it_makes(
    monkeypatch: pytest.MonkeyPatch, windows: list[tuple]
) -> None:
    """Four triples are sixteen pairs. Who asks under the same rules for something else goes on, wherever it stands."""
    monkeypatch.setattr(bounds, "MOST_PAIRS", 15)
    poison = "[poison: (?a <urn:p> ?b) (?c <urn:p> ?d) -> (?a <urn:r> ?c)] [(?a <urn:p> ?b) -> (?b <urn:q> ?a)]"
    healthy, sick = (Asked(tuple(windows), ("mine",), ("?x", of, "?z"), False) for of in ("<urn:q>", "<urn:r>"))
    many = [(f"<urn:{n}>", "<urn:p>", "<urn:b>") for n in range(4)]
    made = [
        ("rules", 0, poison),
        ("register", 0, healthy),
        ("register", 0, sick),
        ("register", 0, healthy),
        (STREAM, 1, many[:2]),
        ("tick", 5, None),
        (STREAM, 1, many),
        ("tick", 6, None),
        (STREAM, 1, many[:1]),
        ("tick", 5, None),
    ]
    world = World().write(made)
    told = [one for said in in_one_go(world.log).values() for one in said]
    first, second, third = world.queries
    failed = [one for one in told if isinstance(one, QueryFailure)]
    assert [one.query for one in failed] == [second]
    assert failed[0].reason.startswith("the rule [poison: ") and "multiplies what it is given" in failed[0].reason
    here, expected = shown([one for one in told if one not in failed]), wanted(world)
    assert here[first] == expected[first] and here[third] == expected[third]
    before = [answer for answer in expected[second] if answer[0] < failed[0].instant]
    assert before and here[second][: len(before)] == before
    assert any(len(rows) == 4 for _, rows in here[first])


@pytest.mark.parametrize("windows", [WINDOWS[0], WINDOWS[6]], ids=["together", "replaced"])
def test_closing_has_the_time_of_a_query_and_more_where_there_is_more_to_close(
    monkeypatch: pytest.MonkeyPatch, windows: list[tuple]
) -> None:
    world = World().write(
        [
            ("rules", 0, "[slow: (?a <urn:p> ?b) -> (?b <urn:q> ?a)]"),
            ("register", 0, Asked(tuple(windows), ("mine",), ("?x", "<urn:q>", "?z"), False)),
            (STREAM, 1, [(f"<urn:{n}>", "<urn:p>", "<urn:b>") for n in range(4)]),
            ("tick", 5, None),
        ]
    )
    (key,) = {row.group for row in routed(world.log)}

    def failures(limits: Limits | None, known: QueryFailed | None = None) -> list[str]:
        group = Group(key)
        if limits is not None:
            group.limit(limits)
        rows = [to_fail(row, known) if row.kind == "register" else row for row in routed(world.log)]
        return [one.reason for one in group.feed(rows) if isinstance(one, QueryFailure)]

    monkeypatch.setattr(bounds, "SECONDS_PER_FACT", -100.0)  # for four facts less than no time
    (reason,) = failures(Limits())
    assert "s of processor time, which is the limit, and the rule [slow: " in reason
    assert failures(None) == []  # nobody waits for a recording
    (query,) = world.queries
    assert failures(Limits(), QueryFailed(query, 1000, "later", answered=999)) == []  # it had the time then
    monkeypatch.setattr(bounds, "SECONDS_PER_FACT", 100.0)
    assert failures(Limits(milliseconds=5_000)) == []


@pytest.mark.parametrize("terms", [3000])
def test_ids_that_change_their_meaning(terms: int) -> None:
    """So many terms come and go that the dictionary is compacted under the closures."""
    query = Asked(((STREAM, 4, 2, None),), ("mine",), ("?x", "<urn:p>", "<urn:b>"), True)
    made = [("background", 0, [("<urn:z>", "<urn:p>", "<urn:b>")]), ("register", 0, query)]
    for turn in range(4):
        made.append((STREAM, 2, [(f"<urn:x{turn}.{i}>", "<urn:q>", f"<urn:y{turn}.{i}>") for i in range(terms)]))
        made += [(STREAM, 1, [("<urn:a>", "<urn:p>", "<urn:z>")]), ("tick", 1, None)]
    world = World().write(made)
    rows = routed(world.log)
    group = Group(rows[0].group)
    told = [one for row in rows for one in group.feed([row])]
    assert group.content.dictionary.generation > 0 and shown(told) == wanted(world)
