from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.language import parse
from csparql_spark.language.queries.compiled import VERSION
from csparql_spark.language.queries.query_cache import compiled_of
from csparql_spark.log import Entry
from csparql_spark.schedule.routing import UNREADABLE, Router, Row, group_key
from csparql_spark.store import QueryRecord
from csparql_spark.windows.grid import Grid
from tests.engine.asked import Asked, Seen
from tests.engine.logs import by_hand, entries, law, logs
from tests.engine.naive import Logged
from tests.engine.running import routed, routed_between
from tests.examples import examples

TRIPLE = ("<urn:s>", "<urn:p>", "<urn:o>")


def asked(stream: str = "urn:a", graphs: tuple[str, ...] = (), step: int = 1000) -> Asked:
    return Asked.over(stream, 1000, step, ("s",), (("?s", "?p", "?o"),), graphs=graphs)


def key(query: Asked) -> str:
    return group_key(parse(query.text))


def gone(log: list[Entry]) -> list[tuple[int, str, str]]:
    """Where the rows of a log went: (seq, kind, group)."""
    return [(row.seq, row.kind, row.group) for row in routed(log)]


def test_queries_with_the_same_streams_and_graphs_meet_whatever_else_they_say() -> None:
    a = key(asked())
    assert key(asked(step=7)) == key(Asked.over("urn:a", 9, 3, (), (("<urn:x>", "?p", "?o"),), distinct=True)) == a
    others = [asked("urn:e"), asked(graphs=("urn:g",)), asked(graphs=("urn:g", "urn:h")), asked("urn:e", ("urn:g",))]
    assert len({a, *map(key, others)}) == 5
    assert key(asked(graphs=("urn:h", "urn:g", "urn:h"))) == key(asked(graphs=("urn:g", "urn:h")))


def test_the_key_of_a_group_is_for_ever() -> None:
    assert key(asked()) == "b2daef09a01f70e2"  # it names state on disk


def test_chunks_go_to_the_groups_that_read_their_stream() -> None:
    log = by_hand(
        (0, "chunk", "urn:a", []),
        (0, "register", "q", asked()),
        (0, "register", "r", asked()),
        (0, "register", "s", asked(graphs=("urn:g",))),
        (0, "register", "t", asked("urn:e")),
        (0, "chunk", "urn:a", []),
        (0, "chunk", "urn:e", []),
        (0, "chunk", "urn:f", []),
    )
    a, g, e = key(asked()), key(asked(graphs=("urn:g",))), key(asked("urn:e"))
    assert gone(log) == [
        (5, "register", a),
        (6, "register", a),
        (7, "register", g),
        (8, "register", e),
        (9, "chunk", a),
        (9, "chunk", g),
        (10, "chunk", e),
    ]


def test_ticks_go_to_the_groups_whose_clock_they_move() -> None:
    log = by_hand(
        (0, "register", "q", asked()),
        (0, "register", "r", asked("urn:e")),
        (5, "tick", None),
        (5, "tick", "urn:e"),
        (5, "tick", "urn:f"),
    )
    a, e = key(asked()), key(asked("urn:e"))
    assert gone(log)[2:] == [(6, "tick", a), (7, "tick", e)]


def test_background_goes_to_the_groups_that_read_it_and_again_to_each_that_begins() -> None:
    query, other = asked(graphs=("urn:g",)), asked("urn:e", ("urn:g", "urn:h"))
    g, h = key(query), key(other)
    log = by_hand(
        (0, "background", "urn:g", [TRIPLE]),
        (0, "register", "q", query),
        (0, "background", "urn:g", []),
        (0, "register", "r", query),
        (0, "register", "s", other),
        (0, "background", "urn:h", []),
    )
    assert gone(log) == [
        (5, "register", g),
        (4, "background", g),
        (6, "background", g),
        (7, "register", g),
        (6, "background", g),
        (8, "register", h),
        (6, "background", h),
        (9, "background", h),
    ]


