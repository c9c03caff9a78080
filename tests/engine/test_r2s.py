"""What has changed, told byte for byte as if whole answers were compared, however the group comes back from its state."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers import last_answer
from csparql_spark.answers.bindings import Result
from csparql_spark.engine import views
from csparql_spark.engine.group import Group
from csparql_spark.engine.group_state import StoredGroup, restore, save
from csparql_spark.engine.messages import InstantAnswer, Message
from csparql_spark.engine.state_keys import StateKey, ValueKind
from csparql_spark.log import Entry
from csparql_spark.rdf import dictionary
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.routing import Row
from csparql_spark.store import QueryRecord, StreamRecord
from tests.engine.logs import law
from tests.engine.running import DictState, routed, router_of
from tests.engine.test_company import fed, logs
from tests.examples import examples

SHAPES = tuple(
    f"SELECT {output} {asked}"
    for output in ("ISTREAM", "DSTREAM")
    for asked in (
        "?s ?o {} WHERE {{ ?s :p ?o }}",
        "?s {} WHERE {{ ?s :p ?o }}",
        "?s {} WHERE {{ ?s :p ?o . ?s :q ?x }}",
        "?s ?c {} WHERE {{ ?s :p ?o . ?s a ?c }}",
        "DISTINCT ?s {} WHERE {{ ?s ?p ?o FILTER (?o != :b) }}",
        "* {} WHERE {{ ?s :p ?o OPTIONAL {{ ?o :q ?x }} }}",
        "?s (COUNT(*) AS ?n) (SUM(?o) AS ?sum) {} WHERE {{ ?s :q ?o }} GROUP BY ?s",
        "* {} WHERE {{ ?s :p+ ?o }}",
        "?s ?unbound {} WHERE {{ {{ ?s :p ?o }} UNION {{ ?s :q ?o }} }}",
        "?s {} WHERE {{ ?s :p ?o }} ORDER BY DESC(?s) LIMIT 2",
    )
)


def by_whole_answers() -> mock._patch:
    return mock.patch.object(views, "by_rows", lambda plan: False)


def by_entry(log: list[Entry]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of each entry, which no two workers share."""
    router = router_of(log)
    for entry in log:
        rows = router.route(entry)
        for key in dict.fromkeys(row.group for row in rows):
            yield key, sorted((row for row in rows if row.group == key), key=lambda row: row.seq)


@given(logs(SHAPES), st.data())
@law(max_examples=examples(40))
def test_changes_are_the_difference_of_whole_answers(log: list[Entry], drawn: st.DataObject) -> None:
    """By two workers, each of which may be behind, or start cold."""
    with by_whole_answers():
        expected = fed(log)
    states: dict[str, DictState] = {}
    workers: tuple[dict[str, StoredGroup], dict[str, StoredGroup]] = {}, {}
    told: list[Message] = []
    # Ids change their meaning often, and changes are written whole again late.
    with (
        mock.patch.object(dictionary, "SPARE", 2),
        mock.patch.object(last_answer, "MOST", drawn.draw(st.sampled_from([0, 2, 100]), label="changes")),
    ):
        for key, rows in by_entry(log):
            state = states.setdefault(key, DictState())
            held = workers[drawn.draw(st.sampled_from([0, 0, 0, 1]), label="worker")]
            warm = held.pop(key, None) if drawn.draw(st.integers(0, 5), label="warm") else None
            group = held[key] = restore(key, state, warm)
            told += group.feed(rows)
            save(group, state)
    assert told == expected


@pytest.mark.parametrize("output", ["ISTREAM", "DSTREAM"])
@pytest.mark.parametrize("back_at", range(2, 9))
def test_a_row_that_holds_longer_has_not_changed(output: str, back_at: int) -> None:
    """
          1   2   3   4   5   6   7
    ──────a───┼───a───┼───┼───┼───┼──▶    RANGE 4ms STEP 1ms
          until 5 └── until 7             new at 1, ceased at 7, also if a worker starts cold in between
    """
    group = group_of(
        f"REGISTER QUERY q AS SELECT {output} ?s FROM STREAM <urn:s> [RANGE 4ms STEP 1ms] WHERE {{ ?s <urn:p> ?o }}"
    )
    state, told = DictState(), {}
    a = Chunk.from_triples([("<urn:a>", "<urn:p>", '"1"')])
    steps = [
        ("chunk", 1, a),
        ("tick", 1, None),
        ("tick", 2, None),
        ("chunk", 3, a),
        *(("tick", at, None) for at in range(3, 9)),
    ]
    for seq, (kind, at, chunk) in enumerate(steps, 3):
        if kind == "tick" and at == back_at:
            group = restore("key", state)
        row = Row("key", 0, seq, kind, at, "urn:s" if chunk else None, chunk and chunk.to_ipc())
        told |= {one.instant: one.rows for one in group.feed([row]) if isinstance(one, InstantAnswer)}
        save(group, state)
    changed = 1 if output == "ISTREAM" else 7
    assert {instant for instant, rows in told.items() if rows} == {changed} and max(told) == 8


