from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.rdf import dictionary as module
from csparql_spark.rdf.dictionary import TermDictionary
from tests.examples import examples

TERMS = ["<urn:a>", "<urn:b>", "_:b", '"1"', '"01"', '"1"^^<urn:d>', '"1"@en', '"é"', '"e\u0301"', '""']
lists = st.lists(st.sampled_from(TERMS), max_size=8)


def test_equal_terms_have_equal_ids_and_different_ones_do_not() -> None:
    dictionary = TermDictionary()
    ids = dictionary.encode(TERMS)
    assert ids.tolist() == list(range(len(TERMS))) and ids.dtype == np.int64
    assert dictionary.encode(pa.array(TERMS[::-1])).tolist() == ids.tolist()[::-1]
    assert dictionary.encode(["<urn:new>", "<urn:a>", "<urn:new>"]).tolist() == [10, 0, 10]
    assert len(dictionary) == 11
    assert [dictionary.find(term) for term in TERMS] == ids.tolist() and dictionary.find("<urn:c>") is None
    assert len(dictionary) == 11


def test_nothing() -> None:
    dictionary = TermDictionary()
    nothing = dictionary.encode([])
    assert nothing.tolist() == [] and nothing.dtype == np.int64
    assert dictionary.decode(nothing) == [] and len(dictionary) == 0
    assert dictionary.compact(nothing).tolist() == []


@given(st.lists(lists, max_size=5))
@settings(max_examples=examples(100), deadline=None)
def test_ids_mean_their_terms(pushes: list[list[str]]) -> None:
    dictionary = TermDictionary()
    known = [(terms, dictionary.encode(pa.array(terms, pa.string()))) for terms in pushes]
    for terms, ids in known:
        assert dictionary.decode(ids) == terms
    distinct = {term for terms in pushes for term in terms}
    assert len(dictionary) == len(distinct)


@given(lists, st.data())
@settings(max_examples=examples(100), deadline=None)
def test_compaction_keeps_the_wanted_and_forgets_the_others(terms: list[str], data: st.DataObject) -> None:
    dictionary = TermDictionary()
    ids = dictionary.encode(terms)
    known = list(dict.fromkeys(terms))
    wanted = data.draw(st.sets(st.integers(0, len(known) - 1))) if known else set()
    table = dictionary.compact(np.array(sorted(wanted), np.int64))
    assert len(dictionary) == len(wanted)
    for term, id in zip(terms, ids.tolist()):
        if id in wanted:
            assert dictionary.decode(table[[id]]) == [term] and dictionary.find(term) == table[id]
        else:
            assert table[id] == -1 and dictionary.find(term) is None
    again = dictionary.encode(terms)
    assert dictionary.decode(again) == terms and len(dictionary) == len(known)


class Ids:
    """A holder, and the terms that its ids had at first."""

    def __init__(self, dictionary: TermDictionary, terms: list[str], renumbered: list[Ids]) -> None:
        self.ids, self.meaning, self.dictionary, self.renumbered = (
            dictionary.encode(terms),
            terms,
            dictionary,
            renumbered,
        )

    def terms(self) -> np.ndarray:
        return self.ids

    def renumber(self, table: np.ndarray) -> None:
        self.ids = table[self.ids]
        self.renumbered.append(self)


@given(lists, st.lists(lists, max_size=3), lists)
@settings(max_examples=examples(100), deadline=None)
def test_what_nobody_holds_is_forgotten(owned: list[str], shares: list[list[str]], others: list[str]) -> None:
    renumbered: list[Ids] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SPARE", 0)
        dictionary = TermDictionary()
        dictionary.encode(others)
        owner = Ids(dictionary, owned, renumbered)
        holders = [Ids(dictionary, share, renumbered) for share in shares]
        dictionary.holders += holders
        before, wanted = len(dictionary), {term for terms in (owned, *shares) for term in terms}
        dictionary.forget_unheld(owner)
    pays = 2 * len(wanted) <= before
    assert dictionary.generation == pays and len(dictionary) == (len(wanted) if pays else before)
    assert renumbered == ([owner, *holders] if pays else [])
    for holder in (owner, *holders):
        assert dictionary.decode(holder.ids) == holder.meaning
        assert [dictionary.find(term) for term in holder.meaning] == holder.ids.tolist()


def test_few_terms_are_not_worth_being_forgotten() -> None:
    dictionary = TermDictionary()
    nobody = Ids(dictionary, [], [])
    dictionary.encode(f"<urn:{number}>" for number in range(module.SPARE - 1))
    dictionary.forget_unheld(nobody)
    assert len(dictionary) == module.SPARE - 1 and dictionary.generation == 0
    dictionary.encode(["<urn:last>"])
    dictionary.forget_unheld(nobody)
    assert len(dictionary) == 0 and dictionary.generation == 1


def test_long_terms_are_forgotten_when_nobody_has_them() -> None:
    """Few terms are more than all others."""
    dictionary = TermDictionary()
    held = Ids(dictionary, [], [])
    short = dictionary.encode([f"<urn:{n}>" for n in range(100)])
    long = dictionary.encode([f'"{n}' + "x" * 3_000_000 + '"' for n in range(3)])
    held.ids = np.concatenate([short[50:], long[:2]])
    dictionary.forget_unheld(held)  # one is less than it pays for
    assert len(dictionary) == 103 and dictionary.generation == 0
    held.ids = np.concatenate([short[50:], long[1:2]])
    dictionary.forget_unheld(held)
    assert len(dictionary) == 51 and dictionary.generation == 1
    assert [len(term) for term in dictionary.decode(held.ids)[-2:]] == [len("<urn:99>"), 3_000_003]
    held.ids = held.ids[:50]
    dictionary.encode(["<urn:new>"])
    dictionary.forget_unheld(held)
    assert len(dictionary) == 52  # one again
    dictionary.encode(['"' + "y" * 3_000_000 + '"'])
    dictionary.forget_unheld(held)
    assert len(dictionary) == 50 and dictionary.decode(held.ids) == [f"<urn:{n}>" for n in range(50, 100)]
