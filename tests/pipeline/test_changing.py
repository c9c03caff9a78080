"""What has changed, told byte for byte as if whole answers were compared, however the group comes back from its state."""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers import before
from csparql_spark.answers.bindings import Answer
from csparql_spark.pipeline import views
from csparql_spark.pipeline.group import Group, Told
from csparql_spark.pipeline.keeping import BEFORE, CHANGES, KeptGroup, Name, revive, settle
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.store import Entry, QueryRecord, StreamRecord
from csparql_spark.windows import content

from .logs import law
from .running import DictState, routed
from .test_company import fed, logs

SHAPES = tuple(f"SELECT {output} {asked}" for output in ("ISTREAM", "DSTREAM") for asked in (
    "?s ?o {} WHERE {{ ?s :p ?o }}",
    "?s {} WHERE {{ ?s :p ?o }}",
    "?s {} WHERE {{ ?s :p ?o . ?s :q ?x }}",
    "?s ?c {} WHERE {{ ?s :p ?o . ?s a ?c }}",
    "DISTINCT ?s {} WHERE {{ ?s ?p ?o FILTER (?o != :b) }}",
    "* {} WHERE {{ ?s :p ?o OPTIONAL {{ ?o :q ?x }} }}",
    "?s (COUNT(*) AS ?n) (SUM(?o) AS ?sum) {} WHERE {{ ?s :q ?o }} GROUP BY ?s",
    "* {} WHERE {{ ?s :p+ ?o }}",
    "?s ?unbound {} WHERE {{ {{ ?s :p ?o }} UNION {{ ?s :q ?o }} }}",
    "?s {} WHERE {{ ?s :p ?o }} ORDER BY DESC(?s) LIMIT 2"))


def by_whole_answers() -> mock._patch:
    return mock.patch.object(views, "by_rows", lambda plan: False)


@given(logs(SHAPES), st.data())
@law(max_examples=25)
def test_changes_are_the_difference_of_whole_answers(log: list[Entry], drawn: st.DataObject) -> None:
    with by_whole_answers():
        expected = fed(log)
    states: dict[str, DictState] = {}
    held: dict[str, KeptGroup] = {}
    told: list[Told] = []
    # Ids change their meaning often, and changes are written whole again late.
    with mock.patch.object(content, "SMALLEST", 2), mock.patch.object(
            before, "MOST", drawn.draw(st.sampled_from([0, 2, 100]), label="changes")):
        for row in routed(log):
            state = states.setdefault(row.group, DictState())
            warm = held.pop(row.group, None) if drawn.draw(st.integers(0, 5), label="warm") else None
            group = held[row.group] = revive(row.group, state, warm)
            told += group.feed([row])
            settle(group, state)
    assert told == expected


def group_of(text: str) -> KeptGroup:
    """A group with one query, 2, over `urn:s`."""
    group = KeptGroup("key")
    stream = StreamRecord.draft("urn:s", name="s", clock="arrival", delay=0)
    log = [Entry(1, "stream", 0, "urn:s", payload=stream.payload),
           Entry(2, "register", 0, "q", payload=QueryRecord.draft("q", text=text, base=None).payload)]
    for row in routed(log):
        list(group.feed([row]))
    return group


def step(group: Group, number: int, rows: int = 100) -> Told:
    """So many new rows, and the instant after them."""
    made = Chunk.from_triples([(f"<urn:{number}-{n}>", "<urn:p>", '"1"') for n in range(rows)])
    at = 1000 * number
    chunk = Entry(2 * number + 3, "chunk", at + 500, "urn:s", len(made), None, None, len(made), made.to_ipc())
    told = []
    for entry in (chunk, Entry(2 * number + 4, "tick", at + 1000)):
        row = mock.Mock(kind=entry.kind, seq=entry.seq, at=entry.at, subject=entry.subject, payload=entry.payload)
        told += [one for one in group.feed([row]) if one.part >= 0]
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

    def noted(name: Name, value: bytes) -> None:
        if name.stream == BEFORE or name.stream <= CHANGES:
            written.append((name.stream, len(value)))
        put(name, value)

    state.put = noted
    for number in range(30):
        assert step(group, number).rows == 100
        settle(group, state)
    wholes = [size for stream, size in written[12:] if stream == BEFORE]
    changes = [size for stream, size in written[12:] if stream <= CHANGES]
    assert len(changes) >= 3 * len(wholes) > 0 and max(changes) < min(wholes) / 3
    kept = revive("key", state)
    assert len(kept.members[2].before.answer()) == 1000
    assert kept.members[2].before.answer() == group.members[2].before.answer()
    assert step(kept, 30).payload == step(group, 30).payload


def test_rows_that_are_held_keep_their_meaning_when_ids_change_theirs() -> None:
    group = group_of(ISTREAM)
    for number in range(3):
        step(group, number, rows=50)
    generation = group.content.generation
    with mock.patch.object(content, "SMALLEST", 2):
        told = [step(group, number, rows=50) for number in range(3, 30)]
    assert group.content.generation > generation
    for number, one in enumerate(told, 3):
        assert {row["s"] for row in Answer.from_bytes(one.payload).table.rows()} == {
            f"<urn:{number}-{n}>" for n in range(50)}


def test_what_is_held_for_a_query_counts() -> None:
    group = group_of(ISTREAM)
    step(group, 0, rows=10)
    small = group.state_bytes(2)
    step(group, 1, rows=10_000)
    assert group.state_bytes(2) > small + 10_000 * (np.dtype(np.int64).itemsize + len("<urn:1-0000>"))
