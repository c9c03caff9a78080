"""The order of terms: what is kept from answer to answer says the same as sorting each answer by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import ranks as module
from csparql_spark.answers.ranks import Ranks
from csparql_spark.rdf.dictionary import TermDictionary
from tests.examples import examples

TERMS = [f"<urn:{n}>" for n in range(30)] + [f'"{n}"' for n in range(30)] + ['"é"', '"z"@en', "_:b"]
cell = st.integers(-1, len(TERMS) - 1)
answers = st.lists(
    st.integers(0, 3).flatmap(
        lambda width: st.lists(st.tuples(*[cell] * width), max_size=12).map(lambda rows: (width, rows))
    ),
    max_size=8,
)


def shown(terms, columns) -> list[list[str | None]]:
    texts = terms.to_pylist()
    return [[None if place < 0 else texts[place] for place in column.tolist()] for column in columns]


@pytest.mark.parametrize("few", (0, 9, 500))  # all are kept; some are; none is
@given(asked=answers, least=st.integers(0, 4))
@settings(max_examples=examples(80), deadline=None)
def test_places_are_in_the_order_of_the_texts(few, asked, least):
    dictionary = TermDictionary()
    ids = dictionary.encode(TERMS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", few)
        patch.setattr(module, "LEAST", least)
        ranks = Ranks(dictionary)
        for width, rows in asked:
            columns = [
                np.array([-1 if row[place] < 0 else ids[row[place]] for row in rows], dtype=np.int64)
                for place in range(width)
            ]
            terms, places = ranks.of(columns)
            assert shown(terms, places) == [
                [None if row[place] < 0 else TERMS[row[place]] for row in rows] for place in range(width)
            ]
            texts = terms.to_pylist()
            assert texts == sorted(set(texts))
