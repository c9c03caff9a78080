from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.dictionary import SPARE
from csparql_spark.windows.content import END_OF_TIME, Content, Elements
from csparql_spark.windows.slides import LONGEST
from tests.examples import examples

Triple = tuple[str, str, str]


def told(content: Content, elements: Elements) -> list[tuple[int, Triple]]:
    """The elements as (seq, triple), sorted."""
    terms = [content.dictionary.decode(column) for column in elements[:3]]
    return sorted(zip(elements.seq.tolist(), zip(*terms, strict=True), strict=True))


def numbered(stamps: list[int], prefix: str = "n") -> Chunk:
    return Chunk.from_triples([(f"<urn:{prefix}{t}>", "<urn:p>", f'"{t}"') for t in stamps], stamps)


def stamps(content: Content, stream: int, low: int, high: int, since: int = -1) -> list[int]:
    elements = content.window(stream, low, high, since)
    return sorted(int(s.removeprefix("<urn:n").removesuffix(">")) for _, (s, _, _) in told(content, elements))


def size(content: Content) -> int:
    """How many elements it has memory for."""
    return sum(slides.size for slides in content._slides.values())


def test_both_edges_of_a_window() -> None:
    """
          10                   20
    ───●──(─────●──────────●───]──●──▶
       9  10    11         20     21        (t − R, t] with R = 10 and t = 20
    """
    content = Content()
    content.add(0, 1, numbered([9, 10, 11, 20, 21]))
    assert stamps(content, 0, 10, 20) == [11, 20]
    assert stamps(content, 0, 8, 10) == [9, 10]
    assert stamps(content, 0, 20, 20) == stamps(content, 0, 21, 99) == []


def test_a_query_sees_what_was_logged_after_it() -> None:
    content = Content()
    for seq in (3, 5, 8):
        content.add(0, seq, numbered([seq]))
    assert [stamps(content, 0, 0, 99, since) for since in (-1, 2, 3, 4, 5, 8)] == [
        [3, 5, 8],
        [3, 5, 8],
        [5, 8],
        [5, 8],
        [8],
        [],
    ]


def test_streams_are_apart() -> None:
    content = Content()
    content.add(0, 1, numbered([1, 2]))
    content.add(1, 2, numbered([2, 3]))
    assert [stamps(content, stream, 0, 9) for stream in (0, 1, 2)] == [[1, 2], [2, 3], []]


def test_it_is_a_bag() -> None:
    content = Content()
    triple = ("<urn:a>", "<urn:p>", "<urn:b>")
    content.add(0, 1, Chunk.from_triples([triple, triple], [5, 6]))
    content.add(0, 2, Chunk.from_triples([triple], [6]))
    assert told(content, content.window(0, 0, 9)) == [(1, triple), (1, triple), (2, triple)]
    assert len(content) == 3


def test_terms_that_look_alike_stay_apart() -> None:
    content = Content()
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    triples = [
        ("<urn:a>", "<urn:p>", term) for term in ('"1"', f'"1"{integer}', f'"01"{integer}', '"1"@en', "_:b1", "<urn:1>")
    ]
    content.add(0, 1, Chunk.from_triples(triples, [1] * 6))
    assert [triple for _, triple in told(content, content.window(0, 0, 1))] == sorted(triples)


def test_an_empty_chunk_is_nothing() -> None:
    content = Content()
    content.add(0, 1, Chunk.empty())
    assert len(content) == 0 and len(content.dictionary) == 0
    content.forget({0: 5})
    assert stamps(content, 0, -9, 9) == []


def test_late_ones_are_counted() -> None:
    content = Content()
    content.add(0, 1, numbered([1, 2, 3]))
    content.add(0, 2, numbered([2, 3, 4, 5]))
    content.add(1, 2, numbered([1, 1]))
    assert [content.late(0, 2, passed) for passed in (1, 2, 4, 9)] == [0, 1, 3, 4]


def test_background_holds_always_and_is_replaced_whole() -> None:
    content = Content()
    content.add(0, 4, numbered([5]))
    content.replace(1, numbered([1, 2]))
    assert stamps(content, 1, END_OF_TIME - 1, END_OF_TIME) == [1, 2]  # whatever stamps it had
    content.replace(2, Chunk.from_triples([("<urn:n7>", "<urn:p>", "<urn:o>")]))
    assert stamps(content, 2, END_OF_TIME - 1, END_OF_TIME) == [7]
    content.forget({0: 100})
    content.replace(2, Chunk.from_triples([("<urn:n8>", "<urn:p>", "<urn:o>")] * 2))
    assert stamps(content, 2, END_OF_TIME - 1, END_OF_TIME) == [8, 8]
    content.replace(2, Chunk.empty())
    assert stamps(content, 2, END_OF_TIME - 1, END_OF_TIME) == []


def numbers(content: Content, stream: int, since: int, begin: int, end: int, graphs: bool = False) -> list[int]:
    elements = content.counted(stream, since, begin, end, graphs=graphs)
    return [int(s[6:-1]) for s in content.dictionary.decode(elements.s)]


