"""Children do what they are asked, end when they need too much, and are replaced."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from csparql_spark.answers import formats
from csparql_spark.answers.excess import OF_QUESTIONS
from csparql_spark.answers.limits import Limits, TooManyRows, TooMuch
from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.allowance import Allowance
from csparql_spark.asking.guarded import Crowded, Pool, children, pool, work
from csparql_spark.asking.guarded.failures import UnexpectedFailure
from csparql_spark.asking.guarded.pool import BODY, CHECKED_TEXT, TEXT, Place
from csparql_spark.asking.one_shot import Question, ask
from csparql_spark.language import LanguageError
from csparql_spark.language.queries.compiled import restored
from csparql_spark.language.queries.query_cache import read
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.server.process import _warm_up
from csparql_spark.settings import Settings
from tests.asking.guarded import deeds

ROOMY = Limits(milliseconds=60_000)
BRIEF = Limits(milliseconds=200)
MEMORY = 128 << 20


@pytest.fixture
def guarded() -> Iterator[Pool]:
    with contextlib.closing(Pool(memory=MEMORY)) as made:
        yield made


@pytest.fixture
def roomy() -> Iterator[Pool]:
    with contextlib.closing(Pool(memory=1 << 30)) as made:
        yield made


def done(guarded: Pool, work: Callable[..., bytes], *arguments: object, limits: Limits = ROOMY) -> bytes:
    with guarded.place("test") as place:
        return bytes(place.run(limits, work, *arguments))


def refused(guarded: Pool, work: Callable[..., bytes], *arguments: object, limits: Limits = ROOMY) -> str:
    with pytest.raises(TooMuch) as raised:
        done(guarded, work, *arguments, limits=limits)
    assert done(guarded, deeds.echo, b"still here") == b"still here"
    return str(raised.value)


def test_work_is_done_by_one_child_after_the_other(guarded: Pool) -> None:
    first = done(guarded, deeds.number)
    assert int(first) != os.getpid() and done(guarded, deeds.number) == first
    assert done(guarded, deeds.echo, b"") == b""
    large = os.urandom(5_000_000)
    assert done(guarded, deeds.echo, large) == large
    assert done(guarded, deeds.total, np.arange(1_000_000)) == b"499999500000"
    assert done(guarded, deeds.number) == first


def test_failures_come_back_as_what_they_are(guarded: Pool) -> None:
    first = done(guarded, deeds.number)
    with pytest.raises(Refusal, match="there is no such graph") as refusal:
        done(guarded, deeds.refuse)
    assert refusal.value.code == "unknown-graph"
    with pytest.raises(TooManyRows, match="more than one row"):
        done(guarded, deeds.exceed)
    with pytest.raises(LanguageError) as misread:
        done(guarded, deeds.misread)
    with pytest.raises(LanguageError) as here:
        deeds.misread()
    assert vars(misread.value) == vars(here.value) and str(misread.value) == str(here.value)
    with pytest.raises(UnexpectedFailure, match=r"deeds\.py(.|\n)*KeyError: 'nobody expects it'"):
        done(guarded, deeds.err)
    assert "nested too deeply" in refused(guarded, deeds.nest)
    assert done(guarded, deeds.number) == first


def test_processor_time_is_over(guarded: Pool) -> None:
    first = done(guarded, deeds.number)
    assert refused(guarded, deeds.spin, limits=BRIEF) == str(OF_QUESTIONS.of_processor(BRIEF.seconds))
    assert done(guarded, deeds.number) != first
    # What it has used before is no part of the next one's.
    for _ in range(3):
        assert done(guarded, deeds.total, np.ones(10_000_000), limits=Limits(milliseconds=1000)) == b"10000000"


def test_the_clock_is_over(guarded: Pool, monkeypatch) -> None:
    brief = Limits(milliseconds=10)
    assert refused(guarded, deeds.rest, 60.0, limits=brief) == str(OF_QUESTIONS.of_clock(brief.seconds))
    monkeypatch.setattr(pool, "GRACE", 0.2)
    assert refused(guarded, deeds.stop, limits=brief) == str(OF_QUESTIONS.of_clock(brief.seconds))


def test_memory_is_over(guarded: Pool) -> None:
    assert done(guarded, deeds.fill, 64 << 20) == b"%d" % (64 << 20)
    assert "needs more memory than the 128 MiB" in refused(guarded, deeds.fill, 256 << 20)
    assert done(guarded, deeds.double, 10) == b"1024000"
    assert "needs more memory than the 128 MiB" in refused(guarded, deeds.double, 18)
    # What is sent counts.
    assert "needs more memory" in refused(guarded, deeds.echo, bytes(100 << 20))


def test_a_child_that_stays_large_is_replaced(guarded: Pool) -> None:
    first = done(guarded, deeds.number)
    assert done(guarded, deeds.keep, 1 << 20) == first and done(guarded, deeds.number) == first
    assert done(guarded, deeds.keep, 80 << 20) == first
    assert done(guarded, deeds.number) != first


def test_a_child_that_ends_otherwise(guarded: Pool) -> None:
    assert "ended the process that worked on it (SIGSEGV)" in refused(guarded, deeds.signalled, signal.SIGSEGV)
    assert "needs more memory" in refused(guarded, deeds.signalled, signal.SIGKILL)  # by whom, nobody knows


def test_a_zygote_that_is_killed_is_replaced(guarded: Pool) -> None:
    first = done(guarded, deeds.number)
    zygote = children._running.process
    os.kill(zygote.pid, signal.SIGKILL)
    zygote.wait()
    assert done(guarded, deeds.number) == first  # who is there goes on
    with contextlib.closing(Pool(memory=MEMORY)) as another:
        assert done(another, deeds.echo, b"there again") == b"there again"
    assert children._running.process.pid != zygote.pid
    assert done(guarded, deeds.number) != first  # with a zygote its children end


@pytest.fixture
def killed_at_start(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The next zygotes are killed as soon as they are there: as many as the list has elements, each time one less."""
    children.stop()
    times: list[int] = []

    def started(*arguments: object, **named: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(*arguments, **named)
        if times:
            times.pop()
            process.kill()
        return process

    monkeypatch.setattr(children, "subprocess", SimpleNamespace(Popen=started, DEVNULL=subprocess.DEVNULL))
    yield times
    children.stop()


def test_a_zygote_that_is_killed_while_it_starts_is_started_once_more(
    guarded: Pool, killed_at_start: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    killed_at_start.extend(range(1))
    assert done(guarded, deeds.echo, b"there") == b"there"
    children.stop()
    with contextlib.closing(Pool(memory=MEMORY)) as another:
        open_before = len(os.listdir("/proc/self/fd"))
        killed_at_start.extend(range(2))
        with pytest.raises(Crowded, match=r"no process can be started .*: ask again in a moment"):
            done(another, deeds.echo, b"not there")
        assert not killed_at_start and len(os.listdir("/proc/self/fd")) == open_before
        killed_at_start.extend(range(2))
        _warm_up()  # as the web process does when it starts: it says so, and goes on
        assert "No process can be started that would work on it" in capsys.readouterr().err
        assert done(another, deeds.echo, b"there again") == b"there again"


def test_a_crowd_waits_and_delays_no_text(tmp_path: Path) -> None:
    """One works, one waits, the third is sent home; a text is served at once."""
    begun, end = str(tmp_path / "begun"), str(tmp_path / "end")
    for path in (begun, end):
        os.mkfifo(path)
    with contextlib.closing(Pool(memory=MEMORY, at_once=1, threads=1)) as narrow:
        told: list[bytes] = []
        first = threading.Thread(target=lambda: told.append(done(narrow, deeds.hold, begun, end)))
        first.start()
        with open(begun, "rb") as opened:
            assert opened.read(1) == b"!"
        second = threading.Thread(target=lambda: told.append(done(narrow, deeds.echo, b"second")))
        second.start()
        while not narrow.waiting:
            threading.Event().wait(0.001)
        with pytest.raises(Crowded, match="1 questions wait already"):
            done(narrow, deeds.echo, b"third")
        with narrow.place(TEXT) as place:
            assert place.run(ROOMY, deeds.echo, b"other") == b"other"
        for kind in (TEXT, CHECKED_TEXT, "test"):
            assert narrow.attempt(kind, lambda place: place.run(ROOMY, deeds.echo, b"other")) == b"other"
        assert told == []
        with open(end, "wb") as opened:
            opened.write(b"!")
        for thread in (first, second):
            thread.join()
        assert told == [b"held", b"second"]
        assert done(narrow, deeds.echo, b"third") == b"third"


def test_who_has_waited_for_too_long_is_sent_home() -> None:
    with contextlib.closing(Pool(memory=MEMORY, at_once=1, patience=0.01)) as narrow, narrow.place("test"):
        with pytest.raises(Crowded, match="has waited for 0.01 s"):
            done(narrow, deeds.number)
        assert not narrow.waiting


def test_a_place_goes_to_the_kind_that_has_the_fewest() -> None:
    """Two of one kind work, a third waits, and then one of another kind: that one is the next."""
    with contextlib.closing(Pool(memory=MEMORY, at_once=2)) as pool:
        came: list[str] = []

        def work(kind: str) -> None:
            with pool.place(kind):
                came.append(kind)

        first, second = pool.place("many"), pool.place("many")
        first.__enter__(), second.__enter__()
        threads = []
        for waiting, kind in enumerate(("many", "few"), 1):
            threads.append(threading.Thread(target=work, args=(kind,)))
            threads[-1].start()
            while pool.waiting < waiting:
                threading.Event().wait(0.001)
        first.__exit__(None, None, None)
        for thread in threads:
            thread.join()
        assert came == ["few", "many"]
        second.__exit__(None, None, None)


def test_all_children_have_so_much_memory_together(guarded: Pool) -> None:
    assert Pool(memory=Settings().question_memory).most_memory == 25 << 27  # as the documents say
    assert guarded.most_memory == 4 * MEMORY + (640 << 20)
    with contextlib.closing(Pool(memory=64 << 20)) as small:  # no first try gets more than what it may have in all
        assert small.most_memory == 6 * (64 << 20) + (384 << 20)


def tried(guarded: Pool, limits: Limits, work: Callable[..., bytes], *arguments: object) -> tuple[int, object]:
    """How often a piece of work was begun, and its outcome."""
    begun = 0

    def attempt(place: Place) -> bytes:
        nonlocal begun
        begun += 1
        return bytes(place.run(limits, work, *arguments))

    try:
        outcome = guarded.attempt("test", attempt)
    except Exception as error:
        return begun, error
    return begun, outcome


@pytest.mark.parametrize(
    "work, arguments, begun",
    [
        (deeds.echo, (b"small",), 1),
        (deeds.echo, (bytes(9 << 20),), 2),  # more than is sent to a quick place
        (deeds.fill, (256 << 20,), 2),  # more memory than one has
        (deeds.toil, (0.5,), 2),  # more processor time
    ],
)
def test_what_needs_more_than_a_quick_place_is_begun_again(
    roomy: Pool, work: Callable[..., bytes], arguments: tuple[object, ...], begun: int
) -> None:
    assert tried(roomy, ROOMY, work, *arguments) == (begun, work(*arguments))


@pytest.mark.parametrize(
    "work, arguments, says",
    [
        (deeds.refuse, (), "there is no such graph"),
        (deeds.exceed, (), "more than one row"),
        (deeds.misread, (), "It is bad."),
        (deeds.nest, (), "nested too deeply"),
        (deeds.err, (), "nobody expects it"),
        (deeds.signalled, (signal.SIGSEGV,), "SIGSEGV"),
    ],
)
def test_what_fails_by_its_own_rules_is_not_done_twice(
    roomy: Pool, work: Callable[..., bytes], arguments: tuple[object, ...], says: str
) -> None:
    begun, outcome = tried(roomy, ROOMY, work, *arguments)
    assert begun == 1 and isinstance(outcome, Exception) and says in str(outcome)


def test_what_needs_all_its_time_in_a_quick_place_is_not_given_it_again(roomy: Pool) -> None:
    begun, outcome = tried(roomy, BRIEF, deeds.spin)
    assert begun == 1 and isinstance(outcome, TooMuch) and str(outcome) == str(OF_QUESTIONS.of_processor(BRIEF.seconds))


@pytest.mark.parametrize("foreseen, read", [(0, [8, 20]), (400_000, [8, 20]), (450_000, [0, 20])])
def test_no_more_is_read_for_a_quick_place_than_it_takes(roomy: Pool, foreseen: int, read: list[int]) -> None:
    """Pieces of a MiB each, of which it takes eight; and nothing at all, if it is known beforehand that there is more."""
    pieces: list[list[int]] = []

    def attempt(place: Place) -> bytes:
        allowance = Allowance(1 << 30, "the test reads", "ask for less", place.expect)
        pieces.append([])
        allowance.foresee(foreseen)
        for piece in range(20):
            allowance.window(1 << 20)
            pieces[-1].append(piece)
        return bytes(place.run(ROOMY, deeds.echo, b"read"))

    assert roomy.attempt("test", attempt) == b"read"
    assert [len(found) for found in pieces] == read


def test_a_body_is_tried_for_as_long_as_it_deserves_and_a_slow_one_keeps_no_other_waiting(
    roomy: Pool, tmp_path: Path
) -> None:
    """A slow one is begun in the place for first tries, and once more in the long one, where it goes on while others
    are read that take longer than any small question may."""
    path, other = str(tmp_path / "begun"), str(tmp_path / "end")
    for pipe in (path, other):
        os.mkfifo(pipe)
    told: list[str] = []

    begun = iter([(deeds.spin,), (deeds.hold, path, other)])

    def slow(place: Place) -> str:
        return bytes(place.run(ROOMY, *next(begun))).decode()

    def read() -> None:
        told.append(roomy.attempt(BODY, slow, seconds=0.05, part="slow"))

    thread = threading.Thread(target=read)
    thread.start()
    with open(path, "rb") as said:
        assert said.read(1) == b"!"
    assert (roomy.working("long bodies"), roomy.working("bodies")) == (1, 0)
    for _ in range(3):
        assert roomy.attempt(BODY, lambda place: bytes(place.run(ROOMY, deeds.toil, 0.3)), seconds=5.0) == b"toiled"
    assert roomy.working("long bodies") == 1
    with open(other, "wb") as end:
        end.write(b"!")
    thread.join()
    assert told == ["held"] and not roomy.working("long bodies")


OWNER = """
import sys
from csparql_spark.answers.limits import Limits
from csparql_spark.asking.guarded import Pool
from tests.asking.guarded import deeds
with Pool(memory=1 << 27).place("test") as place:
    place.run(Limits(milliseconds=600_000), deeds.say_and_spin, sys.argv[1])
"""


def test_children_end_with_the_process_that_they_work_for(tmp_path: Path) -> None:
    said = str(tmp_path / "said")
    os.mkfifo(said)
    with subprocess.Popen([sys.executable, "-c", OWNER, said]) as owner:
        with open(said) as opened:
            child = os.pidfd_open(int(opened.readline()))
        owner.kill()
    gone, _, _ = select.select([child], [], [], 30)
    os.close(child)
    assert gone


TEXTS = [
    'SELECT ?s (CONCAT(STR(?o), "x") AS ?t) { ?s <urn:p> ?o }',
    "SELECT * { ?a <urn:p> ?x . ?b <urn:p> ?y . ?c ?q ?z }",
    "ASK { <urn:s3> <urn:p> 3 }",
    "CONSTRUCT { ?o <urn:of> ?s } WHERE { ?s <urn:p> ?o }",
    "DESCRIBE <urn:s3>",
    "SELECT (GROUP_CONCAT(STR(?s)) AS ?all) { ?s ?p ?o } GROUP BY ?p",
]


@pytest.mark.parametrize("text", TEXTS)
def test_answers_are_those_that_are_found_here(roomy: Pool, text: str) -> None:
    number = "<http://www.w3.org/2001/XMLSchema#integer>"
    chunk = Chunk.from_triples([(f"<urn:s{i}>", "<urn:p>", f'"{i}"^^{number}') for i in range(80)])
    question, limits = Question(text, {"urn:g": chunk}), Limits()
    answer = ask(question, limits)
    media_type = formats.OFFERED[answer.kind][0]
    assert done(roomy, work.answered, question, limits, media_type) == formats.write(answer, media_type)
    assert restored(work_form(roomy, text), text) == read(text, None)


def work_form(guarded: Pool, text: str) -> object:
    return json.loads(done(guarded, work.compiled_form, text, None))
