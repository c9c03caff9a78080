"""Graphs as answers: templates and descriptions."""

from __future__ import annotations

import random
import re

import pytest

from csparql_spark.answers.bindings import Bindings
from csparql_spark.answers.construct import instantiated
from csparql_spark.answers.limits import TooManyRows
from csparql_spark.answers.over_ids import over_ids
from csparql_spark.rdf.terms import XSD
from csparql_spark.testing import replay

from .asked import ask, default

DATA = default(
    '<urn:a> <urn:p> "1"',
    '<urn:a> <urn:p> "2"',
    "<urn:b> <urn:p> _:x",
    "_:x <urn:q> _:y",
    "_:y <urn:q> _:x",
    '_:y <urn:name> "y"',
    "<urn:c> <urn:p> <urn:b>",
    '<urn:z> <urn:else> "z"',
)


def lines(query: str) -> list[str]:
    answers = []
    for seed in range(3):
        shuffled = random.Random(seed).sample(DATA, len(DATA))
        answers.append(ask(query, shuffled))
    assert len({answer.to_bytes() for answer in answers}) == 1
    return answers[0].ntriples.decode().splitlines()


def renamed(found: list[str]) -> list[str]:
    """With blank nodes of the template by where they stand there and the order in which their rows come first."""
    rows: dict[str, int] = {}
    return sorted(
        re.sub(r"_:r(\d+)x(\d+)", lambda label: f"_:r{label[1]}x{rows.setdefault(label[2], len(rows))}", line)
        for line in found
    )


def test_a_template_is_filled_once_for_each_row() -> None:
    assert lines("CONSTRUCT { ?o <urn:of> ?s . <urn:all> <urn:has> ?s } { ?s <urn:p> ?o }") == [
        "<urn:all> <urn:has> <urn:a> .",
        "<urn:all> <urn:has> <urn:b> .",
        "<urn:all> <urn:has> <urn:c> .",
        "<urn:b> <urn:of> <urn:c> .",
        "_:x <urn:of> <urn:b> .",
    ]  # no literal is a subject
    assert lines("CONSTRUCT WHERE { ?s <urn:else> ?o }") == ['<urn:z> <urn:else> "z" .']
    assert renamed(lines("CONSTRUCT { <urn:a> <urn:is> 007, 'x'@EN, (1) } {}")) == [
        f'<urn:a> <urn:is> "007"^^<{XSD}integer> .',
        '<urn:a> <urn:is> "x"@en .',
        "<urn:a> <urn:is> _:r0x0 .",
        f'_:r0x0 <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> "1"^^<{XSD}integer> .',
        "_:r0x0 <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> <http://www.w3.org/1999/02/22-rdf-syntax-ns#nil> .",
    ]


def test_what_would_not_be_a_triple_is_left_out() -> None:
    for template in ("?o ?s <urn:x>", "?s ?o <urn:x>", "?s <urn:x> ?never", "?never <urn:x> ?s", "?s ?never ?s"):
        assert lines(f"CONSTRUCT {{ {template} . ?s <urn:ok> 1 }} {{ ?s <urn:p> ?o FILTER(isLiteral(?o)) }}") == [
            f'<urn:a> <urn:ok> "1"^^<{XSD}integer> .'
        ]
    assert lines("CONSTRUCT { ?s ?o <urn:x> } { ?s <urn:q> ?o }") == []  # no blank node is a predicate
    assert lines("CONSTRUCT { ?s <urn:x> ?o } { ?s <urn:p> <urn:b> OPTIONAL { ?s <urn:q> ?o } }") == []


def test_the_blank_nodes_of_a_template_are_new_for_each_row() -> None:
    found = lines("CONSTRUCT { ?s <urn:x> _:m . _:m <urn:y> ?o ; <urn:z> [] } { ?s <urn:p> ?o FILTER(isLiteral(?o)) }")
    rows = {label: row for row, label in re.findall(r'^_:r0x(\d+) <urn:y> "(\d)" \.$', "\n".join(found), re.MULTILINE)}
    assert sorted(found) == sorted(
        line
        for row in (rows["1"], rows["2"])
        for line in (
            f"<urn:a> <urn:x> _:r0x{row} .",
            f'_:r0x{row} <urn:y> "{"1" if row == rows["1"] else "2"}" .',
            f"_:r0x{row} <urn:z> _:r1x{row} .",
        )
    )
    # In the pattern the label is a variable, whatever it is in the template.
    assert renamed(lines("CONSTRUCT { _:m <urn:x> ?s } { ?s <urn:else> _:n }")) == ["_:r0x0 <urn:x> <urn:z> ."]
    assert renamed(lines("CONSTRUCT WHERE { ?s <urn:else> _:n }")) == ["<urn:z> <urn:else> _:r0x0 ."]


