"""What is prepared for a stream derives what all rules derive, of what is asked."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.entailment.rules.preparing import Prepared, as_they_are, closed, closed_once, prepare
from csparql_spark.entailment.rules.regimes import rules_of
from csparql_spark.language.rules.rule import Atom
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.rdf.terms import RDF
from tests.entailment.twin import ALWAYS, Triple, closure
from tests.examples import examples

TYPE, RDFS = f"<{RDF}type>", "http://www.w3.org/2000/01/rdf-schema#"
SUB, DOMAIN = f"<{RDFS}subClassOf>", f"<{RDFS}domain>"


def columns(triples: list[Triple], dictionary: TermDictionary) -> tuple[np.ndarray, ...]:
    return tuple(dictionary.encode([triple[place] for triple in triples]) for place in range(3))


def derived(prepared: Prepared, dictionary: TermDictionary, data: list[Triple]) -> dict[Triple, int]:
    facts = Expiration(dictionary, prepared.rules)
    background = prepared.background
    facts.load_closed(*background, np.full(len(background[0]), ALWAYS))
    facts.insert(*columns(data, dictionary), np.full(len(data), 7))
    s, p, o, tag = facts.visible(0)
    return dict(zip(zip(*(dictionary.decode(column) for column in (s, p, o)), strict=True), tag.tolist(), strict=True))


nodes = st.sampled_from(["<urn:a>", "<urn:b>", "<urn:c>"])
schema = st.lists(
    st.one_of(
        st.tuples(nodes, st.just(SUB), nodes),
        st.tuples(st.just("<urn:p>"), st.just(DOMAIN), nodes),
        st.tuples(nodes, st.just("<urn:p>"), nodes),
    ),
    max_size=6,
)
stream = st.lists(st.one_of(st.tuples(nodes, st.sampled_from(["<urn:p>", TYPE]), nodes)), max_size=6)
ASKED = [Atom("?x", TYPE, "<urn:a>"), Atom("?x", "<urn:p>", "?y"), Atom("<urn:b>", TYPE, "?c")]


@given(schema, stream, st.sampled_from(["rho-df", "rdfs"]), st.sets(st.sampled_from(ASKED), min_size=1))
@settings(max_examples=examples(150), deadline=None)
def test_of_what_is_asked_nothing_is_missing(
    background: list[Triple], data: list[Triple], regime: str, asked: set[Atom]
) -> None:
    dictionary = TermDictionary()
    rules = rules_of((regime,), {})
    facts = closed(rules, dictionary, columns(background, dictionary))
    prepared = prepare(rules, dictionary, facts, asked)
    expected = closure(rules, {**dict.fromkeys(data, 7), **dict.fromkeys(background, ALWAYS)})

    def matched(facts: dict[Triple, int]) -> dict[Triple, int]:
        return {
            fact: tag
            for fact, tag in facts.items()
            if any(all(node[0] == "?" or node == term for node, term in zip(atom.nodes, fact)) for atom in asked)
        }

    assert matched(derived(prepared, dictionary, data)) == matched(expected)
    plain = as_they_are(rules, facts)
    assert derived(plain, dictionary, data) == expected


def test_what_speaks_about_the_schema_is_seen() -> None:
    dictionary = TermDictionary()
    background = [("<urn:p>", DOMAIN, "<urn:C>"), ("<urn:C>", SUB, "<urn:D>")]
    rules = rules_of(("rho-df",), {})
    prepared = prepare(rules, dictionary, closed(rules, dictionary, columns(background, dictionary)), ASKED[:1])
    for triple, presumed in (
        (("<urn:x>", "<urn:p>", "<urn:y>"), True),
        (("<urn:x>", TYPE, "<urn:C>"), True),
        (("<urn:D>", SUB, "<urn:a>"), False),
        (("<urn:q>", DOMAIN, "<urn:a>"), False),
    ):
        _, p, o = columns([triple], dictionary)
        assert prepared.presumes(dictionary, p, o) == presumed


def test_a_background_is_closed_once_for_all_who_name_it() -> None:
    rules, background = rules_of(("rho-df",), {}), [("<urn:c>", TYPE, "<urn:C>"), ("<urn:C>", SUB, "<urn:D>")]
    name = object()

    def told(dictionary: TermDictionary, given: list[Triple]) -> set[Triple]:
        facts = closed_once(name, rules, dictionary, columns(given, dictionary))
        return set(zip(*(dictionary.decode(column) for column in facts), strict=True))

    first, second = TermDictionary(), TermDictionary()
    second.encode(["<urn:other>", "<urn:D>"])  # the same terms have other ids there
    everything = {*background, ("<urn:c>", TYPE, "<urn:D>")}
    assert told(first, background) == everything
    assert told(second, []) == everything  # nothing is closed again
    for other in range(8):
        closed_once(("another", other), rules, first, columns(background, first))
    assert told(second, []) == set()  # it was forgotten: closed again, and there is nothing
