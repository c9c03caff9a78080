"""Company: whoever else is in its group, comes, goes or pauses, a query says byte for byte what it would say alone.

The twin is a fresh group that is given the same log without the other queries: the places of the entries stay, so a
query sees the same elements. What triples wait for before they enter a group's graph (see `answers.semijoin_filter`) hangs on
who is there; the limits of that are made so small here that they are crossed again and again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers import semijoin_filter
from csparql_spark.answers.patterns import Pattern
from csparql_spark.engine import closures
from csparql_spark.engine.group import Group
from csparql_spark.engine.group_state import StoredGroup, restore, save
from csparql_spark.engine.messages import Message
from csparql_spark.log import Entry
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.terms import RDF
from csparql_spark.store import QueryRecord, StreamRecord
from tests.engine.logs import ONE, law
from tests.engine.running import DictState, routed
from tests.examples import examples

TYPE, RDFS = f"<{RDF}type>", "http://www.w3.org/2000/01/rdf-schema#"
SUB, DOMAIN, SUBPROPERTY = (f"<{RDFS}{name}>" for name in ("subClassOf", "domain", "subPropertyOf"))
A, B, GRAPH = "urn:a", "urn:b", "urn:g"
REGISTRY = ("register", "unregister", "pause", "resume")

PREFIXES = f"PREFIX : <urn:> PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#> PREFIX rdfs: <{RDFS}>"
TIMES = (
    "RANGE 8ms STEP 2ms",
    "RANGE 4ms STEP 2ms",
    "RANGE 6ms STEP 2ms",
    "RANGE 5ms STEP 5ms",
    "RANGE 3ms STEP 7ms",
    "RANGE 20ms STEP 4ms",
    "RANGE 40ms STEP 1ms",
)
WINDOWS = (
    *[(time,) for time in TIMES],
    ("RANGE TRIPLES 3 STEP 2",),
    ("ELEMENTS 2",),
    (TIMES[0], TIMES[3]),
    ("RANGE 5ms STEP 3ms", "RANGE 8ms STEP 2ms"),  # they differ as those of the next one do
    ("RANGE 11ms STEP 3ms", "RANGE 14ms STEP 2ms"),
    (TIMES[2], "RANGE TRIPLES 2"),
)
EVERY = st.sampled_from(["", "", "", "COMPUTE EVERY 3ms "])
# What is asked, from what reads one pattern to what reads more than the limit, or anything.
ASKED = (
    "SELECT ?s ?o {} WHERE {{ ?s :p ?o }}",
    "SELECT ?s {} WHERE {{ ?s :p ?o . ?o :q ?x }}",
    "SELECT ?s ?x {} WHERE {{ ?s :p ?o ; :q ?x ; :r ?o }}",
    "SELECT * {} WHERE {{ ?s :p ?o . ?o :q ?x . ?x :r ?s . ?s a ?c }}",
    "SELECT * {} WHERE {{ ?s a :c }}",
    "SELECT * {} WHERE {{ ?x a ?c . ?x :p ?y . ?y a ?c }}",
    "SELECT * {} WHERE {{ ?s :p ?o OPTIONAL {{ ?o :q ?x }} }}",
    "SELECT * {} WHERE {{ {{ ?s :p ?o }} UNION {{ ?o :q ?s . ?s :r ?o }} }}",
    "SELECT * {} WHERE {{ ?s :p ?o MINUS {{ ?s :q ?x }} }}",
    "SELECT * {} WHERE {{ ?s :p ?o FILTER NOT EXISTS {{ ?o :q ?x . ?x :r ?y }} }}",
    "SELECT ?s (COUNT(*) AS ?n) (SUM(?o) AS ?sum) {} WHERE {{ ?s :p ?x ; :q ?o }} GROUP BY ?s HAVING (COUNT(*) > 1)",
    "SELECT DISTINCT ?s {} WHERE {{ ?s :p ?o FILTER (?o != :b) }} ORDER BY ?s LIMIT 2",
    "SELECT * {} WHERE {{ ?s :p+ ?o }}",
    "SELECT * {} WHERE {{ ?s :p* :b . ?s :q ?x }}",
    "SELECT * {} WHERE {{ ?s ?p ?o }}",
    "SELECT * {} WHERE {{ ?s ?p ?s }}",
    "SELECT ?s ?p {} WHERE {{ ?s ?p ?o . ?o ?p ?s }}",
    "SELECT ?s (f:timestamp(?s, :p, ?o) AS ?t) {} WHERE {{ ?s :p ?o }}",
    "SELECT * {} WHERE {{ {{ SELECT ?s (COUNT(*) AS ?n) WHERE {{ ?s :q ?x }} GROUP BY ?s }} ?s :p ?o }}",
    "CONSTRUCT {{ ?o :of ?s }} {} WHERE {{ ?s :p ?o . ?s :q ?o }}",
    "CONSTRUCT {{ [] :of ?s }} {} WHERE {{ ?s :r ?o }}",
    "ASK {} WHERE {{ ?s :p ?o . ?o :p ?s }}",
    "DESCRIBE ?s {} WHERE {{ ?s :p ?o . ?o :r ?y }}",
    "SELECT ISTREAM ?s {} WHERE {{ ?s :p ?o . ?s :q ?x }}",
    "SELECT DSTREAM ?s {} WHERE {{ ?s :p ?o . ?s :q ?x }}",
    "SELECT * {} FROM NAMED WINDOW :w ON :a [RANGE 12ms STEP 3ms] WHERE {{ ?s :p ?o . WINDOW :w {{ ?o :q ?x }} }}",
    "SELECT ?g ?s {} FROM NAMED WINDOW :w ON :a [RANGE 30ms STEP 2ms] WHERE {{ GRAPH ?g {{ ?s :p ?o . ?s a ?c }} }}",
)
RULES = (
    "[(?a <urn:p> ?b) (?b <urn:p> ?c) -> (?a <urn:r> ?c)]",
    "[(?a <urn:q> ?b) -> (?b <urn:p> ?a)] [(?a <urn:p> ?b) (?b <urn:q> ?c) -> (?a <urn:r> ?c)]",
)
nodes = st.sampled_from(["<urn:a>", "<urn:b>", "<urn:c>", "<urn:d>"])
data = st.one_of(
    st.tuples(nodes, st.sampled_from(["<urn:p>", "<urn:p>", "<urn:q>", "<urn:r>"]), nodes),
    st.tuples(nodes, st.just("<urn:q>"), st.sampled_from(['"1"', ONE])),
    st.tuples(nodes, st.just(TYPE), nodes),
)
schema = st.one_of(
    st.tuples(nodes, st.just(SUB), nodes),
    st.tuples(st.just("<urn:p>"), st.just(DOMAIN), nodes),
    st.tuples(st.just("<urn:q>"), st.just(SUBPROPERTY), st.just("<urn:p>")),
)
names = st.sampled_from(["q1", "q2", "q3", "q4", "q5"])
later = st.integers(0, 3)


@st.composite
def logs(draw: st.DrawFn, shapes: Sequence[str] = ASKED) -> list[Entry]:
    """The log of one group: its queries have the stream, the background and the rules in common."""
    clock = draw(st.sampled_from(["arrival", "arrival", "event"]))
    regimes = draw(
        st.sampled_from(["", "", "", "USING ENTAILMENT rho-df", "USING ENTAILMENT mine", "USING ENTAILMENT rdfs, mine"])
    )
    dataset = draw(st.sampled_from(["", f"FROM <{GRAPH}>"]))

    streams = draw(st.sampled_from([[A], [A], [A, B]]))

    def text(asked: str, windows: tuple[str, ...], other: str, every: str) -> str:
        seen = " ".join(f"FROM STREAM <{A}> [{window}]" for window in windows)
        seen += f" FROM STREAM <{B}> [{other}]" * (B in streams)
        head, _, where = asked.format(f"{seen} {dataset}").rpartition(" WHERE ")
        return f"REGISTER QUERY q {every}AS {PREFIXES} {head} {regimes} WHERE {where}"

    # Of few shapes, so that queries often ask the same of windows that differ.
    chosen = draw(st.lists(st.sampled_from(shapes), min_size=1, max_size=5))
    texts = st.builds(text, st.sampled_from(chosen), st.sampled_from(WINDOWS), st.sampled_from(TIMES), EVERY)
    stamped = st.none() if clock == "arrival" else st.one_of(st.none(), st.integers(-8, 4))
    chunk, told = (
        st.tuples(
            st.just("chunk"),
            later,
            st.tuples(st.sampled_from(streams), st.lists(st.tuples(triples, stamped), min_size=1, max_size=most)),
        )
        for triples, most in ((data, 5), (schema, 1))
    )
    register = st.tuples(st.just("register"), later, st.tuples(names, texts))
    step = st.one_of(
        *[chunk] * 6,
        *[register] * 3,
        st.tuples(st.just("tick"), st.integers(0, 9), st.none()),
        st.tuples(st.just("unregister"), later, names),
        st.tuples(st.just("pause"), later, names),
        told,
        st.tuples(st.just("background"), later, st.lists(st.one_of(data, schema), max_size=3)),
        st.tuples(st.just("rules"), later, st.sampled_from(RULES)),
    )
    steps = [draw(register), draw(register), *draw(st.lists(step, min_size=15, max_size=32))]
    log = [
        Entry(1, "stream", 0, A, payload=StreamRecord.draft(A, name="a", clock=clock, delay=2).payload),
        Entry(2, "stream", 0, B, payload=StreamRecord.draft(B, name="b", clock=clock, delay=0).payload),
        Entry(3, "background", 0, GRAPH, payload=Chunk.empty().to_ipc()),
        Entry(4, "rules", 0, "mine", payload=RULES[0].encode()),
    ]
    at, live = 0, {}
    for kind, delay, value in steps:
        at, subject, payload = at + delay, value, None
        match kind:
            case "register" if value[0] not in live:
                subject, written = value
                live[subject] = len(log) + 1, False
                payload = QueryRecord.draft(subject, text=written, base=None).payload
            case "unregister" if value in live:
                del live[value]
            case "pause" if value in live:
                id, paused = live[value]
                live[value], kind = (id, not paused), "resume" if paused else "pause"
                payload = json.dumps({"id": id}).encode()
            case "register" | "unregister" | "pause":
                continue
            case "chunk":
                stream, elements = value
                made = Chunk.from_triples(
                    [triple for triple, _ in elements], [Chunk.UNSTAMPED if t is None else at + t for _, t in elements]
                )
                log.append(
                    Entry(
                        len(log) + 1, kind, at, stream, len(made), made.first, made.last, made.unstamped, made.to_ipc()
                    )
                )
                continue
            case "tick":
                subject = None if clock == "arrival" else A
            case "background":
                subject, payload = GRAPH, Chunk.from_triples(value).to_ipc()
            case "rules":
                subject, payload = "mine", value.encode()
        log.append(Entry(len(log) + 1, kind, at, subject, payload=payload))
        at += kind == "tick"
    return log


def alone(log: list[Entry], registered: Entry) -> list[Entry]:
    """The log without the other queries."""
    life = [
        entry
        for entry in log
        if entry.kind in REGISTRY and entry.subject == registered.subject and entry.seq >= registered.seq
    ]
    ends = [entry.seq for entry in life if entry.kind == "unregister"] or [len(log) + 1]
    own = {entry.seq for entry in life if entry.seq <= ends[0]}
    return [entry for entry in log if entry.kind not in REGISTRY or entry.seq in own]


def fed(log: list[Entry]) -> list[Message]:
    """What the group says, row by row."""
    groups: dict[str, Group] = {}
    return [one for row in routed(log) for one in groups.setdefault(row.group, Group(row.group)).feed([row])]


def at(limits: dict[str, float]) -> mock._patch:
    return mock.patch.multiple(semijoin_filter, **limits)


def equal_to_those_alone(told: list[Message], log: list[Entry]) -> None:
    for registered in [entry for entry in log if entry.kind == "register"]:
        mine = [one for one in told if one.query == registered.seq]
        assert mine == fed(alone(log, registered)), json.loads(registered.payload)["text"]


limits = st.fixed_dictionaries(
    {
        "MOST_PATTERNS": st.sampled_from([1, 2, 3, 3, 5, 8, 32]),
        "LOOKED": st.sampled_from([0, 3, 12, 50_000]),
        "WORTH": st.sampled_from([0.3, 0.9]),
    }
)


@given(logs(), limits)
@law(max_examples=examples(16))
def test_who_else_is_there_cannot_be_seen_in_the_answers(log: list[Entry], limited: dict[str, float]) -> None:
    with at(limited):
        told = fed(log)
    equal_to_those_alone(told, log)


@given(logs(), limits, st.data())
@law(max_examples=examples(10))
def test_nor_when_the_group_comes_back_from_its_state(
    log: list[Entry], limited: dict[str, float], drawn: st.DataObject
) -> None:
    states: dict[str, DictState] = {}
    held: dict[str, StoredGroup] = {}
    told: list[Message] = []
    with at(limited):
        for row in routed(log):
            state = states.setdefault(row.group, DictState())
            warm = held.pop(row.group, None) if drawn.draw(st.integers(0, 5), label="warm") else None
            group = held[row.group] = restore(row.group, state, warm)
            told += group.feed([row])
            save(group, state)
    equal_to_those_alone(told, log)


@pytest.mark.parametrize("window", ["RANGE 30ms STEP 10ms", "RANGE 10ms STEP 1ms"])
def test_what_the_others_look_at_still_is_not_seen_by_who_comes_later(window: str) -> None:
    """
        0         5         10   12
    ────┼─────────a─────────┤    │        the first query: RANGE 10ms STEP 10ms; another one comes at 12
    At 10 no window will see a again, and so the content forgets it. The graph that the first query has looked at is
    moved only when somebody asks, and holds it still.
    """

    def asked(name: str, window: str) -> Entry:
        text = f"REGISTER QUERY q AS SELECT ?s FROM STREAM <{A}> [{window}] WHERE {{ ?s <urn:p> ?o }}"
        return Entry(0, "register", 0, name, payload=QueryRecord.draft(name, text=text, base=None).payload)

    chunk = Chunk.from_triples([("<urn:a>", "<urn:p>", "<urn:b>")])
    lines = [
        Entry(0, "stream", 0, A, payload=StreamRecord.draft(A, name="a", clock="arrival", delay=0).payload),
        asked("q", "RANGE 10ms STEP 10ms"),
        Entry(0, "chunk", 5, A, 1, None, None, 1, chunk.to_ipc()),
        Entry(0, "tick", 10),
        replace(asked("r", window), at=12),
        Entry(0, "tick", 14),
        Entry(0, "tick", 20),
    ]
    log = [replace(entry, seq=seq) for seq, entry in enumerate(lines, 1)]
    told = fed(log)
    assert {(one.query, one.instant): one.rows for one in told if one.instant in (10, 14, 20)} == {
        (2, 10): 1,
        (2, 20): 0,
        (5, 20): 0,
        **({(5, 14): 0} if window.endswith(" 1ms") else {}),
    }
    equal_to_those_alone(told, log)


def test_what_is_read_passes_the_limit_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the laws above rest on: who reads much turns the waiting off for the others, until that query goes and
    half as much is read as may be."""
    sides: list[int | None] = []

    def narrow(groups: Iterable[tuple[Pattern, ...]]) -> semijoin_filter.Groups | None:
        found = semijoin_filter.narrow(groups)
        sides.append(None if found is None else sum(map(len, found)))
        return found

    monkeypatch.setattr(closures, "narrow", narrow)
    monkeypatch.setattr(semijoin_filter, "MOST_PATTERNS", 4)

    def asked(name: str, body: str) -> Entry:
        text = f"REGISTER QUERY q AS SELECT * FROM STREAM <{A}> [RANGE 20ms STEP 1ms] FROM <{GRAPH}> WHERE {{ {body} }}"
        return Entry(0, "register", 0, name, payload=QueryRecord.draft(name, text=text, base=None).payload)

    def pushed(*nodes: str) -> Entry:
        chunk = Chunk.from_triples([tuple(f"<urn:{node}>" for node in nodes)])
        return Entry(0, "chunk", 0, A, len(chunk), None, None, len(chunk), chunk.to_ipc())

    background = Entry(0, "background", 0, GRAPH, payload=Chunk.empty().to_ipc())
    lines = [
        Entry(0, "stream", 0, A, payload=StreamRecord.draft(A, name="a", clock="arrival", delay=0).payload),
        background,
        asked("few", "?s <urn:p> ?o . ?o <urn:q> ?x"),
        pushed("a", "p", "b"),
        pushed("b", "r", "c"),
        asked("many", "?s <urn:p> ?o . ?o <urn:r> ?x . ?x <urn:q> ?y"),
        pushed("c", "p", "d"),
        pushed("d", "p", "d"),
        Entry(0, "unregister", 0, "many"),
        pushed("d", "q", "c"),
        background,
        pushed("d", "r", "c"),
        pushed("b", "q", "c"),
        asked("one", "?s <urn:r> ?o"),
        pushed("a", "a", "a"),
        pushed("a", "a", "a"),
    ]
    log = [replace(entry, seq=seq, at=seq) for seq, entry in enumerate(lines, 1)]
    told = fed(log)
    # Looked at when a graph is made (for the first, the second, after that one has gone, for the background, for the
    # last), and when somebody goes.
    assert sides == [2, None, 2, 2, 2, 3]
    assert {one.query for one in told} == {3, 6, 14}
    equal_to_those_alone(told, log)
