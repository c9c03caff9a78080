"""An entry that is damaged: who would have had to read it fails with its sentence, and nobody else hears of it."""

from __future__ import annotations

import dataclasses

import pytest

from csparql_spark.asking.replay import answer
from csparql_spark.engine.group import Group
from csparql_spark.engine.group_state import StoredGroup, restore, save
from csparql_spark.engine.messages import InstantAnswer, Message, QueryFailure
from csparql_spark.log import Draft, Entry
from csparql_spark.rdf.formats import RdfFormat, parse_push
from csparql_spark.schedule.routing import DAMAGED, UNREADABLE, in_order
from csparql_spark.store import QueryRecord, StreamRecord
from tests.engine.running import DictState, in_one_go, routed_between, router_of

A, B = "urn:a", "urn:b"
WAY = "delete the query and register it again"


def stream(iri: str) -> Draft:
    return StreamRecord.draft(iri, name=iri, clock="arrival", delay=0)


def query(name: str, iri: str) -> Draft:
    text = f"REGISTER QUERY {name} AS SELECT ?s FROM STREAM <{iri}> [RANGE 10s STEP 10s] WHERE {{ ?s ?p ?o }}"
    return QueryRecord.draft(name, text=text, base=None)


def chunk(iri: str, subject: str, kind: str = "chunk") -> Draft:
    return Draft(
        kind,
        iri,
        parse_push(
            f"<urn:{subject}> <urn:p> <urn:o> .".encode(), RdfFormat.N_TRIPLES, base=None, blank_prefix="b."
        ).to_ipc(),
        rows=1,
    )


def tick(at: int) -> Draft:
    return Draft("tick", at=at)


def log_of(*drafts: Draft, damaged: int, unknown: bool = False) -> list[Entry]:
    """A log in which the entry at a place is damaged; `unknown`: so that nobody can tell whom it concerned."""
    log, at = [], 0
    for seq, draft in enumerate(drafts, 1):
        at = draft.at if draft.kind == "tick" else at + 1
        log.append(Entry(seq, draft.kind, at, draft.subject, draft.rows, draft.first, draft.last, 0, draft.payload))
    lost = dataclasses.replace(log[damaged - 1], payload=None, damage="the sentence")
    log[damaged - 1] = Entry(damaged, "damaged", lost.at, damage="the sentence") if unknown else lost
    return log


def told_in_one_batch(log: list[Entry]) -> list[Message]:
    """As `answer`, with all rows of a group in one batch, in the order in which a processor takes them, and in which
    Spark may have brought them."""
    rows = in_order(reversed(routed_between(log, 0, len(log), set())))
    return [
        told
        for key in dict.fromkeys(row.group for row in rows)
        for told in Group(key).feed(row for row in rows if row.group == key)
    ]


def said(log: list[Entry]) -> dict[int, list[tuple[int, int, str | None]]]:
    """What each query says: instant, rows, and the reason if it is that it fails."""
    found: dict[int, list[tuple[int, int, str | None]]] = {}
    told_one_by_one = list(answer(log))
    assert sorted(told_in_one_batch(log)) == sorted(told_one_by_one)
    for told in told_one_by_one:
        rows, reason = (0, told.reason) if isinstance(told, QueryFailure) else (told.rows, None)
        found.setdefault(told.query, []).append((told.instant, rows, reason))
    return found


LOST = f"the sentence; {WAY}: it goes on with what comes then"
SCENE = (
    stream(A),
    stream(B),
    query("qa", A),
    query("qb", B),
    chunk(A, "1"),
    chunk(B, "1"),
    tick(10_000),
    query("later", A),
    chunk(A, "2"),
    tick(20_000),
)


def test_a_chunk_concerns_those_who_read_its_stream_and_were_there() -> None:
    assert said(log_of(*SCENE, damaged=5)) == {
        3: [(5, 0, LOST)],
        4: [(10_000, 1, None), (20_000, 0, None)],
        8: [(20_000, 1, None)],
    }


def test_what_was_answered_before_stands() -> None:
    assert said(log_of(*SCENE, damaged=9)) == {
        3: [(10_000, 1, None), (10_002, 0, LOST)],
        4: [(10_000, 1, None), (20_000, 0, None)],
        8: [(10_002, 0, LOST)],
    }


def test_what_nobody_can_tell_concerns_all_who_were_there() -> None:
    assert said(log_of(*SCENE, damaged=5, unknown=True)) == {
        3: [(5, 0, LOST)],
        4: [(5, 0, LOST)],
        8: [(20_000, 1, None)],
    }


def test_a_registration_concerns_its_query() -> None:
    assert said(log_of(*SCENE, damaged=3)) == {
        3: [(3, 0, f"the sentence; {WAY}")],
        4: [(10_000, 1, None), (20_000, 0, None)],
        8: [(20_000, 1, None)],
    }


def test_a_stream_concerns_those_who_come_to_read_it() -> None:
    assert said(log_of(*SCENE, damaged=1)) == {
        3: [(3, 0, f"the sentence; {WAY}")],
        4: [(10_000, 1, None), (20_000, 0, None)],
        8: [(10_001, 0, f"the sentence; {WAY}")],
    }


def test_what_nobody_can_tell_concerns_those_who_read_what_was_never_made_as_far_as_is_known() -> None:
    """It was their stream, or their graph: without it they would have another clock, or nothing to read."""
    lost = f"the sentence; {WAY}"
    assert said(log_of(*SCENE, damaged=1, unknown=True)) == {
        3: [(3, 0, lost)],
        4: [(10_000, 1, None), (20_000, 0, None)],
        8: [(10_001, 0, lost)],
    }
    text = f"REGISTER QUERY g AS SELECT ?s FROM <urn:g> FROM STREAM <{A}> [RANGE 10s STEP 10s] WHERE {{ ?s ?p ?o }}"
    log = log_of(
        stream(A),
        chunk("urn:g", "g", "background"),
        QueryRecord.draft("g", text=text, base=None),
        query("q", A),
        tick(10_000),
        damaged=2,
        unknown=True,
    )
    assert said(log) == {3: [(3, 0, lost)], 4: [(10_000, 0, None)]}


