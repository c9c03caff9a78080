"""Terms have the same ids in both tables, and the ids the same terms."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.kernel import native
from csparql_spark.kernel.twin import terms as twin
from tests.examples import examples

if native.library is None:
    pytest.skip(f"nothing to compare: {native.missing}", allow_module_level=True)

from csparql_spark.kernel.compiled.terms import Terms, distinct

few = st.sampled_from(
    ["", "<urn:a>", "<urn:b>", '"é"', '"e\u0301"', "😀", "x" * 15, "x" * 16, "x" * 17, "x" * 40, "\x00", "\x00\x00"]
)
lists = st.lists(few | st.text(max_size=20), max_size=12)
KINDS = [pa.string(), pa.large_string()]


@given(st.lists(st.tuples(lists, st.integers(0, 3), st.sampled_from(KINDS)), max_size=6), lists, st.data())
@settings(max_examples=examples(300), deadline=None)
def test_both_tables_say_the_same(
    pushes: list[tuple[list[str], int, pa.DataType]], sought: list[str], data: st.DataObject
) -> None:
    mine, theirs = Terms(), twin.Terms()
    for terms, skipped, kind in pushes:
        array = pa.array(terms, kind)[skipped:]
        ids = mine.encode(array)
        assert ids.dtype == np.int64 and ids.tolist() == theirs.encode(array).tolist()
        assert mine.decode(ids) == array.to_pylist() == mine.array(ids).to_pylist()
        assert mine.array(ids).type == theirs.array(ids).type == pa.string()
        some = np.array(data.draw(st.permutations(sorted(set(ids.tolist())))), np.int64)
        (order, texts), (wanted, others) = mine.sorted(some), theirs.sorted(some)
        assert order.tolist() == wanted.tolist() and texts.equals(others) and texts.type == pa.string()
        assert texts.to_pylist() == sorted(theirs.decode(some))
    assert len(mine) == len(theirs)
    assert [mine.find(term) for term in sought] == [theirs.find(term) for term in sought]
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(mine), max_size=len(mine))), dtype=bool)
    for longer in (0, 3, 16):
        assert mine.weight(kept, longer) == theirs.weight(kept, longer)
    mine, theirs = mine.kept(np.flatnonzero(kept)), theirs.kept(np.flatnonzero(kept))
    assert mine.decode(np.arange(len(mine))) == theirs.decode(np.arange(len(theirs)))
    again = pa.array(sought, pa.string())
    assert mine.encode(again).tolist() == theirs.encode(again).tolist()


@given(lists, st.integers(0, 3))
@settings(max_examples=examples(100), deadline=None)
def test_distinct_terms(terms: list[str], skipped: int) -> None:
    array = pa.array(terms, pa.string())[skipped:]
    mine, theirs = distinct(array), twin.distinct(array)
    assert mine[0].equals(theirs[0]) and mine[0].type == theirs[0].type
    assert mine[1].dtype == theirs[1].dtype and mine[1].tolist() == theirs[1].tolist()


def test_many_terms() -> None:
    mine, theirs, random = Terms(), twin.Terms(), np.random.default_rng(7)
    for _ in range(20):
        array = pa.array([f"<urn:{n}>" * (1 + n % 3) for n in random.integers(0, 60_000, 5_000).tolist()])
        assert mine.encode(array).tolist() == theirs.encode(array).tolist()
    ids = random.integers(0, len(mine), 3_000)
    assert mine.decode(ids) == theirs.decode(ids) == mine.array(ids).to_pylist()
    kept = np.unique(ids)
    assert mine.kept(kept).decode(np.arange(len(kept))) == theirs.decode(kept)


def test_terms_that_meet_in_a_slot_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeds of nothing let hashes be foreseen; what comes out does not depend on them."""
    array = pa.array([f"<urn:{n}>" for n in range(3_000)])
    mine = Terms()
    mine._seeds = (0, 0)
    assert mine.encode(array).tolist() == list(range(3_000)) == Terms().encode(array).tolist()


@pytest.mark.parametrize("id", [-1, 2, 1 << 40, (1 << 63) - 1])
def test_an_id_that_stands_for_nothing(id: int) -> None:
    terms = Terms()
    terms.encode(pa.array(["<urn:a>", "<urn:b>"]))
    with pytest.raises(TypeError, match="an id that stands for no term"):
        terms.decode(np.array([0, id]))
