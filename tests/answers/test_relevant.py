"""What is left out does not matter: with it or without it, a plan has the same solutions."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from csparql_spark.answers.relevant import relevant
from csparql_spark.rdf.dictionary import TermDictionary
from tests.engine.asked import Asked, Triple
from tests.engine.naive import solutions
from tests.examples import examples

from .test_snapshot import graphs, patterns

LEVEL = (("?r", "<urn:level>", "<urn:high>"), ("?r", "<urn:value>", "?v"))


def kept(plan: tuple[Triple, ...], triples: list[Triple]) -> list[Triple]:
    dictionary = TermDictionary()
    columns = [dictionary.encode([triple[position] for triple in triples]) for position in range(3)]
    left = relevant((plan,) if plan else (), dictionary, *columns)
    return list(zip(*(dictionary.decode(column) for column in left), strict=True))


def test_the_picture() -> None:
    r1 = [("<urn:r1>", "<urn:level>", "<urn:high>"), ("<urn:r1>", "<urn:value>", '"7"')]
    r2 = [("<urn:r2>", "<urn:level>", "<urn:low>"), ("<urn:r2>", "<urn:value>", '"9"')]
    assert kept(LEVEL, [*r2, *r1, ("<urn:r3>", "<urn:colour>", "<urn:red>")]) == r1


def test_a_pattern_that_nothing_fits_leaves_nothing() -> None:
    assert kept(LEVEL, [("<urn:r1>", "<urn:value>", '"7"')]) == []
    assert kept((("?s", "?p", "?o"), ("<urn:never>", "?p", "?o")), [("<urn:a>", "<urn:p>", "<urn:b>")]) == []
    assert kept((), [("<urn:a>", "<urn:p>", "<urn:b>")]) == []


def test_what_matters_to_one_of_several_patterns_stays() -> None:
    r1 = [("<urn:r1>", "<urn:level>", "<urn:high>"), ("<urn:r1>", "<urn:value>", '"7"')]
    other = ("<urn:r3>", "<urn:colour>", "<urn:red>")
    dictionary = TermDictionary()
    triples = [*r1, other, ("<urn:r2>", "<urn:value>", '"9"')]
    columns = [dictionary.encode([triple[position] for triple in triples]) for position in range(3)]
    left = relevant((LEVEL, (("?x", "<urn:colour>", "?y"),)), dictionary, *columns)
    assert list(zip(*(dictionary.decode(column) for column in left), strict=True)) == [*r1, other]
    assert relevant(None, dictionary, *columns) == tuple(columns)


def test_a_variable_that_stands_twice_in_a_pattern_is_one_term() -> None:
    assert kept((("?x", "<urn:p>", "?x"),), [("<urn:a>", "<urn:p>", "<urn:b>"), ("<urn:b>", "<urn:p>", "<urn:b>")]) == [
        ("<urn:b>", "<urn:p>", "<urn:b>")
    ]


@given(graphs, patterns)
@settings(max_examples=examples(200), deadline=None)
def test_solutions_stay(triples: list[Triple], plan: tuple[Triple, ...]) -> None:
    names = tuple(sorted({node[1:] for pattern in plan for node in pattern if node[0] == "?"}))
    asked = Asked.over("", 1, 1, names, plan, False)
    left = kept(plan, triples)
    assert set(left) <= set(triples)
    assert solutions(asked, {"": set(left)}) == solutions(asked, {"": set(triples)})


def test_nothing_comes_of_nothing() -> None:
    dictionary = TermDictionary()
    none = np.empty(0, dtype=np.int64)
    assert [len(column) for column in relevant((LEVEL,), dictionary, none, none, none)] == [0, 0, 0]