def test_what_is_passed_over_concerns_nobody() -> None:
    log = log_of(*SCENE, damaged=5)
    log[4] = Entry(5, "skipped", 5)
    assert said(log) == {
        3: [(10_000, 0, None), (20_000, 1, None)],
        4: [(10_000, 1, None), (20_000, 0, None)],
        8: [(20_000, 1, None)],
    }


@pytest.mark.parametrize(
    "kind, sets, uses, way",
    [
        ("background", chunk("urn:g", "g", "background"), "FROM <urn:g>", "set the graph again"),
        (
            "rules",
            Draft("rules", "lab", b"[r: (?x <urn:p> ?y) -> (?y <urn:p> ?x)]"),
            "USING ENTAILMENT lab",
            "set the rules again",
        ),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_graph_or_a_rule_set_concerns_those_who_use_it_until_it_is_set_again(
    kind: str, sets: Draft, uses: str, way: str, first: bool
) -> None:
    def using(name: str) -> Draft:
        source, rules = (uses, "") if kind == "background" else ("", uses)
        text = (
            f"REGISTER QUERY {name} AS SELECT ?s {source} FROM STREAM <{A}> [RANGE 10s STEP 10s] {rules} "
            "WHERE { ?s ?p ?o }"
        )
        return QueryRecord.draft(name, text=text, base=None)

    before = [stream(A), query("other", A), *([sets, using("q")] if first else [using("q"), sets])]
    log = log_of(*before, tick(10_000), using("late"), sets, using("again"), tick(20_000), damaged=3 if first else 4)
    found = said(log)
    lost = f"the sentence; {way}, {WAY}"
    assert found[2] == [(10_000, 0, None), (20_000, 0, None)]
    assert found[4 if first else 3] == [(3 if first else 4, 0, lost)]
    assert found[6] == [(3 if first else 4, 0, lost)]
    assert [(instant, reason) for instant, _, reason in found[8]] == [(20_000, None)]


def test_who_has_read_it_before_it_was_damaged_goes_on() -> None:
    """A worker keeps the graph; a query that comes to its group is sent it again, and it cannot be read any more."""
    graph = chunk("urn:g", "g", "background")
    text = f"REGISTER QUERY q AS SELECT ?s FROM <urn:g> FROM STREAM <{A}> [RANGE 10s STEP 10s] WHERE {{ ?s ?p ?o }}"
    drafts = [
        stream(A),
        graph,
        QueryRecord.draft("q", text=text, base=None),
        tick(10_000),
        QueryRecord.draft("late", text=text.replace("QUERY q", "QUERY late"), base=None),
        tick(20_000),
    ]
    damaged = log_of(*drafts, damaged=2)
    whole = [dataclasses.replace(entry, payload=drafts[entry.seq - 1].payload, damage=None) for entry in damaged]
    state, told = DictState(), []
    for log, start, end in ((whole, 0, 4), (damaged, 4, 6)):
        rows = routed_between(log, start, end)
        group = restore(rows[0].group, state)
        told += group.feed(rows)
        save(group, state)
    assert [(one.query, one.instant, one.part, one.rows) for one in told] == [
        (3, 10_000, 0, 1),
        (3, 20_000, 0, 1),
        (5, 20_000, 0, 1),
    ]


def test_a_query_whose_registration_is_damaged_after_it_was_read_says_nothing_more() -> None:
    """Its group goes on because of another query. Nobody can tell any more which group it was: all are told."""
    drafts = [stream(A), query("other", A), query("q", A), tick(10_000), query("later", B), tick(20_000)]
    damaged = log_of(*drafts, damaged=3)
    whole = [dataclasses.replace(entry, payload=drafts[entry.seq - 1].payload, damage=None) for entry in damaged]
    router = router_of(damaged)
    lost = [row for entry in damaged[:5] for row in router.route(entry) if row.kind == DAMAGED]
    states: dict[str, DictState] = {}
    told = []
    for rows in (
        routed_between(whole, 0, 5),
        [row for one in lost for row in router.everywhere(one)],
        routed_between(damaged, 5, 6),
    ):
        for key in dict.fromkeys(row.group for row in rows):
            group = restore(key, states.setdefault(key, DictState()))
            told += group.feed(row for row in rows if row.group == key)
            save(group, states[key])
    said: dict[int, list[tuple[int, int]]] = {}
    for one in told:
        said.setdefault(one.query, []).append((one.instant, type(one)))
    assert said == {
        2: [(10_000, InstantAnswer), (20_000, InstantAnswer)],
        3: [(10_000, InstantAnswer), (3, QueryFailure)],
        5: [(20_000, InstantAnswer)],
    }


def test_it_fails_in_the_same_way_in_whatever_batches() -> None:
    log = log_of(*SCENE, damaged=5)
    whole = in_one_go(log)
    for cut in range(len(log)):
        states: dict[str, DictState] = {}
        told: dict[str, list[Message]] = {}
        for start, end in ((0, cut), (cut, len(log))):
            rows = routed_between(log, start, end)
            for key in dict.fromkeys(row.group for row in rows):
                group: StoredGroup = restore(key, states.setdefault(key, DictState()))
                told.setdefault(key, []).extend(group.feed(row for row in rows if row.group == key))
                save(group, states[key])
        assert told == dict(whole)
    assert UNREADABLE not in whole
