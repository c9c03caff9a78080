"""What is told as a change, folded into what was told before, is the whole: byte for byte, however the group comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers import delta_bytes
from csparql_spark.answers.bindings import Result
from csparql_spark.answers.delta import delta_of, folded
from csparql_spark.answers.limits import Limits
from csparql_spark.engine.group_state import StoredGroup, restore, save
from csparql_spark.engine.messages import InstantAnswer, Message, QueryFailure
from csparql_spark.engine.view_answer import ViewAnswer
from csparql_spark.log import Entry
from csparql_spark.rdf import dictionary
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.routing import Row
from csparql_spark.store import keyframes
from tests.engine.logs import law
from tests.engine.running import DictState
from tests.engine.test_company import ASKED, fed, logs
from tests.engine.test_r2s import SHAPES, by_entry, group_of, step
from tests.examples import examples


@dataclass
class EachChange:
    """Keeps as a change whatever may be one, and looks at what it is told of it."""

    wholes: dict[tuple[int, int], bytes] = field(default_factory=dict)  # by query and instant
    newest: dict[int, int] = field(default_factory=dict)
    asked: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)  # rows, and how many of them changed
    changes: int = 0

    def wants_change(self, query: int, instant: int, since: int, rows: int, changed: int) -> bool:
        self.asked[query, instant] = rows, changed
        return self.newest.get(query) == since

    def take(self, message: Message) -> None:
        if not isinstance(message, InstantAnswer):
            return
        key, payload = (message.query, message.instant), message.payload
        if message.since is not None:
            self.changes += 1
            before = Result.from_bytes(self.wholes[message.query, message.since])
            whole = folded(before, delta_bytes.from_bytes(payload))
            assert message.rows == len(whole)
            # The whole against the whole says the same, in the same bytes.
            compared = delta_of(before, whole, listed=message.listed)
            assert delta_bytes.to_bytes(compared) == payload
            assert self.asked[key] == (len(whole), compared.changed)
            payload = whole.to_bytes()
        self.wholes.setdefault(key, payload)
        self.newest[message.query] = message.instant


def told_as_changes(
    log: Sequence[Entry], workers: st.SearchStrategy[int], warm: st.SearchStrategy[int], drawn: st.DataObject
) -> EachChange:
    """By workers each of which may be behind, or start cold."""
    states: dict[str, DictState] = {}
    held: tuple[dict[str, StoredGroup], ...] = {}, {}
    keeper = EachChange()
    for key, rows in by_entry(list(log)):
        state = states.setdefault(key, DictState())
        mine = held[drawn.draw(workers, label="worker")]
        remembered = mine.pop(key, None) if drawn.draw(warm, label="warm") else None
        group = mine[key] = restore(key, state, remembered)
        group.keep_by(keeper)
        for message in group.feed(rows):
            keeper.take(message)
        save(group, state)
    return keeper


@given(logs((*SHAPES, *ASKED)), st.data())
@law(max_examples=examples(60))
def test_changes_folded_are_wholes(log: list[Entry], drawn: st.DataObject) -> None:
    wanted = {(one.query, one.instant): one.payload for one in fed(log) if isinstance(one, InstantAnswer)}
    with (
        mock.patch.object(keyframes, "LEAST_ROWS", drawn.draw(st.sampled_from([0, 2]), label="least")),
        mock.patch.object(keyframes, "LEAST_COMPARED", drawn.draw(st.sampled_from([0, 0, 2, 99]), label="compared")),
        mock.patch.object(dictionary, "SPARE", 2),  # ids change their meaning often
    ):
        keeper = told_as_changes(log, st.sampled_from([0, 0, 0, 1]), st.integers(0, 5), drawn)
    assert keeper.wholes == wanted


RSTREAM = "REGISTER QUERY q AS SELECT ?s FROM STREAM <urn:s> [RANGE 10s STEP 1s] WHERE { ?s <urn:p> ?o }"


def test_an_answer_of_few_rows_is_whole_and_who_comes_back_begins_with_a_whole() -> None:
    """
    rows  300   600   900   1200      1500  1800
    ───────┼─────┼─────┼──────┼────│───┼─────┼──▶      at │ the group comes back from its state
           whole whole change change   whole change
    """
    group, state, keeper = group_of(RSTREAM), DictState(), EachChange()
    save(group, state)
    since = []
    for number in range(6):
        if number == 4:
            group = restore("key", state)
        group.keep_by(keeper)
        message = step(group, number, rows=300)
        save(group, state)
        assert isinstance(message, InstantAnswer) and message.rows == 300 * (number + 1)
        keeper.take(message)
        since.append(message.since)
    assert since == [None, None, 2000, 3000, None, 5000]


def test_that_nothing_has_changed_is_a_change_in_answers_of_fewer_rows_too() -> None:
    """
    rows   40     40    40       40     80    80
    ───────┼──────┼─────┼────│───┼──────┼─────┼──▶    RANGE 10s STEP 1s; at │ the group comes back from its state
           whole  same  same     whole  whole same
    """
    group, state, keeper = group_of(RSTREAM), DictState(), EachChange()
    save(group, state)
    since = []
    for number, rows in enumerate((40, 0, 0, 0, 40, 0)):
        if number == 3:
            group = restore("key", state)
        group.keep_by(keeper)
        message = step(group, number, rows)
        save(group, state)
        keeper.take(message)
        since.append(message.since)
    assert since == [None, 1000, 2000, None, None, 5000]
    assert keeper.changes == 3


def test_what_has_changed_may_not_make_an_answer_too_large() -> None:
    group, keeper = group_of(RSTREAM), EachChange()
    group.keep_by(keeper)
    group.limit(Limits(rows=1800))
    told: list[Message] = []
    for number in range(4):
        made = Chunk.from_triples([(f"<urn:{number}-{n}>", "<urn:p>", '"1"') for n in range(600)])
        seq, at = 2 * number + 3, 1000 * number
        for row in (
            Row("key", 0, seq, "chunk", at + 500, "urn:s", made.to_ipc()),
            Row("key", 0, seq + 1, "tick", at + 1000, None, None),
        ):
            for message in group.feed([row]):
                keeper.take(message)
                told.append(message)
    *_, before, failed = told
    assert isinstance(before, InstantAnswer) and (before.rows, before.since is not None) == (1800, True)
    assert isinstance(failed, QueryFailure) and failed.reason.startswith("the answer has more than 1,800 rows"), failed


OPTIONAL = RSTREAM.replace("?s FROM", "?s ?x FROM").replace("}", "OPTIONAL { ?s <urn:q> ?x } }").replace("10s", "3s")


@pytest.mark.parametrize("text", [RSTREAM, OPTIONAL])
def test_nobody_fails_of_knowing_what_changes(text: str) -> None:
    """There may be no more room than wholes need."""

    def told(limits: Limits, keeper: EachChange | None) -> tuple[list[Message], int]:
        group, most = group_of(text), 0
        group.limit(limits)
        if keeper is not None:
            group.keep_by(keeper)
        said: list[Message] = []
        for number in range(5):
            said.append(step(group, number, rows=3000))
            most = max(most, group.state_bytes(2))
            if keeper is not None:
                keeper.take(said[-1])
        return said, most

    class Wholes(EachChange):
        """Whoever wants wholes has them held beside what is known of changes."""

        def wants_change(self, query: int, instant: int, since: int, rows: int, changed: int) -> bool:
            return False

    wholes, most = told(Limits(), None)
    little, plenty = Wholes(), EachChange()
    with mock.patch.object(
        ViewAnswer, "forget_changes", autospec=True, side_effect=ViewAnswer.forget_changes
    ) as let_go:
        told(Limits(bytes=most + 1), little)
    assert let_go.called
    told(Limits(bytes=10 * most), plenty)
    assert little.wholes == plenty.wholes == {(one.query, one.instant): one.payload for one in wholes}
    assert plenty.changes >= 2


def test_what_is_held_for_changes_goes_where_answers_become_few() -> None:
    group, other = group_of(OPTIONAL), group_of(OPTIONAL)
    group.keep_by(EachChange())
    held = []
    for number, rows in enumerate((3000, 3000, 10, 10, 10, 10)):
        for one in (group, other):
            step(one, number, rows)
        held.append(group.state_bytes(2) - other.state_bytes(2))
    assert held[1] > 100_000 > held[-1]