def test_triples_are_counted_from_the_newest_in_the_order_of_the_log() -> None:
    """
    entry              3           5         6           of another stream: 4
    stamps          7  2  9      4  4        1
    others after    5  4  3      2  1        0
    """
    content = Content()
    content.add(0, 3, numbered([7, 2, 9]))
    content.add(1, 4, numbered([5]))
    content.add(0, 5, numbered([4, 4]))
    content.add(0, 6, numbered([1]))
    assert numbers(content, 0, 0, 0, 9) == [7, 2, 9, 4, 4, 1]
    assert [numbers(content, 0, 0, 0, 2), numbers(content, 0, 0, 2, 4), numbers(content, 0, 0, 5, 99)] == [
        [4, 1],
        [9, 4],
        [7],
    ]
    assert numbers(content, 0, 3, 0, 9) == [4, 4, 1] and numbers(content, 0, 3, 2, 9) == [4]
    assert numbers(content, 0, 0, 2, 2) == numbers(content, 0, 0, 6, 9) == numbers(content, 2, 0, 0, 9) == []


def test_of_one_push_the_triples_with_one_stamp_are_one_element() -> None:
    """
    entry              3             5           6
    stamps          7  2  7  2       7  7        2
    element         B  A  B  A       C  C        D          within a push, in the order of their stamps
    others after    2  3  2  3       1  1        0
    """
    content = Content()
    content.add(0, 3, Chunk.from_triples([(f"<urn:n{i}>", "<urn:p>", "<urn:o>") for i in range(4)], [7, 2, 7, 2]))
    content.add(0, 5, Chunk.from_triples([(f"<urn:n{i}>", "<urn:p>", "<urn:o>") for i in range(4, 6)], [7, 7]))
    content.add(0, 6, Chunk.from_triples([("<urn:n6>", "<urn:p>", "<urn:o>")], [2]))
    assert [numbers(content, 0, 0, after, after + 1, True) for after in range(5)] == [[6], [4, 5], [0, 2], [1, 3], []]
    assert numbers(content, 0, 0, 1, 3, True) == [0, 2, 4, 5] and numbers(content, 0, 3, 0, 9, True) == [4, 5, 6]
    assert numbers(Content(), 0, 0, 0, 9, True) == []


def test_what_is_forgotten_gives_its_memory_back() -> None:
    content = Content()
    for second in range(40):
        low = 1000 * second
        content.add(0, second, numbered(list(range(low, low + 1000))))
        content.forget({0: low - 1000})
        assert stamps(content, 0, low - 1000, low + 999) == list(range(max(0, low - 999), low + 1000))
        # A window of 2000 elements: what has expired is gone, but for the room that it had in the slide of the oldest.
        assert len(content) == min(2, second + 1) * 1000 - (second > 0)
        assert size(content) <= 2000 + 2 * LONGEST and len(content.dictionary) <= 2 * 4 * 2000 + 2 * SPARE
    assert content.dictionary.generation > 0
    content.forget({0: END_OF_TIME})
    assert len(content) == size(content) == len(content.dictionary) == 0


def test_what_has_expired_is_gone_at_once_and_its_terms_when_as_much_has() -> None:
    content = Content()
    content.add(0, 1, numbered(list(range(5000))))
    terms = len(content.dictionary)
    content.forget({0: 2498})
    assert len(content) == 2501 and stamps(content, 0, 2498, 4999) == list(range(2499, 5000))
    assert len(content.dictionary) == terms
    content.forget({0: 4000})
    assert len(content) == 999 and stamps(content, 0, 4000, 4999) == list(range(4001, 5000))
    assert len(content.dictionary) == 2 * 999 + 1


def test_what_is_counted_stays_however_old_its_stamps_are() -> None:
    content = Content()
    for seq, t in enumerate([50, 1, 60, 2, 3, 70], 1):
        content.add(0, seq, numbered([t]))
    content.forget({0: END_OF_TIME}, {0: 5})
    assert numbers(content, 0, 0, 0, 9) == [3, 70]
    content.forget({0: END_OF_TIME, 7: 3}, {9: 1})
    assert len(content) == 0


def test_background_that_is_replaced_gives_its_terms_back() -> None:
    content = Content()
    content.add(0, 1, numbered([1, 2, 3]))
    for version in range(10):
        low = 5000 * version
        content.replace(1, Chunk.from_triples([(f"<urn:n{i}>", "<urn:p>", "<urn:o>") for i in range(low, low + 2000)]))
        assert len(content.dictionary) <= 2 * 2000 + 2 * SPARE + 2000
    assert stamps(content, 1, END_OF_TIME - 1, END_OF_TIME) == list(range(45_000, 47_000))
    assert stamps(content, 0, 0, 9) == [1, 2, 3]


# --- against a list of tuples


