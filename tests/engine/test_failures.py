"""That a query has failed is an entry of the log: whoever reads the log again tells the same, whatever its limits are.

Failures are injected here at instants that the log does not determine, as those of time and memory are.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers.limits import Limits
from csparql_spark.asking.replay import answer, answer_log
from csparql_spark.engine import views
from csparql_spark.engine.evaluator_choice import INCREMENTAL, SNAPSHOT
from csparql_spark.engine.group import Group
from csparql_spark.engine.member import Member
from csparql_spark.engine.messages import InstantAnswer, Message, QueryFailure
from csparql_spark.engine.view_answer import MemberReply
from csparql_spark.engine.views import Views
from csparql_spark.log import Entry
from csparql_spark.log.contents import QueryFailed, draft_of
from csparql_spark.log.memory import MemoryLog
from csparql_spark.schedule.routing import failures_of, to_fail
from tests.engine.logs import STREAMS, by_hand, entries, law, steps, written
from tests.engine.running import DictState, Terms, Worker, routed_between, router_of
from tests.examples import examples

Poisons = Collection[tuple[int, int]]  # a query, and the instant at which it needs too much
ROWS = "SELECT ?s ?o FROM STREAM <urn:a> [RANGE 10ms STEP 5ms] WHERE { ?s <urn:p> ?o }"
REGISTERED = len(STREAMS) + 1


@contextlib.contextmanager
def needing_too_much(poisons: Poisons) -> Iterator[None]:
    """Within, these need more than they may have, unless it is known that they may have what they need."""
    say = Views.say

    def limited(self: Views, member: Member, instant: int, seq: int) -> MemberReply:
        reply = say(self, member, instant, seq)
        if (member.id, instant) in poisons:
            self.limits_of(member).check_rows(1 << 39, f"rows at {instant}")
        return reply

    with mock.patch.object(Views, "say", limited):
        yield


def by_query(told: Iterable[Message]) -> dict[int, list[Message]]:
    said = defaultdict(list)
    for one in told:
        said[one.query].append(one)
    return dict(said)


def placed(log: list[Entry]) -> dict[int, list[tuple[int, Message]]]:
    """What each query says, and with which entry."""
    router, groups = router_of(log), {}
    said = defaultdict(list)
    for entry in log:
        for row in router.route(entry):
            for one in groups.setdefault(row.group, Group(row.group)).feed([row]):
                said[one.query].append((entry.seq, one))
    return said


# A log with entries that say nothing, in whose places it may be said that something has failed.
@st.composite
def logs_with_room(draw: st.DrawFn) -> list[Entry]:
    made = draw(steps())
    return entries(written([step for one in made for step in (one, ("skipped", 0, None, None))]))


def failing(
    log: list[Entry], failures: dict[int, tuple[int, QueryFailed]], draw: Callable[[list], Entry]
) -> list[Entry]:
    """The same log, in which it is said, some time after it was so; but for what is deleted before."""
    names = {entry.seq: entry.subject for entry in log if entry.kind == "register"}
    log = list(log)
    for query, (place, failure) in failures.items():
        end = next(
            (
                entry.seq
                for entry in log
                if entry.seq > query and (entry.kind, entry.subject) == ("unregister", names[query])
            ),
            len(log) + 1,
        )
        free = [entry for entry in log if entry.kind == "skipped" and place < entry.seq < end]
        if free:
            chosen = draw(free)
            log[chosen.seq - 1] = draft_of(failure, names[query]).entry(chosen.seq, chosen.at)
    return log


@given(logs_with_room(), st.data())
@law(max_examples=examples(60))
def test_whoever_reads_the_log_again_tells_the_same(log: list[Entry], data: st.DataObject) -> None:
    told = [(query, one.instant) for query, said in placed(log).items() for _, one in said]
    poisons = data.draw(st.sets(st.sampled_from(told), max_size=4), label="poisons") if told else set()
    with needing_too_much(poisons):
        first = placed(log)
    failures = {}
    for query, said in first.items():
        place, last = said[-1]
        if isinstance(last, QueryFailure):
            answered = said[-2][1].instant if len(said) > 1 else None
            failures[query] = place, QueryFailed(query, last.instant, last.reason, answered)
    log = failing(log, failures, lambda free: data.draw(st.sampled_from(free), label="where it is said"))
    logged = failures_of(log)
    # Of what was deleted before it was said, the log does not know it.
    wanted = {
        query: [one for _, one in said] for query, said in first.items() if query not in failures or query in logged
    }

    def relevant(said: Iterable[Message]) -> dict[int, list[Message]]:
        return {query: one for query, one in by_query(said).items() if query in wanted}

    # A replay without limits, and one by a machine that is slow at other instants.
    for others in (set(), {one for one in told if one[0] in logged}):
        with needing_too_much(others):
            assert relevant(answer(log, failures=logged)) == wanted
    assert relevant(answer_log(in_memory(log))) == wanted
    # The engine that has failed them: to it the entry is no news.
    with needing_too_much(poisons):
        assert relevant(in_batches(log, data, {})) == wanted
    # An engine that begins with the log again.
    with needing_too_much(data.draw(st.sampled_from([set(), poisons]))):
        assert relevant(in_batches(log, data, logged)) == wanted


def in_batches(log: list[Entry], data: st.DataObject, failures: dict[int, QueryFailed]) -> list[Message]:
    """By workers, one of which begins with what is stored; whose batches may come twice."""
    workers, states = [Worker(), Worker()], defaultdict(DictState)
    told, start = [], 0
    while start < len(log):
        end = min(len(log), start + data.draw(st.sampled_from([1, 3, 7, 20]), label="entries in the batch"))
        groups = defaultdict(list)
        for row in routed_between(log, start, end, set()):
            groups[row.group].append(to_fail(row, failures.get(row.seq)) if row.kind == "register" else row)
        for key, rows in groups.items():
            if data.draw(st.booleans(), label="it comes twice"):
                workers[1].work(key, rows, states[key].copy())
            told += workers[0].work(key, rows, states[key])
        if data.draw(st.booleans(), label="another worker"):
            workers.reverse()
        start = end
    return told


# --- by hand


def asked(text: str = ROWS) -> bytes:
    return json.dumps({"text": text, "base": None}).encode()


def rows_log(*sizes: int, fail: QueryFailed | None = None) -> list[Entry]:
    """A query over pushes of so many triples, each in a window of its own, and what is said of it in the end."""
    log = by_hand((0, "skipped", None, None))[:-1]
    log.append(Entry(REGISTERED, "register", 0, "q", payload=asked(ROWS.replace("10ms STEP 5ms", "5ms STEP 5ms"))))
    for number, size in enumerate(sizes):
        pushed = [(("<urn:a>", "<urn:p>", f"<urn:o{one}>"), None) for one in range(size)]
        chunk = by_hand((5 * number + 1, "chunk", "urn:a", pushed))[-1]
        log.append(dataclasses.replace(chunk, seq=len(log) + 1))
        log.append(Entry(len(log) + 1, "tick", 5 * number + 5))
    if fail is not None:
        log.append(draft_of(fail, "q").entry(len(log) + 1, log[-1].at))
    return log


def fed(log: list[Entry], limits: Limits, failures: dict[int, QueryFailed]) -> list[tuple[int, int | str]]:
    """What its query says within limits: instants with rows, and why it fails."""
    router, groups, told = router_of(log), {}, []
    for entry in log:
        for row in router.route(entry):
            group = groups.setdefault(row.group, Group(row.group))
            group.limit(limits)
            told += group.feed([to_fail(row, failures.get(row.seq)) if row.kind == "register" else row])
    return [(one.instant, one.rows if isinstance(one, InstantAnswer) else one.reason) for one in told]


def test_with_any_limits_it_tells_what_it_told_and_fails_as_it_did() -> None:
    sizes, why = (
        (1, 3, 5, 2),
        "the answer has more than 4 rows, which is the limit for one instant: add a LIMIT or a FILTER",
    )
    wanted = [(5, 1), (10, 3), (15, why)]
    assert fed(rows_log(*sizes), Limits(rows=4), {}) == wanted
    log = rows_log(*sizes, fail=QueryFailed(REGISTERED, 15, why, 10))
    for most in (1, 2, 4, 100):
        assert fed(log, Limits(rows=most), failures_of(log)) == wanted
    # Not known beforehand: its own limits decide, up to the entry.
    assert fed(log, Limits(rows=4), {}) == wanted
    assert fed(log, Limits(rows=100), {}) == [(5, 1), (10, 3), (15, 5), (20, 2), (15, why)]


def in_memory(log: list[Entry]) -> MemoryLog:
    memory = MemoryLog()
    memory._entries += log
    return memory


@pytest.mark.parametrize("output", ["RSTREAM", "ISTREAM"])
@pytest.mark.parametrize("rules", ["", "USING ENTAILMENT rho-df"])
def test_of_a_log_only_those_fail_who_have_failed(monkeypatch: pytest.MonkeyPatch, output: str, rules: str) -> None:
    """They were answered by a server with other limits than the usual ones, or a faster one."""
    log = rows_log(1, 3, 5)
    text = ROWS.replace("[RANGE 10ms STEP 5ms]", f"[RANGE 5ms STEP 5ms] {rules}")
    if output == "ISTREAM":
        text = f"REGISTER ISTREAM q AS {text}"
    log[REGISTERED - 1] = dataclasses.replace(log[REGISTERED - 1], payload=asked(text))
    wanted = list(answer(log))
    assert [type(one) for one in wanted] == [InstantAnswer] * 3
    for limits in (Limits(rows=2), Limits(milliseconds=0), Limits(bytes=10)):
        monkeypatch.setattr(views, "LIMITS", limits)
        assert isinstance(list(answer(log))[-1], QueryFailure)
        assert list(answer_log(in_memory(log))) == wanted


@pytest.mark.parametrize("output", ["RSTREAM", "ISTREAM"])
@pytest.mark.parametrize("evaluator", [INCREMENTAL, SNAPSHOT])
def test_who_may_have_what_it_takes_lends_it_to_nobody(output: str, evaluator: str) -> None:
    """Two look at the same. The first told five rows where there was no limit, and has failed later; the other one may
    have four.

    rows             1     5     2
    first            │     │     ✗ as the log says
    other            │     ✗ too many
    """
    text = ROWS.replace("10ms STEP 5ms", "5ms STEP 5ms").replace("SELECT", f"SELECT {output}")
    log = by_hand((0, "skipped", None, None))[:-1]
    log += [Entry(REGISTERED + place, "register", 0, name, payload=asked(text)) for place, name in enumerate("qr")]
    for number, size in enumerate((1, 5, 2)):
        pushed = [(("<urn:a>", "<urn:p>", f"<urn:o{number}{one}>"), None) for one in range(size)]
        chunk = by_hand((5 * number + 1, "chunk", "urn:a", pushed))[-1]
        log.append(dataclasses.replace(chunk, seq=len(log) + 1))
        log.append(Entry(len(log) + 1, "tick", 5 * number + 5))
    why = QueryFailed(REGISTERED, 15, "why", answered=10)
    said = by_query(answer(log, evaluator, failures={REGISTERED: why}, limits=Limits(rows=4)))
    first, other = said[REGISTERED], said[REGISTERED + 1]
    assert [one.rows for one in first[:2]] == [1, 5] and first[2:] == [QueryFailure(REGISTERED, 15, "why")]
    assert other[0].rows == 1 and other[1:] == [
        QueryFailure(
            REGISTERED + 1,
            10,
            "the answer has more than 4 rows, which is the limit for one instant: add a LIMIT or a FILTER",
        )
    ]


def test_what_fails_before_it_tells_anything_fails_so_again() -> None:
    log = rows_log(1, 1, fail=QueryFailed(REGISTERED, 5, "why"))
    assert fed(log, Limits(), failures_of(log)) == [(5, "why")]


def test_what_has_told_nothing_is_not_even_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have failed of that."""
    log = rows_log(1, 1, fail=QueryFailed(REGISTERED, 5, "why"))
    monkeypatch.setattr(Member, "__init__", None)
    assert fed(log, Limits(), failures_of(log)) == [(5, "why")]


