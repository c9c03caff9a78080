from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.rdf.dictionary import TermDictionary

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
@settings(max_examples=100, deadline=None)
def test_ids_mean_their_terms(pushes: list[list[str]]) -> None:
    dictionary = TermDictionary()
    known = [(terms, dictionary.encode(pa.array(terms, pa.string()))) for terms in pushes]
    for terms, ids in known:
        assert dictionary.decode(ids) == terms
    distinct = {term for terms in pushes for term in terms}
    assert len(dictionary) == len(distinct)


@given(lists, st.data())
@settings(max_examples=100, deadline=None)
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
