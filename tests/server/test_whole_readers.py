"""What is held of the newest answers: it is theirs, and there is no more of it than there may be."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

from csparql_spark.answers.bindings import Result
from csparql_spark.server.subscribers import whole_readers
from csparql_spark.server.subscribers.whole_readers import WholeReaders
from csparql_spark.store import StoredAnswer
from tests.store.opened import Opened

MOST = 1 << 20
NAMES = [f"<urn:{number:05}>" for number in range(800)]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store(tmp_path: Path):
    opened = Opened(tmp_path / "data")
    for query in (1, 2, 3):
        answers = [Result.bindings(("x",), [NAMES[at : at + 600]]).to_bytes() for at in range(1, 11)]
        opened.answers.write([StoredAnswer(query, at, 0, 600, one) for at, one in enumerate(answers, 1)])
    yield opened
    opened.close()


def test_each_instant_is_read_in_any_order(store: Opened) -> None:
    assert store.answers.change(1, 10) is not None
    wholes = WholeReaders(store.answers)
    for instant in (1, 5, 4, 5, 5, 10, 2, 11, 10):
        assert wholes.at(1, instant, MOST) == store.answers.at(1, instant)
    assert 0 < wholes.nbytes < 60_000


def test_what_nobody_goes_on_from_is_dropped(store: Opened) -> None:
    clock = Clock()
    wholes = WholeReaders(store.answers, clock)
    wholes.at(1, 3, MOST)
    one = wholes.nbytes
    clock.now = 20
    wholes.at(2, 3, MOST)
    assert wholes.nbytes == 2 * one
    clock.now = 40
    wholes.at(2, 4, MOST)
    assert wholes.nbytes < 1.1 * one and list(wholes._held) == [2]


def test_there_is_no_more_than_there_may_be(store: Opened) -> None:
    wholes = WholeReaders(store.answers)
    wholes.at(1, 3, MOST)
    with mock.patch.object(whole_readers, "MOST_BYTES", int(2.5 * wholes.nbytes)):
        for query in (2, 3, 1, 2):
            assert wholes.at(query, 4, MOST) == store.answers.at(query, 4)
            assert wholes.nbytes <= whole_readers.MOST_BYTES
        assert list(wholes._held) == [1, 2]
    with mock.patch.object(whole_readers, "MOST_BYTES", 10):
        assert wholes.at(3, 4, MOST) == store.answers.at(3, 4) and wholes.nbytes <= 10