def test_labels_say_what_a_row_says_and_how_many_have_said_so() -> None:
    plan = over_ids("CONSTRUCT { ?s <urn:x> _:m . _:m <urn:y> ?o } { ?s ?p ?o }")

    def said(*rows: str) -> set[str]:
        """Of rows like "a 1": the subject and, where it is not -, the object."""
        cells = [row.split() for row in rows]
        return set(
            instantiated(
                plan,
                Bindings(
                    ("s", "o"), [[f"<urn:{s}>" for s, _ in cells], [None if o == "-" else f'"{o}"' for _, o in cells]]
                ),
            )
        )

    first = said("a 1", "a 2", "b -", "c 1")
    assert len(first) == 7 and said("c 1", "a 2", "b -", "a 1") == first
    assert said("0 0", "a 1", "a 2", "b -", "c 1") > first  # whatever stands before it
    assert first > said("a 2", "b -") and len(said("a 2", "b -")) == 3
    twice = said("a 1", "a 1", "b -", "b -")
    assert len(twice) == 6 and twice > said("a 1") and len(said("a 1", "a 1", "a 1") - twice) == 2
    assert not said("1 a") & {line.replace("urn:a", "urn:1").replace('"1"', '"a"') for line in said("a 1")}


def test_a_row_that_has_moved_in_the_answer_is_not_new() -> None:
    text = """REGISTER QUERY q AS CONSTRUCT {} {{ [ <urn:of> ?s ; <urn:is> ?o ] }}
              FROM STREAM <urn:a> [RANGE 2ms STEP 1ms] WHERE {{ ?s <urn:p> ?o }}"""
    stream = "".join(f'<urn:{s}> <urn:p> "1" <urn:t:{t}> .\n' for s, t in (("m", 1), ("a", 2), ("z", 2)))
    subjects = []
    for output in ("RSTREAM", "ISTREAM", "DSTREAM"):
        told = replay(text.format(output), streams={"urn:a": stream}, until=4)
        subjects.append([sorted(re.findall(r"<urn:of> <urn:(\w)>", instant.ntriples)) for instant in told])
    assert subjects == [
        [["m"], ["a", "m", "z"], ["a", "z"], []],
        [["m"], ["a", "z"], [], []],
        [[], [], ["m"], ["a", "z"]],
    ]


def test_slices_of_templates() -> None:
    assert lines("CONSTRUCT { ?o <urn:is> ?s } { ?s <urn:p> ?o FILTER(!isLiteral(?o)) } ORDER BY ?s LIMIT 1") == [
        "_:x <urn:is> <urn:b> ."
    ]
    assert lines("CONSTRUCT { <urn:x> <urn:is> ?s } { ?s <urn:p> ?o } LIMIT 1") == ["<urn:x> <urn:is> <urn:a> ."]


def test_a_description_goes_on_at_blank_nodes() -> None:
    y = ["_:x <urn:q> _:y .", '_:y <urn:name> "y" .', "_:y <urn:q> _:x ."]
    assert lines("DESCRIBE <urn:z>") == ['<urn:z> <urn:else> "z" .']
    assert lines("DESCRIBE <urn:b>") == sorted(["<urn:b> <urn:p> _:x .", *y])
    assert lines("DESCRIBE <urn:c> <urn:never>") == ["<urn:c> <urn:p> <urn:b> ."]
    assert lines("DESCRIBE ?s <urn:z> { ?s <urn:p> '2' }") == [
        '<urn:a> <urn:p> "1" .',
        '<urn:a> <urn:p> "2" .',
        '<urn:z> <urn:else> "z" .',
    ]
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
