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

import numpy as np
import pytest

from csparql_spark.answers import formats
from csparql_spark.answers.limits import Limits, TooManyRows, TooMuch
from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.guarded import Crowded, Pool, children, pool, work
from csparql_spark.asking.guarded.failures import UnexpectedFailure
from csparql_spark.asking.one_shot import Question, ask
from csparql_spark.language import LanguageError
from csparql_spark.language.queries.compiled import restored
from csparql_spark.language.queries.query_cache import read
from csparql_spark.rdf.chunk import Chunk
from tests.asking.guarded import deeds

ROOMY = Limits(milliseconds=60_000)
BRIEF = Limits(milliseconds=200)
MEMORY = 128 << 20


@pytest.fixture
def guarded() -> Iterator[Pool]:
    with contextlib.closing(Pool(memory=MEMORY)) as made:
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
    assert refused(guarded, deeds.spin, limits=BRIEF) == str(BRIEF.too_long)
    assert done(guarded, deeds.number) != first
    # What it has used before is no part of the next one's.
    for _ in range(3):
        assert done(guarded, deeds.total, np.ones(10_000_000), limits=Limits(milliseconds=1000)) == b"10000000"


def test_the_clock_is_over(guarded: Pool, monkeypatch) -> None:
    brief = Limits(milliseconds=10)
    assert refused(guarded, deeds.rest, 60.0, limits=brief) == str(brief.too_long_on_the_clock)
    monkeypatch.setattr(pool, "GRACE", 0.2)
    assert refused(guarded, deeds.stop, limits=brief) == str(brief.too_long_on_the_clock)


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
    zygote = children._running[0]
    os.kill(zygote.pid, signal.SIGKILL)
    zygote.wait()
    assert done(guarded, deeds.number) == first  # who is there goes on
    with contextlib.closing(Pool(memory=MEMORY)) as another:
        assert done(another, deeds.echo, b"there again") == b"there again"
    assert children._running[0].pid != zygote.pid
    assert done(guarded, deeds.number) != first  # with a zygote its children end


def test_a_crowd_waits_and_delays_no_other_kind(tmp_path: Path) -> None:
    """One works, one waits, the third is sent home; another kind is served at once."""
    begun, end = str(tmp_path / "begun"), str(tmp_path / "end")
    for path in (begun, end):
        os.mkfifo(path)
    with contextlib.closing(Pool(memory=MEMORY, at_once=1, waiting=1)) as narrow:
        told: list[bytes] = []
        first = threading.Thread(target=lambda: told.append(done(narrow, deeds.hold, begun, end)))
        first.start()
        with open(begun, "rb") as opened:
            assert opened.read(1) == b"!"
        second = threading.Thread(target=lambda: told.append(done(narrow, deeds.echo, b"second")))
        second.start()
        while not narrow._lanes["test"].queue:
            threading.Event().wait(0.001)
        with pytest.raises(Crowded, match="1 questions wait already"):
            done(narrow, deeds.echo, b"third")
        with narrow.place("other") as place:
            assert place.run(ROOMY, deeds.echo, b"other") == b"other"
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
        assert not narrow._lanes["test"].queue


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
def test_answers_are_those_that_are_found_here(guarded: Pool, text: str) -> None:
    guarded.memory = 1 << 30
    number = "<http://www.w3.org/2001/XMLSchema#integer>"
    chunk = Chunk.from_triples([(f"<urn:s{i}>", "<urn:p>", f'"{i}"^^{number}') for i in range(80)])
    question, limits = Question(text, {"urn:g": chunk}), Limits()
    answer = ask(question, limits)
    media_type = formats.OFFERED[answer.kind][0]
    assert done(guarded, work.answered, question, limits, media_type) == formats.write(answer, media_type)
    assert restored(work_form(guarded, text), text) == read(text, None)


def work_form(guarded: Pool, text: str) -> object:
    return json.loads(done(guarded, work.compiled_form, text, None))