def test_after_its_end_a_query_gets_nothing() -> None:
    log = by_hand(
        (0, "register", "q", asked()),
        (0, "unregister", "q", None),
        (0, "chunk", "urn:a", []),
        (0, "unregister", "q", None),
        (0, "tick", None),
        (0, "register", "q", asked("urn:e")),
        (0, "chunk", "urn:a", []),
        (0, "chunk", "urn:e", []),
    )
    a, e = key(asked()), key(asked("urn:e"))
    assert gone(log) == [(4, "register", a), (5, "unregister", a), (9, "register", e), (11, "chunk", e)]


def test_a_row_says_what_its_entry_says() -> None:
    log = by_hand(
        (5, "register", "q", asked("urn:f")), (7, "chunk", "urn:f", [(TRIPLE, 9)]), (8, "unregister", "q", None)
    )
    register, chunk, unregister = routed(log)
    group = key(asked("urn:f"))
    assert chunk == Row(group, 0, 5, "chunk", 7, "urn:f", log[4].payload)
    assert register[:6] == (group, 0, 4, "register", 5, "q")
    told = json.loads(register.payload)
    assert told.pop("compiled") == json.loads(log[3].payload)["compiled"]
    assert told == {
        "id": 4,
        "name": "q",
        "text": asked("urn:f").text,
        "base": None,
        "clocks": {"urn:f": {"kind": "event", "delay": 4}},
    }
    assert unregister[:6] == (group, 0, 6, "unregister", 8, "q") and json.loads(unregister.payload) == {"id": 4}


def test_a_stream_has_the_clock_of_its_newest_making() -> None:
    log = entries(
        [
            Logged(1, 0, "stream", "urn:a", ("event", 5)),
            Logged(2, 0, "drop", "urn:a"),
            Logged(3, 0, "stream", "urn:a", ("arrival", 0)),
        ]
    )
    router = Router()
    seen = [router.clock("urn:a")]
    for entry in log:
        assert router.route(entry) == []
        seen.append(router.clock("urn:a"))
    arrival, event = {"kind": "arrival", "delay": 0}, {"kind": "event", "delay": 5}
    assert seen == [arrival, event, arrival, arrival]


def test_what_it_knows_of_a_query() -> None:
    router = Router()
    (entry,) = by_hand((0, "register", "q", asked("urn:e", ("urn:g",), 250)))[3:]
    router.route(entry)
    routed = router.queries["q"]
    assert (routed.id, routed.streams, routed.graphs, routed.grid) == (4, ("urn:e",), ("urn:g",), Grid((250,)))
    assert router.seq == 4


COUNTS, TIME = Seen("urn:a", 9, 3, "TRIPLES"), Seen("urn:e", 8, 4)


@pytest.mark.parametrize(
    "windows, every, grid, counts",
    [
        ((COUNTS,), None, None, True),
        ((COUNTS, TIME), None, Grid((4,)), True),
        ((TIME,), None, Grid((4,)), False),
        ((COUNTS,), 7, Grid((7,)), False),
        ((COUNTS, TIME), 7, Grid((7,)), False),
    ],
)
def test_which_instants_a_query_has(
    windows: tuple[Seen, ...], every: int | None, grid: Grid | None, counts: bool
) -> None:
    router = Router()
    query = Asked(windows, ("s",), (("?s", "?p", "?o"),), every=every)
    router.route(by_hand((0, "register", "q", query))[3])
    assert (router.queries["q"].grid, router.queries["q"].counts) == (grid, counts)


def test_queries_over_the_same_streams_meet_whatever_their_windows() -> None:
    patterns = (("?s", "?p", "?o"),)
    both = [Asked(windows, (), patterns) for windows in ((COUNTS, TIME), (TIME, COUNTS), (TIME, Seen("urn:a", 1, 1)))]
    assert len({key(query) for query in both}) == 1
    # What is merged into the default graph is closed with the windows, what has a name is not: two groups.
    named = Asked((TIME,), (), patterns, graphs=("urn:g",), named=("urn:h",))
    assert (
        len(
            {
                key(named),
                key(Asked((TIME,), (), patterns, graphs=("urn:h", "urn:g"))),
                key(Asked((TIME,), (), patterns, graphs=("urn:g",))),
            }
        )
        == 3
    )


