"""Readings: the queries of texts. A text is read where it is let in; every later room is told what was read.

    read(text, base)                                # parses
    read(text, base, record.compiled)               # takes the compiled form, if it is one of this version
    compiled_of(read(text, base))                   # what goes into the log beside the text

A registration's name makes no other query of a text: `REGISTER QUERY a AS …` and `REGISTER QUERY b AS …` are parsed
once, and share all but the name. A compiled form is only ever a quicker way to what the text says: without one, or with
one of another version, the text is parsed: by `parse`, or as a process has said that it wants texts to be read, one
that serves (`read_elsewhere`).

Invariants: at most so many bytes of queries are remembered, about, and none that nobody has asked for in a while. Texts
are parsed by whoever asks, under no lock.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from csparql_spark.language import ContinuousQuery, parse
from csparql_spark.language.queries.compiled import Form, compiled, restored
from csparql_spark.language.queries.grammar import KEYWORDS

MOST_BYTES = 32 << 20
OVERHEAD = 1000  # bytes of a query besides its texts, about
MOST_SPREAD = 4096  # a form is this much longer than twice its text at most; else it stays out of the log

_NAMED = re.compile(r"\s*REGISTER\s+(?:QUERY|STREAM)\s+([A-Za-z_][A-Za-z0-9_]*)(?=\s)", re.ASCII | re.IGNORECASE)


class Readings:
    """The queries of texts, each parsed once as long as somebody asks for it. What nobody has asked for in a while is
    dropped: queries come and go, and their texts are never the same again."""

    def __init__(
        self,
        seconds: float,
        most: int,
        clock: Callable[[], float] = time.monotonic,
        parsed: Callable[..., ContinuousQuery] = parse,
    ) -> None:
        """`most`: how many bytes of queries are remembered, about."""
        self._seconds, self._most, self._clock, self.parsed = seconds, most, clock, parsed
        self._entries: OrderedDict[Hashable, tuple[ContinuousQuery, float]] = OrderedDict()
        self._lock = threading.Lock()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def of(self, text: str, base: str | None, form: object = None) -> ContinuousQuery:
        return self._found((text, base)) or self._hold((text, base), restored(form, text) or self._read(text, base))

    def known(self, text: str, base: str | None) -> ContinuousQuery | None:
        return self._found((text, base))

    def _read(self, text: str, base: str | None) -> ContinuousQuery:
        name = _name(text)
        if name is None:
            return self.parsed(text, base=base)
        key = (text[: name.start(1)], text[name.end(1) :], base)
        shared = self._found(key)
        if shared is not None:
            return replace(shared, text=text, name=name[1])
        query = self.parsed(text, base=base)
        # Warnings name columns, which are others behind a longer name.
        return query if query.warnings else self._hold(key, query)

    def _found(self, key: Hashable) -> ContinuousQuery | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries[key] = entry[0], self._clock()
            self._entries.move_to_end(key)
            return entry[0]

    def _hold(self, key: Hashable, query: ContinuousQuery) -> ContinuousQuery:
        now = self._clock()
        with self._lock:
            if key in self._entries:
                return self._entries[key][0]
            self._entries[key] = query, now
            self.bytes += _size(query)
            while len(self._entries) > 1 and (
                self.bytes > self._most or now - next(iter(self._entries.values()))[1] > self._seconds
            ):
                _, (dropped, _) = self._entries.popitem(last=False)
                self.bytes -= _size(dropped)
        return query


_readings = Readings(seconds=300, most=MOST_BYTES)  # a server looks at all of its queries more often than that


def read(text: str, base: str | None, form: object = None) -> ContinuousQuery:
    """The query of a text, which has that compiled form if there is one."""
    return _readings.of(text, base, form)


@contextmanager
def read_elsewhere(parsed: Callable[..., ContinuousQuery]) -> Iterator[None]:
    """Texts without a compiled form are read by `parsed(text, base=…)`, as long as this goes on."""
    before, _readings.parsed = _readings.parsed, parsed
    try:
        yield
    finally:
        _readings.parsed = before


def known(text: str, base: str | None) -> ContinuousQuery | None:
    """The query of a text that was read a while ago."""
    return _readings.known(text, base)


def compiled_of(query: ContinuousQuery) -> Form | None:
    """The form that travels with a query; None if it would be far longer than its text."""
    form = compiled(query)
    return form if len(json.dumps(form)) <= 2 * len(query.text) + MOST_SPREAD else None


def _name(text: str) -> re.Match[str] | None:
    """Where a registration at the beginning of a text says its name, if that is a plain word and none of the
    language's."""
    found = _NAMED.match(text)
    return None if found is None or found[1].upper() in KEYWORDS or found[1] == "a" else found


def _size(query: ContinuousQuery) -> int:
    return OVERHEAD + len(query.text) + len(query.body)