def group_of(text: str) -> StoredGroup:
    """A group with one query, 2, over `urn:s`."""
    group = StoredGroup("key")
    stream = StreamRecord.draft("urn:s", name="s", clock="arrival", delay=0)
    log = [
        Entry(1, "stream", 0, "urn:s", payload=stream.payload),
        Entry(2, "register", 0, "q", payload=QueryRecord.draft("q", text=text, base=None).payload),
    ]
    for row in routed(log):
        list(group.feed([row]))
    return group


def step(group: Group, number: int, rows: int = 100) -> Message:
    """So many new rows, and the instant after them."""
    made = Chunk.from_triples([(f"<urn:{number}-{n}>", "<urn:p>", '"1"') for n in range(rows)])
    at = 1000 * number
    rows = (
        Row("key", 0, 2 * number + 3, "chunk", at + 500, "urn:s", made.to_ipc()),
        Row("key", 0, 2 * number + 4, "tick", at + 1000, None, None),
    )
    told = [one for row in rows for one in group.feed([row]) if isinstance(one, InstantAnswer)]
    return told[-1]


ISTREAM = "REGISTER QUERY q AS SELECT ISTREAM ?s FROM STREAM <urn:s> [RANGE 10s STEP 1s] WHERE { ?s <urn:p> ?o }"


def test_what_is_kept_after_an_instant_is_what_has_changed() -> None:
    """
    RANGE 10s STEP 1s, 100 rows a second: 1,000 in the window, 100 come and 100 go
    ──│──│──│──│──│──│──│──│──│──│──│──│──▶
      w  w     w     (whole, while changes are more than half of it)      c  c  c  c  c   then whole again
    """
    group, state, written = group_of(ISTREAM), DictState(), []
    put = state.put

    def noted(name: StateKey, value: bytes) -> None:
        if name.kind in (ValueKind.LAST_ANSWER, ValueKind.CHANGES):
            written.append((name.kind, len(value)))
        put(name, value)

    state.put = noted
    for number in range(30):
        assert step(group, number).rows == 100
        save(group, state)
    wholes = [size for kind, size in written[12:] if kind is ValueKind.LAST_ANSWER]
    changes = [size for kind, size in written[12:] if kind is ValueKind.CHANGES]
    assert len(changes) >= 3 * len(wholes) > 0 and max(changes) < min(wholes) / 3
    kept = restore("key", state)
    assert len(kept.members[2].before.answer()) == 1000
    assert kept.members[2].before.answer() == group.members[2].before.answer()
    assert step(kept, 30).payload == step(group, 30).payload


def test_rows_are_not_compared_with_those_of_an_older_answer() -> None:
    """
    worker        first   second   first
    at 1s … 3s    new a   new b    new c: the rows that it holds are those of 1s
    """
    state, first = DictState(), group_of(ISTREAM)
    told = [step(first, 0, rows=2)]
    save(first, state)
    second = restore("key", state)
    told.append(step(second, 1, rows=3))
    save(second, state)
    first = restore("key", state, first)
    told.append(step(first, 2, rows=5))
    assert [one.rows for one in told] == [2, 3, 5]
    assert len(first.members[2].before.answer()) == 10


def test_rows_that_are_held_keep_their_meaning_when_ids_change_theirs() -> None:
    group = group_of(ISTREAM)
    for number in range(3):
        step(group, number, rows=50)
    generation = group.content.dictionary.generation
    with mock.patch.object(dictionary, "SPARE", 2):
        told = [step(group, number, rows=50) for number in range(3, 30)]
    assert group.content.dictionary.generation > generation
    for number, one in enumerate(told, 3):
        assert {row["s"] for row in Result.from_bytes(one.payload).table.rows()} == {
            f"<urn:{number}-{n}>" for n in range(50)
        }


def test_what_is_held_for_a_query_counts() -> None:
    group = group_of(ISTREAM)
    step(group, 0, rows=10)
    small = group.state_bytes(2)
    step(group, 1, rows=10_000)
    assert group.state_bytes(2) > small + 10_000 * (np.dtype(np.int64).itemsize + len("<urn:1-0000>"))
