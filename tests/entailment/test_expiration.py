"""What only the strategy of windows promises: slides cost what is new, and memory is given back."""

from __future__ import annotations

import numpy as np
import pytest

from csparql_spark.entailment.maintain import seminaive
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.language.rules.rule import Atom, Rule
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.graph import TaggedGraph
from csparql_spark.relations.runs import SMALL
from csparql_spark.relations.tags import ALWAYS
from tests.entailment.generated import columns, decoded

P, Q = "<urn:p>", "<urn:q>"
COPY = Rule((Atom("?x", Q, "?y"),), (Atom("?x", P, "?y"),))
IS_IN = Rule((Atom("?x", P, "?z"),), (Atom("?x", P, "?y"), Atom("?y", P, "?z")))


def test_memory_is_given_back() -> None:
    dictionary = TermDictionary()
    kept = Expiration(dictionary, [COPY])
    p = int(dictionary.encode([P])[0])
    for slide in range(40):
        kept.expire(slide)
        s = dictionary.encode(f"<urn:{slide}-{number}>" for number in range(1000))
        kept.insert(s, np.full(1000, p), s, np.full(1000, slide + 5))
        assert kept.visible(slide).size == 2 * 1000 * min(slide + 1, 5)
        assert kept._graph.rows <= 2 * 10_000 + SMALL
        assert kept._explicit._graph.rows + kept._explicit._count <= 2 * 2 * 5_000 + SMALL
        if slide % 7 == 0:
            kept.renumber(dictionary.compact(kept.terms()))
            p = int(dictionary.encode([P])[0])
            assert len(dictionary) == 1000 * min(slide + 1, 5) + 2
    kept.expire(100)
    assert kept.visible(100).size == kept._graph.rows == 0


def test_expiring_derives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    dictionary = TermDictionary()
    kept = Expiration(dictionary, [IS_IN])
    kept.insert(*columns({("<urn:a>", P, "<urn:b>"): 5, ("<urn:b>", P, "<urn:c>"): 9}, dictionary))
    for name in ("search", "add", "remove"):
        monkeypatch.setattr(TaggedGraph, name, None)
    kept.expire(5)
    assert decoded(kept.visible(5), dictionary) == {("<urn:b>", P, "<urn:c>"): 9}


@pytest.mark.parametrize("before", [{}, {("<urn:a>", P, "<urn:b>"): 5}])
def test_closed_facts_are_not_joined_among_themselves(before: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    dictionary = TermDictionary()
    kept = Expiration(dictionary, [IS_IN])
    kept.insert(*columns(before, dictionary))
    found: list[int] = []
    saturate = seminaive.saturate
    monkeypatch.setattr(
        seminaive,
        "saturate",
        lambda graph, program, blocks: (
            found.append(sum(len(tag) for *_, tag in blocks)),
            saturate(graph, program, blocks),
        ),
    )
    chain = {(f"<urn:n{a}>", P, f"<urn:n{b}>"): ALWAYS for b in range(5) for a in range(b)}
    kept.load_closed(*columns({**chain, ("<urn:b>", P, "<urn:c>"): ALWAYS}, dictionary))
    assert found == [len(before)]  # one fact that was there before meets one that is new
    assert kept.visible(0).size == len(chain) + 1 + 2 * len(before)
