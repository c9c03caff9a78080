"""Whole readers: the newest answers of queries whose wholes somebody listens to, held to go on from.

    wholes = WholeReaders(answers)
    wholes.at(17, 18_000, most=64 << 20)      # the parts of that answer, put together of the one before and a change

An answer that is stored as what has changed is put together of all that came since its keyframe. Who tells one after
the other needs only what is new: so what was read last of a query is held here, as long as somebody asks for the next.

Invariants: at most MOST_BYTES are held, and nothing that nobody has gone on from in UNUSED_SECONDS, once something else
is read.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from csparql_spark.store import AnswerStore, StoredAnswer
from csparql_spark.store.chains import ChainReader

MOST_BYTES = 32 << 20
UNUSED_SECONDS = 30.0


class HeldReader(NamedTuple):
    reader: ChainReader
    instant: int  # that it has read last
    nbytes: int
    used: float


class WholeReaders:
    def __init__(self, answers: AnswerStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._answers, self._clock = answers, clock
        self._held: OrderedDict[int, HeldReader] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        return self._bytes

    def at(self, query: int, instant: int, most: int) -> list[StoredAnswer]:
        """The parts of an answer of so many bytes at most; none if it is forgotten. Raises `TooManyBytes`."""
        held = self._take(query, instant)
        reader = self._answers.reader(query) if held is None else held.reader
        parts = reader.within(instant, most)
        with self._lock:
            self._put(query, HeldReader(reader, instant, reader.nbytes, self._clock()))
        return parts

    def _take(self, query: int, instant: int) -> HeldReader | None:
        """That of a query, to be read with by nobody else meanwhile. Who asks for what is older does without."""
        with self._lock:
            held = self._held.get(query)
            if held is None or held.instant > instant:
                return None
            self._drop(query)
            return held

    def _put(self, query: int, held: HeldReader) -> None:
        other = self._held.get(query)
        if held.nbytes <= MOST_BYTES and (other is None or other.instant <= held.instant):
            self._drop(query)
            self._held[query] = held
            self._bytes += held.nbytes
        while self._held and (self._bytes > MOST_BYTES or self._oldest.used < held.used - UNUSED_SECONDS):
            self._drop(next(iter(self._held)))

    @property
    def _oldest(self) -> HeldReader:
        return next(iter(self._held.values()))

    def _drop(self, query: int) -> None:
        held = self._held.pop(query, None)
        if held is not None:
            self._bytes -= held.nbytes
