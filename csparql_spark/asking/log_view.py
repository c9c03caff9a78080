"""What streams and graphs hold now, as the log tells it: for questions that are asked once, beside the engine.

What is damaged in the log cannot be asked about: `Damaged` says so, to those whose question needs it.

    current = Current(log, registry)
    current.elements("http://…/temp", low=7_000, high=17_000)      # stamped, in the order of the log
    current.seen(query.windows, 17_000, after=41)                   # all that its windows see then, by stream
    current.pieces(window, 17_000, after=41)                        # the same for one, piece by piece
    current.graph("http://…/building")
    current.newest("http://…/temp")                                 # the newest stamp, None if there is none
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from csparql_spark.disk.damage import Damaged
from csparql_spark.language import Window
from csparql_spark.log import Log
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.store import Registry
from csparql_spark.windows.rule import bounds_of, inside


class Current:
    def __init__(self, log: Log, registry: Registry) -> None:
        self._log, self._registry = log, registry

    def elements(self, stream: str, *, low: int, high: int, after: int = 0) -> Chunk:
        """The elements stamped low < t <= high that were logged after the place `after`."""
        return Chunk.concat(list(self._pieces(stream, low, high, after)))

    def pieces(self, window: Window, instant: int, *, after: int) -> Iterator[Chunk]:
        """The elements among which one window finds at an instant what it sees, read one entry of the log after the
        other."""
        if window.triples is not None:
            return self._last(window.stream, window.triples, instant, after)
        return self._pieces(window.stream, bounds_of(window, instant).low, instant, after)

    def _last(self, stream: str, count: int, instant: int, after: int) -> Iterator[Chunk]:
        """The last entries that hold so many elements up to the instant: what was logged before is not read."""
        held: list[Chunk] = []
        for entry in self._log.recent(stream, after):
            if count <= 0:
                break
            chunk = Chunk.from_ipc(entry.payload).stamped(entry.at)
            held.append(chunk.take(chunk.t <= instant))
            count -= len(held[-1])
        return reversed(held)

    def _pieces(self, stream: str, low: int, high: int, after: int) -> Iterator[Chunk]:
        for entry in self._log.chunks(stream, low=low, high=high, after=after):
            chunk = Chunk.from_ipc(entry.payload).stamped(entry.at)
            yield chunk.take(inside(chunk.t, low, high))

    def seen(self, windows: Collection[Window], instant: int, *, after: int) -> dict[str, Chunk]:
        """For each stream, the elements among which windows find at an instant what they see."""
        opens: dict[str, list[int]] = {}
        for window in windows:
            opens.setdefault(window.stream, []).append(bounds_of(window, instant).low)
        return {stream: self.elements(stream, low=min(lows), high=instant, after=after)
                for stream, lows in opens.items()}

    def newest(self, stream: str) -> int | None:
        """The newest stamp in a stream."""
        return self._log.newest(stream)

    def graph(self, iri: str) -> Chunk:
        """A background graph; empty if there is none."""
        entry = self._log.last(iri, "background", self._log.tail())
        return Chunk.empty() if entry is None or entry.payload is None else Chunk.from_ipc(entry.payload)

    def rules(self, wanted: Collection[str] = ()) -> dict[str, str]:
        """The texts of the users' rule sets. Raises `Damaged` if one that is wanted is; others are left out."""
        tail, texts = self._log.tail(), {}
        for setting in self._registry.settings("rules"):
            entry = self._log.last_as_is(setting.name, "rules", tail)
            if entry is None:           # set, or deleted, in this moment
                continue
            if entry.damage is not None:
                if setting.name in wanted:
                    raise Damaged(entry.damage)
            elif entry.payload is not None:
                texts[setting.name] = entry.payload.decode()
        return texts