def test_where_nothing_more_is_due_it_fails_with_the_entry() -> None:
    """As one does whose instants are on another clock than what has failed it."""
    log = rows_log(1, 1, fail=QueryFailed(REGISTERED, 77, "why", answered=10))
    assert fed(log, Limits(), failures_of(log)) == [(5, 1), (10, 1), (77, "why")]


def test_another_query_of_the_name_has_not_failed() -> None:
    log = rows_log(1, fail=QueryFailed(REGISTERED, 5, "why"))
    log.append(Entry(len(log) + 1, "unregister", 5, "q"))
    again = len(log) + 1
    log.append(Entry(again, "register", 5, "q", payload=asked()))
    log.append(draft_of(QueryFailed(REGISTERED, 5, "late"), "q").entry(again + 1, 5))  # no guard lets that in
    log.append(Entry(again + 2, "tick", 10))
    said = by_query(answer(log, failures=failures_of(log)))
    assert [one.instant for one in said[again]] == [10] and isinstance(said[again][0], InstantAnswer)
    assert said[REGISTERED] == [QueryFailure(REGISTERED, 5, "late")]


def test_where_what_was_said_is_damaged_the_query_fails_and_no_other() -> None:
    log = rows_log(1, 1)
    other = Entry(len(log) + 1, "register", 10, "r", payload=asked())
    damaged = Entry(len(log) + 2, "fail", 10, "q", damage="the entry is damaged")
    log += [other, damaged, Entry(len(log) + 3, "tick", 15)]
    said = by_query(answer(log, failures=failures_of(log)))
    assert said[REGISTERED][-1] == QueryFailure(REGISTERED, 10, "the entry is damaged")
    assert [type(one) for one in said[other.seq]] == [InstantAnswer]


