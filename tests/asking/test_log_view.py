"""What streams hold now, as the log tells it: as much of the log is read as a window needs."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from csparql_spark.asking.log_view import Current
from csparql_spark.language import Window
from csparql_spark.log import Entry
from csparql_spark.rdf.chunk import Chunk


class Recent:
    """A log of entries of two elements each, stamped with their place; `read` has the places that were read."""

    def __init__(self) -> None:
        self.read: list[int] = []

    def recent(self, stream: str, after: int) -> Iterator[Entry]:
        for seq in range(9, after, -1):
            self.read.append(seq)
            chunk = Chunk.from_triples([(f"<urn:{seq}>", "<urn:p>", f'"{place}"') for place in range(2)], [seq, seq])
            yield Entry(seq, "chunk", 0, stream, 2, seq, seq, 0, chunk.to_ipc())


@pytest.mark.parametrize(("triples", "instant", "after", "seen", "read"), [
    (3, 9, 0, [8, 8, 9, 9], [9, 8]),
    (4, 7, 0, [6, 6, 7, 7], [9, 8, 7, 6]),                 # what came after the instant is not among them
    (100, 9, 6, [7, 7, 8, 8, 9, 9], [9, 8, 7]),            # nor what was logged before the query
])
def test_a_window_that_counts_reads_the_end_of_the_log(
        triples: int, instant: int, after: int, seen: list[int], read: list[int]) -> None:
    log = Recent()
    window = Window("urn:s", triples=triples, triples_step=1)
    pieces = Current(log, SimpleNamespace()).pieces(window, instant, after=after)
    assert [t for piece in pieces for t in piece.t.tolist()] == seen
    assert log.read[:len(read)] == read and len(log.read) <= len(read) + 1
