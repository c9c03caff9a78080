"""What a query sees at an instant is the same whoever says it: the engine by its answer, `/sparql`, why, missing and
the naive twin by the graphs themselves."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Result
from csparql_spark.asking.missing import looked
from csparql_spark.asking.one_shot import Question, ask
from csparql_spark.asking.why import reasons
from csparql_spark.engine.messages import QueryFailure
from csparql_spark.entailment.rules.regimes import rules_of
from csparql_spark.language import parse
from csparql_spark.log import Entry
from csparql_spark.store import QueryRecord
from tests.asking.logged import current
from tests.engine.asked import Asked, Seen
from tests.engine.logs import GRAPHS, ONE, STREAMS, entries, law, logs
from tests.engine.naive import Graphs, Logged, Look, looks_of, solutions
from tests.engine.running import in_one_go
from tests.examples import examples

RULES = "[chain: (?a <urn:p> ?b) (?b <urn:q> ?c) -> (?a <urn:p> ?c)] [back: (?a <urn:q> ?b) -> (?b <urn:q> ?a)]"
NODES = ("<urn:a>", "<urn:b>", ONE)
TRIPLES = [(s, p, o) for s in NODES[:2] for p in ("<urn:p>", "<urn:q>") for o in NODES]
EVERYTHING = "SELECT ?g ?s ?p ?o FROM <urn:x> { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"


def compare(log: list[Logged]) -> int:
    """Compare what is said of all that the queries of a log look at; how many instants there were."""
    written = entries(log)
    answers = {(one.query, one.instant): one for told in in_one_go(written).values() for one in told}
    number = 0
    for entry in log:
        for look in looks_of(entry, log) if entry.kind == "register" else ():
            answer = answers.pop((entry.seq, look.instant))
            if isinstance(answer, QueryFailure):
                break
            number += 1
            compare_one(entry, written, look, Result.from_bytes(answer.payload))
    assert all(isinstance(one, QueryFailure) for one in answers.values())
    return number


def compare_one(registered: Logged, log: list[Entry], look: Look, answer: Result) -> None:
    asked: Asked = registered.value
    query = parse(asked.text)
    if asked.made is None and asked.stamped is None and asked.output == "RSTREAM":
        assert answer.table.rows() == solutions(asked, look.graphs)
    record = QueryRecord(registered.seq, registered.subject, registered.at, asked.text, None)
    rules = {"mine": asked.rules}
    for end in (look.place, len(log)):  # as the log stood then, and with all that came later
        watched = current(log[:end]).watched(record, query, look.instant)
        for window, held in zip(watched.windows, look.windows, strict=True):
            assert sorted(zip(window.triples(), window.t.tolist(), strict=True)) == sorted(held)
        assert sparql(watched, rules) == tuples(look.graphs)
    holding = {
        (reason.graph, *triple)
        for triple in TRIPLES
        for reason in reasons(
            query,
            rules_of(query.entailment, rules),
            look.instant,
            triple,
            lambda place: [watched.windows[place]],
            watched.graphs,
        )
    }
    assert holding == {row for row in tuples(look.graphs) if row[1:] in TRIPLES}
    missing = looked(watched, rules)
    assert missing.triples == sum(map(len, look.windows))
    if set(look.graphs) == {""}:
        for pattern in missing.patterns:
            nodes = tuple(pattern.text.split())
            assert pattern.matches == len(solutions(Asked(asked.windows, variables(nodes), (nodes,)), look.graphs))


def variables(nodes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(node[1:] for node in nodes if node[0] == "?"))


def sparql(watched: object, rules: dict[str, str]) -> set[tuple[str | None, str, str, str]]:
    """What `/sparql` says of all graphs of a query."""
    rows = ask(Question(EVERYTHING, watched={"urn:x": watched}, rules=rules)).table.rows()
    return {(row.get("g", "<>")[1:-1] or None, row["s"], row["p"], row["o"]) for row in rows}


def tuples(graphs: Graphs) -> set[tuple[str | None, str, str, str]]:
    return {(name[1:-1] or None, *triple) for name, triples in graphs.items() for triple in triples}


@given(logs, st.booleans())
@law(max_examples=examples(60))
def test_all_say_the_same_of_any_log(log: list[Logged], entails: bool) -> None:
    compare(under_rules(with_graphs(log)) if entails else with_graphs(log))


def with_graphs(log: list[Logged]) -> list[Logged]:
    """The same log, where the graphs are there from the beginning: who reads one that is not is not let in."""
    return begun(log, *(("background", graph, [triple("a", Q)]) for graph in GRAPHS))


def under_rules(log: list[Logged]) -> list[Logged]:
    """The same log, whose queries are asked under the rules: they are set where the first stream is made again."""
    log = [
        dataclasses.replace(entry, value=dataclasses.replace(entry.value, rules=RULES))
        if entry.kind == "register"
        else entry
        for entry in log
    ]
    return begun(log, ("rules", "mine", RULES))


def begun(log: list[Logged], *first: tuple[str, str, object]) -> list[Logged]:
    """The same log, in which this was set after the streams were made."""
    made, more = len(STREAMS), len(first)
    return [
        *log[:made],
        *(Logged(seq, 0, *line) for seq, line in enumerate(first, made + 1)),
        *(
            dataclasses.replace(
                entry,
                seq=entry.seq + more,
                **({"value": entry.value + more} if entry.kind in ("pause", "resume") else {}),
            )
            for entry in log[made:]
        ),
    ]


# --- one by one

P, Q = "<urn:p>", "<urn:q>"
ALL = (("?s", P, "?o"),)


def triple(s: str, p: str = P, o: str = "b") -> tuple[str, str, str]:
    return f"<urn:{s}>", p, f"<urn:{o}>"


def by_hand(asked: Asked, *lines: tuple, first: tuple[tuple, ...] = ()) -> list[Logged]:
    """A log of lines, after the streams were made; `first` come before the registration."""
    lines = (
        *((0, "stream", stream, clock) for stream, clock in STREAMS.items()),
        (0, "rules", "mine", RULES),
        *first,
        (0, "register", "q", asked),
        *lines,
    )
    return [Logged(seq, *line) for seq, line in enumerate(lines, 1)]


def chunk(stream: str, at: int, *elements: tuple[str, int]) -> tuple:
    return at, "chunk", stream, [(triple(s), t) for s, t in elements]


REGISTERED = 8  # the place of the registration
ORDERED = (
    chunk("urn:e", 1, ("a", 1), ("b", 2)),
    chunk("urn:e", 2, ("a", 4), ("b", 4)),
    chunk("urn:e", 3, ("a", 7)),
    chunk("urn:e", 4, ("b", 9), ("a", 13)),
)
LATE = (
    chunk("urn:e", 1, ("a", 5)),
    chunk("urn:e", 2, ("b", 9)),
    chunk("urn:e", 3, ("b", 3)),
    chunk("urn:e", 4, ("a", 13)),
)
SHUFFLED = (
    chunk("urn:e", 1, ("a", 6), ("b", 2)),
    chunk("urn:e", 2, ("a", 8), ("b", 1), ("a", 1)),
    chunk("urn:e", 3, ("b", 8), ("b", 3)),
    chunk("urn:e", 4, ("a", 14)),
)
PAUSED = (
    *ORDERED[:2],
    (3, "pause", "q", REGISTERED),
    ORDERED[2],
    (5, "resume", "q", REGISTERED),
    chunk("urn:e", 6, ("b", 15)),
    chunk("urn:e", 7, ("a", 19)),
)
CONTENTS = {
    "in order": ORDERED,
    "late": LATE,
    "shuffled": SHUFFLED,
    "paused": PAUSED,
    "silent": (
        (2, "tick", "urn:e"),
        chunk("urn:e", 3, ("a", 4), ("b", 5), ("a", 5)),
        (9, "tick", "urn:e"),
        (19, "tick", "urn:e"),
    ),
    "another graph": (ORDERED[0], (2, "background", "urn:g", [triple("a", Q, "a")]), *ORDERED[1:]),
}
E5 = Seen("urn:e", 5, 2)
QUERIES = {
    "a window": Asked((E5,), ("s", "o"), ALL),
    "tumbling": Asked((Seen("urn:e", 4, 4),), ("s", "o"), ALL),
    "two windows of one stream": Asked((E5, Seen("urn:e", 8, 3)), ("s", "o"), ALL),
    "as of different steps": Asked((E5, Seen("urn:e", 5, 3, name="urn:v")), ("s",), (("<urn:v>", *ALL[0]),)),
    "every": Asked((Seen("urn:e", 4, 4),), ("s", "o"), ALL, every=3),
    "a background": Asked((E5,), ("s", "o"), ALL, graphs=("urn:g",)),
    "a graph by its name": Asked((E5,), ("s",), (("<urn:h>", *ALL[0]),), graphs=("urn:g",), named=("urn:h",)),
    "a named window": Asked(
        (dataclasses.replace(E5, name="urn:v"),), ("s",), (("<urn:v>", *ALL[0]),), graphs=("urn:g",)
    ),
    "named and not": Asked(
        (E5, dataclasses.replace(E5, size=3, name="urn:v")),
        ("s",),
        (("<urn:v>", *ALL[0]),),
        graphs=("urn:g",),
        named=("urn:h",),
    ),
    "the last two": Asked((Seen("urn:e", 2, 2, "TRIPLES"),), ("s", "o"), ALL),
    "each the last three": Asked((Seen("urn:e", 3, 1, "TRIPLES"),), ("s", "o"), ALL, graphs=("urn:g",)),
    "with gaps": Asked((Seen("urn:e", 1, 3, "TRIPLES"),), ("s", "o"), ALL),
    "pushes": Asked((Seen("urn:e", 2, 2, "ELEMENTS", name="urn:v"),), ("s",), (("<urn:v>", *ALL[0]),)),
    "counting and not": Asked((Seen("urn:e", 3, 2, "TRIPLES"), E5), ("s", "o"), ALL),
    "counting, every": Asked((Seen("urn:e", 3, 2, "TRIPLES"),), ("s", "o"), ALL, every=4),
    "two clocks": Asked((E5, Seen("urn:a", 5, 5)), ("s", "o"), ALL),
}
BEFORE = (
    (0, "background", "urn:g", [triple("b", Q), triple("b", Q, "a")]),
    (0, "background", "urn:h", [triple("a")]),
    chunk("urn:e", 0, ("b", 3)),
)


@pytest.mark.parametrize("rules", ["", RULES], ids=["as it is", "under rules"])
@pytest.mark.parametrize("query, content", list(itertools.product(QUERIES, CONTENTS)))
def test_all_say_the_same(query: str, content: str, rules: str) -> None:
    asked = dataclasses.replace(QUERIES[query], rules=rules)
    lines = CONTENTS[content]
    if "urn:a" in asked.streams:
        lines = (*lines, (15, "chunk", "urn:a", [(triple("a"), None)]), (20, "tick", None))
    log = by_hand(asked, *lines, first=BEFORE)
    assert log[REGISTERED - 1].kind == "register" and compare(log)
