"""What streams and graphs hold now, and what windows held at an instant, as the log tells it: for questions that are
asked once, beside the engine.

What is damaged in the log cannot be asked about: `Damaged` says so, to those whose question needs it.

    current = Current(log, registry)
    current.elements("http://…/temp", low=7_000, high=17_000)      # stamped, in the order of the log
    sighting = current.sighting(record, 17_000)                     # where the log stood when it was answered
    current.windows(query, sighting)                                # what each of its windows held
    current.holding(query.windows[0], 0, sighting)                  # the same for one, piece by piece
    current.graph("http://…/building")                              # as it is now
    current.background(query, sighting)                             # the graphs of a query, as they were
    current.newest("http://…/temp")                                 # the newest stamp, None if there is none
    current.within(Allowance(…)).windows(query, sighting)           # the same; raises AllowanceSpent while it is read
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from csparql_spark.asking.allowance import Allowance
from csparql_spark.asking.moments import Moments, Sighting
from csparql_spark.asking.one_shot import Watched
from csparql_spark.disk.damage import Damaged
from csparql_spark.engine.moment import Moment
from csparql_spark.language import ContinuousQuery, Window
from csparql_spark.log import Log
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.store import QueryRecord, Registry
from csparql_spark.windows.counting import TurnCount
from csparql_spark.windows.progress import Clock
from csparql_spark.windows.rule import bounds_of, inside


class Current:
    def __init__(self, log: Log, registry: Registry, allowance: Allowance | None = None) -> None:
        self._log, self._registry, self._allowance = log, registry, allowance

    def within(self, allowance: Allowance) -> Current:
        """The same for one question: what it reads counts, and raises `AllowanceSpent` as soon as that is too much."""
        return Current(self._log, self._registry, allowance)

    def elements(self, stream: str, *, low: int, high: int, after: int = 0) -> Chunk:
        """The elements stamped low < t <= high that were logged after the place `after`."""
        return Chunk.concat(list(self._pieces(stream, low, high, Moment(after, high, self._log.tail()))))

    def count(self, stream: str, *, low: int, high: int, after: int = 0) -> int:
        """How many those are, of which no more than one entry is held at a time."""
        return sum(len(piece) for piece in self._pieces(stream, low, high, Moment(after, high, self._log.tail())))

    def sighting(self, record: QueryRecord, instant: int) -> Sighting:
        """Where the log stood when a query answered an instant, and its windows that count."""
        return Moments(self._log, self._clock).sighting(record, instant)

    def watched(self, record: QueryRecord, query: ContinuousQuery, instant: int) -> Watched:
        """What a query saw when it answered an instant."""
        sighting = self.sighting(record, instant)
        return Watched(query, instant, self.windows(query, sighting), self.background(query, sighting))

    def windows(self, query: ContinuousQuery, sighting: Sighting) -> list[Chunk]:
        """What each window of a query held, in the order of its text."""
        return [Chunk.concat(list(self.holding(window, place, sighting))) for place, window in enumerate(query.windows)]

    def holding(self, window: Window, place: int, sighting: Sighting) -> Iterator[Chunk]:
        """What a window held, the `place`-th of its query, read one entry of the log after the other."""
        count = sighting.counts.get(place)
        if count is not None:
            return self._counted(window, count, sighting.moment)
        bounds = bounds_of(window, sighting.moment.instant)
        return self._pieces(window.stream, bounds.low, bounds.closes, sighting.moment)

    def _counted(self, window: Window, count: TurnCount, moment: Moment) -> Iterator[Chunk]:
        """What a window held that counts: no more is read than the last entries that hold so many elements."""
        begin, end = count.view()
        pieces: list[Chunk] = []
        later = 0  # elements that were logged after those of an entry, up to the moment
        for entry in self._log.recent(window.stream, moment.since, moment.seq) if end else ():
            chunk = Chunk.from_ipc(entry.payload).stamped(entry.at)
            after, elements = _after(window, chunk)
            pieces.append(
                self._counted_in(chunk.take(np.flatnonzero((after + later >= begin) & (after + later < end))))
            )
            later += elements
            if later >= end:
                break
        return reversed(pieces)

    def _pieces(self, stream: str, low: int, high: int, moment: Moment) -> Iterator[Chunk]:
        for entry in self._log.chunks(stream, low=low, high=high, after=moment.since):
            if entry.seq <= moment.seq:
                chunk = Chunk.from_ipc(entry.payload).stamped(entry.at)
                yield self._counted_in(chunk.take(np.flatnonzero(inside(chunk.t, low, high))))

    def _counted_in(self, piece: Chunk) -> Chunk:
        if self._allowance is not None:
            self._allowance.window(piece.size)
        return piece

    def _clock(self, stream: str) -> Clock:
        record = self._registry.stream(stream)
        return Clock("arrival") if record is None else Clock(record.clock, record.delay)

    def newest(self, stream: str) -> int | None:
        """The newest stamp in a stream."""
        return self._log.newest(stream)

    def background(self, query: ContinuousQuery, sighting: Sighting) -> dict[str, Chunk]:
        """The background graphs of a query, as they were."""
        return {graph: self.graph(graph, sighting.moment.seq) for graph in (*query.graphs, *query.named_graphs)}

    def graph(self, iri: str, upto: int | None = None) -> Chunk:
        """A background graph as it is, or as it was at a place of the log; empty if there is none. Queries are let in
        only where the graphs are that they read: what is not found is forgotten, and that of now stands for it."""
        entry = None if upto is None else self._log.last(iri, "background", upto)
        if entry is None:
            entry = self._log.last(iri, "background", self._log.tail())
        return Chunk.empty() if entry is None or entry.payload is None else self._triples(entry.payload)

    def payload(self, iri: str) -> bytes | None:
        """The bytes of a background graph as it is, which whoever looks at it makes a chunk of; None if there is
        none."""
        entry = self._log.last(iri, "background", self._log.tail())
        if entry is None or entry.payload is None:
            return None
        if self._allowance is not None:
            self._allowance.graph(len(entry.payload))
        return entry.payload

    def version(self, iri: str) -> tuple[int, Chunk] | None:
        """The place of the entry that has set a background graph as it is, and its triples; None if there is none."""
        entry = self._log.last(iri, "background", self._log.tail())
        return None if entry is None or entry.payload is None else (entry.seq, self._triples(entry.payload))

    def _triples(self, payload: bytes) -> Chunk:
        """A graph, which shares the memory of its payload, and counts before it is looked at."""
        if self._allowance is not None:
            self._allowance.graph(len(payload))
        return Chunk.from_ipc(payload)

    def rules(self, wanted: Collection[str] = ()) -> dict[str, str]:
        """The texts of the users' rule sets. Raises `Damaged` if one that is wanted is; others are left out."""
        tail, texts = self._log.tail(), {}
        for setting in self._registry.settings("rules"):
            entry = self._log.last_as_is(setting.name, "rules", tail)
            if entry is None:  # set, or deleted, in this moment
                continue
            if entry.damage is not None:
                if setting.name in wanted:
                    raise Damaged(entry.damage)
            elif entry.payload is not None:
                texts[setting.name] = entry.payload.decode()
        return texts


def _after(window: Window, chunk: Chunk) -> tuple[np.ndarray, int]:
    """For each triple of an entry how many elements of it came after its own, and how many elements there are: for
    ELEMENTS, triples with one stamp are one."""
    numbers = np.arange(len(chunk)) if window.elements is None else np.unique(chunk.t, return_inverse=True)[1]
    elements = int(numbers.max(initial=-1)) + 1
    return elements - 1 - numbers, elements
