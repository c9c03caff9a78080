"""A store with the entries of a small history."""

from __future__ import annotations

from csparql_spark.rdf.chunk import Chunk
from csparql_spark.store import QueryRecord, StreamRecord
from tests.engine.asked import Asked

from ..store.opened import Opened

FUTURE = 4_000_000_000_000  # no tail that is stamped with it becomes old while a test runs
ANY = (("?s", "<urn:p>", "?o"),)


class Pushed(Opened):
    """Each method returns the place of what it wrote."""

    def stream(self, iri: str, clock: str = "arrival") -> int:
        return self.writer.append(StreamRecord.draft(iri, name=iri[4:], clock=clock, delay=0)).seq

    def query(self, name: str, stream: str = "urn:a", graphs: tuple[str, ...] = ()) -> int:
        text = Asked.over(stream, 1000, 1000, ("s",), ANY, graphs=graphs).text
        return self.writer.append(QueryRecord.draft(name, text=text, base=None)).seq

    def chunk(self, *subjects: str, stream: str = "urn:a", stamps: list[int] | None = None) -> int:
        chunk = Chunk.from_triples(
            [(f"<urn:{s}>", "<urn:p>", "<urn:o>") for s in subjects], stamps or [Chunk.UNSTAMPED] * len(subjects)
        )
        return self.append(
            "chunk",
            stream,
            rows=len(chunk),
            first=chunk.first,
            last=chunk.last,
            unstamped=chunk.unstamped,
            payload=chunk.to_ipc(),
        ).seq

    def graph(self, iri: str, *subjects: str) -> int:
        chunk = Chunk.from_triples([(f"<urn:{s}>", "<urn:p>", "<urn:o>") for s in subjects])
        return self.append("background", iri, rows=len(chunk), payload=chunk.to_ipc()).seq

    def tick(self, at: int) -> int:
        return self.append("tick", at=at).seq


def history(store: Pushed) -> int:
    """Streams on both clocks, background in two versions, queries that come and go; the place of the last entry."""
    store.stream("urn:a")
    store.stream("urn:e", "event")
    store.graph("urn:g", "old")
    store.query("q", graphs=("urn:g",))
    store.chunk("a", "b")
    store.chunk("nobody", stream="urn:other")
    store.graph("urn:g", "new")
    store.query("r", "urn:e", ("urn:g",))
    store.chunk("c", stream="urn:e", stamps=[5])
    store.query("s", graphs=("urn:g",))
    store.tick(FUTURE + 1000)
    store.append("unregister", "q")
    store.chunk("d")
    store.append("unregister", "s")
    store.chunk("e")
    return store.tick(FUTURE + 2000)


# --- how far to read