class Naive:
    """The same, in a list of (stream, seq, t, triple)."""

    def __init__(self) -> None:
        self.elements: list[tuple[int, int, int, Triple]] = []

    def add(self, stream: int, seq: int, chunk: Chunk) -> None:
        self.elements += [(stream, seq, t, triple) for triple, t in zip(chunk.triples(), chunk.t.tolist(), strict=True)]

    def replace(self, stream: int, chunk: Chunk) -> None:
        self.elements = [element for element in self.elements if element[0] != stream]
        self.add(stream, 0, chunk.stamped(END_OF_TIME))

    def window(self, stream: int, low: int, high: int, since: int) -> list[tuple[int, Triple]]:
        return sorted(
            (seq, triple) for of, seq, t, triple in self.elements if of == stream and low < t <= high and seq > since
        )

    def counted(self, stream: int, since: int, begin: int, end: int, graphs: bool) -> list[tuple[int, Triple]]:
        rows = [(seq, t, triple) for of, seq, t, triple in self.elements if of == stream and seq > since]
        if not graphs:
            return sorted((seq, triple) for after, (seq, _, triple) in enumerate(rows[::-1]) if begin <= after < end)
        order = sorted({(seq, t) for seq, t, _ in rows}, reverse=True)
        return sorted((seq, triple) for seq, t, triple in rows if begin <= order.index((seq, t)) < end)

    def late(self, stream: int, seq: int, passed: int) -> int:
        return sum(1 for of, place, t, _ in self.elements if (of, place) == (stream, seq) and t <= passed)


terms = st.sampled_from(["<urn:a>", "<urn:b>", '"1"', '"01"', "_:x"])
triples = st.tuples(terms, terms, terms)
pushes = st.lists(st.tuples(triples, st.integers(0, 20)), max_size=6)
moves = st.lists(
    max_size=12,
    elements=st.one_of(
        st.tuples(st.just("add"), st.integers(0, 2), pushes),
        st.tuples(st.just("replace"), st.just(3), pushes),
        st.tuples(st.just("forget"), st.integers(0, 2), st.integers(0, 25)),
    ),
)


@given(moves, st.data())
@settings(max_examples=examples(150), deadline=None)
def test_it_holds_what_a_list_would_hold(moves: list[tuple], data: st.DataObject) -> None:
    content, naive = Content(), Naive()
    horizons = dict.fromkeys(range(3), -1)
    for seq, (what, stream, value) in enumerate(moves, 1):
        if what == "forget":
            horizons[stream] = max(horizons[stream], value)
            content.forget(horizons)
        else:
            chunk = Chunk.from_triples([triple for triple, _ in value], [t for _, t in value])
            for twin in (content, naive):
                if what == "add":
                    twin.add(stream, seq, chunk)
                else:
                    twin.replace(stream, Chunk.from_triples(chunk.triples()))
        stream = data.draw(st.integers(0, 2))
        low = data.draw(st.integers(horizons[stream], 25))  # a window never reaches behind the horizon
        high, since = low + data.draw(st.integers(0, 12)), data.draw(st.integers(-1, seq))
        assert told(content, content.window(stream, low, high, since)) == naive.window(stream, low, high, since)
        assert told(content, content.window(3, END_OF_TIME - 1, END_OF_TIME)) == naive.window(
            3, END_OF_TIME - 1, END_OF_TIME, -1
        )
        if what == "add":
            assert content.late(moves[seq - 1][1], seq, low) == naive.late(moves[seq - 1][1], seq, low)


@given(
    st.lists(st.tuples(st.integers(0, 1), pushes), max_size=8),
    st.integers(0, 8),
    st.integers(0, 9),
    st.integers(0, 9),
    st.booleans(),
)
@settings(max_examples=examples(150), deadline=None)
def test_it_counts_as_a_list_would(made: list[tuple], since: int, begin: int, end: int, graphs: bool) -> None:
    content, naive = Content(), Naive()
    for seq, (stream, value) in enumerate(made, 1):
        chunk = Chunk.from_triples([triple for triple, _ in value], [t for _, t in value])
        content.add(stream, seq, chunk)
        naive.add(stream, seq, chunk)
    assert told(content, content.counted(0, since, begin, end, graphs=graphs)) == naive.counted(
        0, since, begin, end, graphs
    )


@pytest.mark.parametrize("prefix", ["n", "other"])
def test_compaction_keeps_meaning_and_says_that_ids_have_changed(prefix: str) -> None:
    content = Content()
    content.add(0, 1, numbered(list(range(5000)), prefix))
    content.add(0, 2, numbered(list(range(9000, 9010))))
    before = content.dictionary.generation
    content.forget({0: 8000})
    assert content.dictionary.generation == before + 1 and len(content.dictionary) == 21
    assert stamps(content, 0, 8000, 9999) == list(range(9000, 9010))
    content.forget({0: 8000})
    assert content.dictionary.generation == before + 1


def test_it_knows_from_where_on_it_is_whole() -> None:
    content = Content()
    content.add(0, 1, numbered([1, 2, 3, 9]))
    content.add(1, 2, numbered([5]))
    assert content.whole(0, -5) and content.whole(1, -5)
    content.forget({0: 4, 1: 4})
    assert (content.whole(0, 2), content.whole(0, 3), content.whole(1, -5)) == (False, True, True)
    content.forget({1: END_OF_TIME})  # nobody looks at it
    assert len(content) == 1 and content.whole(1, -5)
