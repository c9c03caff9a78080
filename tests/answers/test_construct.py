"""Graphs as answers: templates and descriptions."""

from __future__ import annotations

import random

import pytest

from csparql_spark.answers.snapshot import TooManyRows
from csparql_spark.rdf.terms import XSD

from .asked import ask, default

DATA = default('<urn:a> <urn:p> "1"', '<urn:a> <urn:p> "2"', "<urn:b> <urn:p> _:x", "_:x <urn:q> _:y",
    "_:y <urn:q> _:x",
               '_:y <urn:name> "y"', "<urn:c> <urn:p> <urn:b>", '<urn:z> <urn:else> "z"')


def lines(query: str) -> list[str]:
    answers = []
    for seed in range(3):
        shuffled = random.Random(seed).sample(DATA, len(DATA))
        answers.append(ask(query, shuffled))
    assert len({answer.to_bytes() for answer in answers}) == 1
    return answers[0].ntriples.decode().splitlines()


def test_a_template_is_filled_once_for_each_row() -> None:
    assert lines("CONSTRUCT { ?o <urn:of> ?s . <urn:all> <urn:has> ?s } { ?s <urn:p> ?o }") == [
        "<urn:all> <urn:has> <urn:a> .", "<urn:all> <urn:has> <urn:b> .", "<urn:all> <urn:has> <urn:c> .",
        "<urn:b> <urn:of> <urn:c> .", "_:x <urn:of> <urn:b> ."]                  # no literal is a subject
    assert lines("CONSTRUCT WHERE { ?s <urn:else> ?o }") == ['<urn:z> <urn:else> "z" .']
    assert lines("CONSTRUCT { <urn:a> <urn:is> 007, 'x'@EN, (1) } {}") == [
        f'<urn:a> <urn:is> "007"^^<{XSD}integer> .', '<urn:a> <urn:is> "x"@en .', "<urn:a> <urn:is> _:r0x0 .",
        f'_:r0x0 <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> "1"^^<{XSD}integer> .',
        "_:r0x0 <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> <http://www.w3.org/1999/02/22-rdf-syntax-ns#nil> ."]


def test_what_would_not_be_a_triple_is_left_out() -> None:
    for template in ("?o ?s <urn:x>", "?s ?o <urn:x>", "?s <urn:x> ?never", "?never <urn:x> ?s", "?s ?never ?s"):
        assert lines(f"CONSTRUCT {{ {template} . ?s <urn:ok> 1 }} {{ ?s <urn:p> ?o FILTER(isLiteral(?o)) }}") == [
            f'<urn:a> <urn:ok> "1"^^<{XSD}integer> .']
    assert lines("CONSTRUCT { ?s ?o <urn:x> } { ?s <urn:q> ?o }") == []                  # no blank node is a predicate
    assert lines("CONSTRUCT { ?s <urn:x> ?o } { ?s <urn:p> <urn:b> OPTIONAL { ?s <urn:q> ?o } }") == []


def test_the_blank_nodes_of_a_template_are_new_for_each_row() -> None:
    assert lines("CONSTRUCT { ?s <urn:x> _:m . _:m <urn:y> ?o ; <urn:z> [] } "
                 "{ ?s <urn:p> ?o FILTER(isLiteral(?o)) }") == [
        "<urn:a> <urn:x> _:r0x0 .", "<urn:a> <urn:x> _:r0x1 .", '_:r0x0 <urn:y> "1" .', "_:r0x0 <urn:z> _:r1x0 .",
        '_:r0x1 <urn:y> "2" .', "_:r0x1 <urn:z> _:r1x1 ."]
    # In the pattern the label is a variable, whatever it is in the template.
    assert lines("CONSTRUCT { _:m <urn:x> ?s } { ?s <urn:else> _:n }") == ["_:r0x0 <urn:x> <urn:z> ."]
    assert lines("CONSTRUCT WHERE { ?s <urn:else> _:n }") == ["<urn:z> <urn:else> _:r0x0 ."]


def test_slices_of_templates() -> None:
    assert lines("CONSTRUCT { ?o <urn:is> ?s } { ?s <urn:p> ?o FILTER(!isLiteral(?o)) } ORDER BY ?s LIMIT 1") == [
        "_:x <urn:is> <urn:b> ."]
    assert lines("CONSTRUCT { <urn:x> <urn:is> ?s } { ?s <urn:p> ?o } LIMIT 1") == ["<urn:x> <urn:is> <urn:a> ."]


def test_a_description_goes_on_at_blank_nodes() -> None:
    y = ["_:x <urn:q> _:y .", '_:y <urn:name> "y" .', "_:y <urn:q> _:x ."]
    assert lines("DESCRIBE <urn:z>") == ['<urn:z> <urn:else> "z" .']
    assert lines("DESCRIBE <urn:b>") == sorted(["<urn:b> <urn:p> _:x .", *y])
    assert lines("DESCRIBE <urn:c> <urn:never>") == ["<urn:c> <urn:p> <urn:b> ."]
    assert lines("DESCRIBE ?s <urn:z> { ?s <urn:p> '2' }") == ['<urn:a> <urn:p> "1" .', '<urn:a> <urn:p> "2" .',
                                                             '<urn:z> <urn:else> "z" .']
    assert lines("DESCRIBE ?o { ?s <urn:p> ?o }") == sorted(["<urn:b> <urn:p> _:x .", *y])
    assert lines("DESCRIBE ?s { ?s <urn:p> ?o } ORDER BY DESC(?s) LIMIT 1") == ["<urn:c> <urn:p> <urn:b> ."]
    assert lines("DESCRIBE ?x { ?s <urn:never> ?x }") == lines("DESCRIBE ?x { BIND('new' AS ?x) }") == []


def test_too_large_a_graph() -> None:
    query = "CONSTRUCT { ?s <urn:x> ?o ; <urn:y> ?o } { ?s <urn:p> ?o }"
    assert len(ask(query, DATA, limit=8)) == 8
    with pytest.raises(TooManyRows, match="more than 7 triples"):
        ask(query, DATA, limit=7)
    with pytest.raises(TooManyRows, match="more than 3 rows"):
        ask(query, DATA, limit=3)
    with pytest.raises(TooManyRows, match="more than 2 triples"):
        ask("DESCRIBE <urn:b>", DATA, limit=2)
