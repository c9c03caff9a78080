"""What is printed is read back as the same rules: for texts of all corners, and for generated rule files."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.language import Atom, Guard, Rule, RuleFile, parse_rules, show_rules
from csparql_spark.language.rules.builtins import BUILTINS
from csparql_spark.language.rules.terms import RULE_SETS
from csparql_spark.rdf.terms import XSD, iri, literal
from tests.examples import examples
from tests.language.test_rule_fuzz import WHOLE
from tests.language.test_rule_parser import FIGURE_3


def read_again(file: RuleFile) -> None:
    printed = show_rules(file)
    again = parse_rules(printed)
    assert again == file
    assert [rule.name for rule in again.rules] == [rule.name for rule in file.rules]
    assert show_rules(again) == printed


@pytest.mark.parametrize("text", [WHOLE, FIGURE_3, ""], ids=["whole", "figure 3", "nothing"])
def test_texts(text: str) -> None:
    read_again(parse_rules(text))


def test_the_spelling() -> None:
    text = (
        "@prefix e: <http://ex.org/>. @include <RDFS>.\nr: (?x e:p *) lessThan(?s, 5.0) sum(?x 1 ?s) "
        "-> (?s e:p \"a\"^^xsd:date), (?x rdf:type <urn:one>).\n[-> (e:a <http://ex.org/a.b> 'x\\n'@EN)]"
    )
    assert show_rules(parse_rules(text)) == (
        "@include <RDFS>.\n"
        "@prefix n1: <http://ex.org/>.\n"
        '[r: (?x n1:p ?_1) sum(?x, 1, ?s) lessThan(?s, 5.0) -> (?s n1:p "a"^^xsd:date) (?x rdf:type <urn:one>)]\n'
        '[-> (n1:a <http://ex.org/a.b> "x\\n"@en)]\n'
    )


def test_names_that_no_text_could_have() -> None:
    rule = Rule((Atom("<urn:a>", "<urn:b>", "<urn:c>"),), (), name="my [rule]:\n")
    printed = show_rules(RuleFile((rule,)))
    assert printed == "@prefix n1: <urn:>.\n[_my_rule_: -> (n1:a n1:b n1:c)]\n"
    assert parse_rules(printed).rules == (rule,)


# Rule files made of the language's own pieces, all of which are read.
VARIABLES = ["?x", "?y", "?_1", "?été", "?X2"]
LETTERS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
IRIS = st.one_of(
    st.sampled_from(["http://ex.org/p", "http://ex.org/", "http://ex.org/a#b", "urn:a:b.c", "urn:x-hp:eg/a"]),
    st.just(XSD + "int"),
    st.builds(
        "http://ex.org/{}{}".format,
        st.sampled_from(["", "a/", "#"]),
        st.text("ab-_.%2é学()'*:/", max_size=5).map(lambda local: local.replace("%", "%20")),
    ),
)
NUMBERS = st.sampled_from(
    [
        ("5", "integer"),
        ("-07", "integer"),
        ("+1.50", "decimal"),
        (".5", "decimal"),
        ("1e-3", "double"),
        ("x", "integer"),
        ("5.", "decimal"),
        ("INF", "double"),
        ("true", "boolean"),
        ("1", "boolean"),
    ]
)
LITERALS = st.one_of(
    LETTERS.map(literal),
    st.builds(literal, LETTERS, language=st.sampled_from(["en", "en-gb", "zh-hant"])),
    st.builds(literal, LETTERS, IRIS),
    NUMBERS.map(lambda pair: literal(pair[0], XSD + pair[1])),
)
NAMES = st.none() | st.text("aZ_9.-é学", min_size=1, max_size=4).filter(lambda name: name[0] not in ".-")


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    resources, objects = IRIS.map(iri), LITERALS | IRIS.map(iri)
    variable = st.sampled_from(VARIABLES)
    body = draw(st.lists(st.builds(Atom, resources | variable, resources | variable, objects | variable), max_size=3))
    bound = list(dict.fromkeys(node for atom in body for node in atom.variables))
    guards = []
    for number in range(draw(st.integers(0, 3)) if body else 0):
        builtin = draw(st.sampled_from([known for known in BUILTINS.values() if known.name != "regex"]))
        known = st.sampled_from(bound) if bound else st.nothing()
        inputs = [
            draw(known | resources) if place in builtin.iris else draw(known | LITERALS)
            for place in range(len(builtin.parameters) - builtin.makes)
        ]
        guards.append(Guard(builtin.name, (*inputs, f"?m{number}") if builtin.makes else tuple(inputs)))
        bound += [f"?m{number}"] * builtin.makes
    free = st.sampled_from(bound) if bound else st.nothing()
    head = draw(st.lists(st.builds(Atom, resources | free, resources | free, objects | free), min_size=1, max_size=3))
    return Rule(tuple(head), tuple(body), tuple(guards), draw(NAMES))


FILES = st.builds(
    RuleFile,
    st.lists(rules(), max_size=4).map(tuple),
    st.lists(st.sampled_from(list(RULE_SETS)), unique=True, max_size=2).map(tuple),
)


@settings(max_examples=examples(100), deadline=None)
@given(FILES)
def test_generated_files(file: RuleFile) -> None:
    read_again(file)