def test_who_is_known_to_fail_takes_no_limit_off_the_others() -> None:
    """Two queries under rules, of which the log says that the first fails."""
    under_rules = ROWS.replace("[RANGE 10ms STEP 5ms]", "[RANGE 5ms STEP 5ms] USING ENTAILMENT rho-df")
    log = by_hand((0, "skipped", None, None))[:-1]
    log += [
        Entry(REGISTERED + place, "register", 0, name, payload=asked(under_rules)) for place, name in enumerate("qr")
    ]
    log += [Entry(REGISTERED + 2 + place, "tick", 5 * place + 5) for place in range(3)]
    failing = QueryFailed(REGISTERED, 15, "why", answered=10)
    log.append(draft_of(failing, "q").entry(len(log) + 1, 20))

    def terms(failures: dict[int, QueryFailed]) -> list[tuple[int, float]]:
        router, groups, guard = router_of(log), {}, Terms()
        for entry in log:
            for row in router.route(entry):
                group = groups.setdefault(row.group, Group(row.group))
                group.limit(Limits(milliseconds=2000))
                group.guard(guard)
                list(group.feed([to_fail(row, failures.get(row.seq)) if row.kind == "register" else row]))
        return [(instant, seconds) for member, instant, seconds in guard.seen if member == REGISTERED + 1]

    wanted = [(instant, 2.0) for instant in (5, 10, 15)]
    assert [one for one in terms({}) if one[0] > 0] == wanted
    assert [one for one in terms(failures_of(log)) if one[0] > 0] == wanted
