from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Result
from csparql_spark.asking import replay
from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.replay import Script, answer
from csparql_spark.engine.messages import Message
from csparql_spark.language import LanguageError
from csparql_spark.rdf.chunk import Chunk
from tests.examples import examples

QUERY = (
    "REGISTER QUERY q AS SELECT ?s FROM STREAM <urn:s> [RANGE {range}ms STEP {step}ms] {more} WHERE {{ ?s <urn:p> ?o }}"
)


def recording(*stamps: int) -> Chunk:
    return Chunk.from_triples([(f"<urn:{t}>", "<urn:p>", "<urn:o>") for t in stamps], list(stamps))


def text(range: int, step: int, more: str = "") -> str:
    return QUERY.format(range=range, step=step, more=more)


def shown(told: list[Message]) -> list[tuple[int, list[int]]]:
    """The instants, and the numbers of the subjects at each."""
    return [
        (one.instant, sorted(int(row["s"][5:-1]) for row in Result.from_bytes(one.payload).table.rows()))
        for one in told
    ]


def played(chunk: Chunk, range: int, step: int, **options: object) -> list[tuple[int, list[int]]]:
    return shown(list(answer(Script.of(text(range, step), streams={"urn:s": chunk}, **options).entries())))


def test_from_the_first_element_to_the_end_of_the_last_window() -> None:
    """
        1500      2600    3000           5000
    ─────●──┼───────●──────┼───────┼──────┤       RANGE 2s STEP 1s
         2000           3000    4000    5000      the last element and RANGE: 4600, and the instant after it
    """
    assert played(recording(1500, 2600), 2000, 1000) == [
        (2000, [1500]),
        (3000, [1500, 2600]),
        (4000, [2600]),
        (5000, []),
    ]


def test_elements_on_instants() -> None:
    """An element at an instant is seen there, and one RANGE after it no more: that instant is the last one."""
    assert played(recording(1000), 2000, 1000) == [(1000, [1000]), (2000, [1000]), (3000, [])]
    assert played(recording(1000, 2000), 1000, 1000) == [(1000, [1000]), (2000, [2000]), (3000, [])]


def replayed(windows: str, chunk: Chunk, every: str = "") -> list[tuple[int, list[int]]]:
    text = f"REGISTER QUERY q {every} AS SELECT ?s {windows} WHERE {{ ?s <urn:p> ?o }}"
    return shown(list(answer(Script.of(text, streams={"urn:s": chunk}).entries())))


def test_the_end_is_when_each_window_has_been_seen_without_the_last_element() -> None:
    """
    RANGE 4 STEP 4      ──●─│───│───│───│───│       5 and 4: from 12 on it does not see the element
    RANGE 9 STEP 6      ──●───│─────│─────│         5 and 9: at 14, and it is seen at 18
    """
    windows = "FROM STREAM <urn:s> [RANGE 4ms STEP 4ms] FROM STREAM <urn:s> [RANGE 9ms STEP 6ms]"
    assert replayed(windows, recording(5)) == [(6, [5]), (8, [5]), (12, [5]), (16, [5]), (18, [])]


def test_with_every_the_end_is_the_next_one() -> None:
    """
    RANGE 9 STEP 6      ──●───│─────│─────│         at 20, as of 18, it is seen empty
    COMPUTE EVERY 5         │    │    │    │
    """
    assert replayed("FROM STREAM <urn:s> [RANGE 9ms STEP 6ms]", recording(4), "COMPUTE EVERY 5ms") == [
        (5, []),
        (10, [4]),
        (15, [4]),
        (20, []),
    ]


def test_windows_that_count_end_with_their_last_turn() -> None:
    assert replayed("FROM STREAM <urn:s> [RANGE TRIPLES 2]", recording(3, 9, 20, 31, 40)) == [
        (9, [3, 9]),
        (31, [20, 31]),
    ]
    assert replayed("FROM STREAM <urn:s> [RANGE TRIPLES 9]", recording(3)) == []


def test_turns_of_many_at_once_come_to_their_end_beside_a_window_of_time() -> None:
    """
    TRIPLES 1         ●●●●●      five at 3: turns at 3, 4, 5, 6, 7
    RANGE 2 STEP 2        │ │ │
    """
    many = Chunk.from_triples([(f"<urn:{i}>", "<urn:p>", "<urn:o>") for i in range(5)], [3] * 5)
    assert replayed("FROM STREAM <urn:s> [RANGE 2ms] FROM STREAM <urn:s> [RANGE TRIPLES 1]", many) == [
        (3, [0]),
        (4, [0, 1, 2, 3, 4]),
        (5, [0, 1, 2, 3, 4]),
        (6, [3]),
        (7, [4]),
        (8, [4]),
    ]


def test_before_the_epoch() -> None:
    assert played(recording(-1500), 1000, 1000) == [(-1000, [-1500]), (0, [])]