def test_each_stream_and_each_tick_reaches_a_query_over_several() -> None:
    query = Asked((COUNTS, TIME), (), (("?s", "?p", "?o"),))
    log = by_hand(
        (0, "register", "q", query),
        (0, "chunk", "urn:a", []),
        (0, "chunk", "urn:e", []),
        (0, "chunk", "urn:f", []),
        (5, "tick", None),
        (5, "tick", "urn:e"),
        (5, "tick", "urn:f"),
    )
    assert [(seq, kind) for seq, kind, _ in gone(log)] == [
        (4, "register"),
        (5, "chunk"),
        (6, "chunk"),
        (8, "tick"),
        (9, "tick"),
    ]


@pytest.mark.parametrize("text", ["", "SELECT", "REGISTER QUERY q AS SELECT ?s FROM STREAM <urn:a> WHERE { ?s ?p ?o }"])
def test_a_text_that_cannot_be_read_goes_where_that_is_told(text: str) -> None:
    router = Router()
    made = Entry(1, "register", 0, "q", payload=json.dumps({"text": text, "base": None}).encode())
    assert [(row.group, row.seq) for row in router.route(made)] == [(UNREADABLE, 1)]
    for other in (Entry(2, "chunk", 0, "urn:a"), Entry(3, "tick", 0), Entry(4, "background", 0, "urn:g")):
        assert router.route(other) == []
    assert [row.group for row in router.route(Entry(5, "unregister", 0, "q"))] == [UNREADABLE]


def test_an_unknown_kind_is_no_secret() -> None:
    with pytest.raises(ValueError, match="the log holds an entry of the unknown kind 'ask'"):
        Router().route(Entry(1, "ask", 0))


@given(logs)
@law(max_examples=examples(40))
def test_rows_are_a_function_of_the_log_wherever_the_router_begins(log: list[Logged]) -> None:
    written = entries(log)
    whole = routed(written)
    for cut in (1, 4):
        assert [
            row for start in range(0, len(written), cut) for row in routed_between(written, start, start + cut)
        ] == whole


def readers(router: Router, entry: Entry) -> set[str]:
    """The groups that an entry goes to, found by looking at each query."""
    wanted = {
        "chunk": lambda query: entry.subject in query.streams,
        "rules": lambda query: entry.subject in query.entailment,
        "background": lambda query: entry.subject in query.graphs,
        "tick": lambda query: (
            entry.subject in query.streams
            if entry.subject is not None
            else any(router.clock(stream)["kind"] == "arrival" for stream in query.streams)
        ),
    }[entry.kind]
    return {query.group for query in router.queries.values() if wanted(query)}


@given(logs)
@law(max_examples=examples(60))
def test_who_reads_what_is_counted(log: list[Logged]) -> None:
    router = Router()
    for entry in entries(log):
        rows = router.route(entry)
        if entry.kind in ("chunk", "tick", "background", "rules"):
            groups = [row.group for row in rows]
            assert len(groups) == len(set(groups)) and set(groups) == readers(router, entry)


@given(logs, st.integers(1, 9))
@law(max_examples=examples(60))
def test_a_batch_has_a_background_once_for_each_group(log: list[Logged], cut: int) -> None:
    written = entries(log)
    for start in range(0, len(written), cut):
        every, batch = routed_between(written, start, start + cut), routed_between(written, start, start + cut, set())
        seen: set[tuple[str, int]] = set()
        # Entries come to a group once; background and rules may come again.
        assert batch == [
            row for row in every if (row.group, row.seq) not in seen and seen.add((row.group, row.seq)) is None
        ]


def test_a_registration_says_the_same_with_a_compiled_form_of_any_version_and_without_one() -> None:
    query, text = parse(asked("urn:f").text), asked("urn:f").text
    forms = [None, compiled_of(query), {**compiled_of(query), "version": VERSION - 1, "windows": []}]
    found = []
    for form in forms:
        router = Router()
        (row,) = router.route(
            Entry(4, "register", 5, "q", payload=QueryRecord.draft("q", text=text, base=None, compiled=form).payload)
        )
        told = json.loads(row.payload)
        assert told.pop("compiled", None) == form
        found.append((row._replace(payload=None), told, router.queries))
    assert found[0] == found[1] == found[2]
    assert found[0][1] == {
        "id": 4,
        "name": "q",
        "text": text,
        "base": None,
        "clocks": {"urn:f": {"kind": "arrival", "delay": 0}},
    }