def test_windows_with_gaps_between_them() -> None:
    """
    ──●──────[────┼──●──────[●───┼────        RANGE 1s STEP 3s: what falls into a gap is never seen
    1500  2000  3000  4500  5000 5500 6000
    """
    assert played(recording(1500, 4500, 5500), 1000, 3000) == [(3000, []), (6000, [5500]), (9000, [])]


@pytest.mark.parametrize(
    "until, instants",
    [
        (1400, []),
        (1999, []),
        (2000, [(2000, [1500])]),
        (3000, [(2000, [1500]), (3000, [1500, 2600])]),
        (7500, [(2000, [1500]), (3000, [1500, 2600]), (4000, [2600]), (5000, []), (6000, []), (7000, [])]),
    ],
)
def test_until(until: int, instants: list[tuple[int, list[int]]]) -> None:
    assert played(recording(1500, 2600), 2000, 1000, until=until) == instants


def test_nothing_recorded_says_nothing() -> None:
    script = Script.of(text(1000, 1000), streams={"urn:s": Chunk.empty()})
    assert (script.end(), script.elements, list(answer(script.entries()))) == (None, 0, [])
    assert played(Chunk.empty(), 1000, 1000, until=5000) == []


def test_background_stands_beside_every_window() -> None:
    graphs = {
        "urn:g": Chunk.from_triples([("<urn:1>", "<urn:p>", "<urn:o>")]),
        "urn:h": Chunk.from_triples([("<urn:2>", "<urn:p>", "<urn:o>")]),
    }
    script = Script.of(text(1000, 1000, "FROM <urn:g>"), streams={"urn:s": recording(1000)}, background=graphs)
    assert shown(list(answer(script.entries()))) == [(1000, [1, 1000]), (2000, [1])]


def test_other_streams_change_nothing() -> None:
    script = Script.of(text(1000, 1000), streams={"urn:t": recording(0, 99_000), "urn:s": recording(1000)})
    assert shown(list(answer(script.entries()))) == [(1000, [1000]), (2000, [])]
    assert script.elements == 3


def test_an_unsorted_recording_is_answered_like_a_sorted_one() -> None:
    stamps = list(range(1000, 9000, 130))
    expected = played(recording(*stamps), 2000, 500)
    for seed in range(3):
        random.Random(seed).shuffle(stamps)
        assert played(recording(*stamps), 2000, 500) == expected


@given(
    st.lists(st.integers(-20, 40), min_size=1, max_size=12),
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from([1, 3, 50_000]),
    st.none() | st.integers(-30, 60),
)
@settings(max_examples=examples(100), deadline=None)
def test_what_each_window_holds(stamps: list[int], range_: int, step: int, piece: int, until: int | None) -> None:
    last = max(stamps) + range_
    end = until if until is not None else -(-last // step) * step
    expected = [
        (t, sorted({s for s in stamps if t - range_ < s <= t})) for t in range(min(stamps), end + 1) if t % step == 0
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay, "PIECE", piece)
        assert played(recording(*stamps), range_, step, until=until) == expected


def test_the_log_of_a_script() -> None:
    script = Script.of(
        text(1000, 1000),
        streams={"urn:s": recording(1500, 1200, 1500)},
        background={"urn:g": recording(1)},
        base="http://x/",
    )
    entries = list(script.entries())
    assert [(entry.seq, entry.kind, entry.subject, entry.at) for entry in entries] == [
        (1, "stream", "urn:s", 0),
        (2, "background", "urn:g", 0),
        (3, "register", "q", 0),
        (4, "chunk", "urn:s", 0),
        (5, "tick", "urn:s", 3000),
    ]
    assert (entries[3].rows, entries[3].first, entries[3].last) == (3, 1200, 1500)
    assert [entry.payload for entry in entries] == [draft.payload for draft in script.drafts()]


@pytest.mark.parametrize(
    "broken, code, sentence",
    [
        (
            dict(streams={"urn:t": recording(1)}),
            "unknown-stream",
            "there is no stream <urn:s>: create it first with PUT /streams/{name or encoded IRI}",
        ),
        (
            dict(
                streams={
                    "urn:s": Chunk.from_triples(
                        [("<urn:1>", "<urn:p>", "<urn:o>")] * 3, [Chunk.UNSTAMPED, 5, Chunk.UNSTAMPED]
                    )
                }
            ),
            "no-timestamps",
            "2 of the 3 triples recorded for <urn:s> have no timestamp: "
            "name their graphs <urn:t:EPOCH-MILLISECONDS> or <urn:t:DATETIME>",
        ),
    ],
)
def test_refusals(broken: dict[str, object], code: str, sentence: str) -> None:
    with pytest.raises(Refusal) as caught:
        Script.of(text(1000, 1000), **broken)
    assert (caught.value.code, str(caught.value)) == (code, sentence)


def test_what_does_not_parse() -> None:
    with pytest.raises(LanguageError):
        Script.of("SELECT", streams={})
