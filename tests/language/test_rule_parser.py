"""What rule files mean: every row of the grammar, the rules of the papers, what is read in another way than by Jena,
and how large they may be."""

from __future__ import annotations

import re

import pytest

from csparql_spark.language import Atom, Guard, LanguageError, Rule, RuleFile, parse_rules
from csparql_spark.language.queries.bounds import LONGEST_TEXT
from csparql_spark.language.rules import bounds
from csparql_spark.language.rules.terms import PREDECLARED, RULE_SETS
from tests.language.texts import SHARED

EX = "@prefix ex: <http://ex.org/>.\n"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
P, Q = "<http://ex.org/p>", "<http://ex.org/q>"
XPY = Atom("?x", P, "?y")
YPX = Atom("?y", P, "?x")
SWAP = Rule((YPX,), (XPY,))
LUBM = SHARED / "lubm" / "lubm.rules"
PAPERS = SHARED / "papers"

# The RDFS rules of the IMaRS paper's Fig. 3, in our own words.
FIGURE_3 = """
# what a property says of its subjects and objects
[domain:    (?p rdfs:domain ?class) (?s ?p ?o) -> (?s rdf:type ?class)]
[range:     (?p rdfs:range ?class) (?s ?p ?o) -> (?o rdf:type ?class)]
# properties below properties
[subPropertyChain: (?p rdfs:subPropertyOf ?q) (?q rdfs:subPropertyOf ?r) -> (?p rdfs:subPropertyOf ?r)]
[subPropertySelf:  (?p rdf:type rdf:Property) -> (?p rdfs:subPropertyOf ?p)]
[subProperty:      (?p rdfs:subPropertyOf ?q) (?s ?p ?o) -> (?s ?q ?o)]
// classes below classes
[subClassSelf:  (?c rdf:type rdfs:Class) -> (?c rdfs:subClassOf ?c)]
[subClassChain: (?c rdfs:subClassOf ?d), (?d rdfs:subClassOf ?e) -> (?c rdfs:subClassOf ?e)]
[subClass:      (?c rdfs:subClassOf ?d), (?s rdf:type ?c) -> (?s rdf:type ?d)]
[member:    (?p rdf:type rdfs:ContainerMembershipProperty) -> (?p rdfs:subPropertyOf rdfs:member)]
[resources: (?s ?p ?o)
    -> (?p rdf:type rdf:Property), (?s rdf:type rdfs:Resource), (?o rdf:type rdfs:Resource)]
[classes:   (?c rdf:type rdfs:Class) -> (?c rdfs:subClassOf rdfs:Resource)]
"""


def rules(text: str) -> tuple[Rule, ...]:
    file = parse_rules(EX + text)
    assert file.warnings == ()
    return file.rules


def integer(number: str) -> str:
    return f'"{number}"^^<{XSD}integer>'


@pytest.mark.parametrize(
    "text",
    [
        "[r: (?x ex:p ?y) -> (?y ex:p ?x)]",
        "[(?x ex:p ?y) -> (?y ex:p ?x)]",
        "[r : (?x ex:p ?y) -> (?y ex:p ?x)]",
        "[4: (?x ex:p ?y) -> (?y ex:p ?x)]",
        "[rule-1.b:(?x ex:p ?y)->(?y ex:p ?x)]",
        "[学: (?x ex:p ?y) -> (?y ex:p ?x)].",
        "r: (?x ex:p ?y) -> (?y ex:p ?x) .",
        "(?x ex:p ?y) -> (?y ex:p ?x).",
        "(?x,ex:p,?y),->(?y, ex:p, ?x),.",
        "(?x\r\n\tex:p\r?y)->\n(?y ex:p ?x)\r\n.",
        "(?x <http://ex.org/p> ?y) -> (?y http://ex.org/p ?x) .",
        "(?x <http://ex.org/\\u0070> ?y) -> (?y ex:p ?x) .",
        "(?x ex:p ?y) # what ends a line\n -> // and this\n (?y ex:p ?x) . # -> ]",
        "# a line\n// another one\n(?x ex:p ?y) -> (?y ex:p ?x) .",
        "@prefix f: <http://ex.org/>. [r: (?x f:p ?y) -> (?y ex:p ?x)]",
        "@prefix f: http://ex.org/ .\n[r: (?x f:p ?y) -> (?y ex:p ?x)]",
        "@prefix f: <http://ex.org/>\n[r: (?x f:p ?y) -> (?y ex:p ?x)]",
        "@prefix : <http://ex.org/p>. (?x : ?y) -> (?y : ?x).",
        "[r: (?x ex:p ?y) -> (?y ex:p ?x)] @prefix f: <http://ex.org/>.",
    ],
)
def test_ways_to_write_one_rule(text: str) -> None:
    assert rules(text) == (SWAP,)
    assert rules(text.replace("\n", "\r\n")) == (SWAP,)


@pytest.mark.parametrize(
    "node, term",
    [
        ("?z", "?y"),
        ("ex:a", "<http://ex.org/a>"),
        ("ex:a/b:c.d-e", "<http://ex.org/a/b:c.d-e>"),
        ("ex:", "<http://ex.org/>"),
        ("eg:a", "<urn:x-hp:eg/a>"),
        ("rb:a", "<urn:x-hp-jena:rubrik/a>"),
        ("<urn:a>", "<urn:a>"),
        ("<b#c>", "<http://base.example/b#c>"),
        ("http://ex.org/a#b//c", "<http://ex.org/a#b//c>"),
        ("https://ex.org/a", "<https://ex.org/a>"),
        ("urn:a:b", "<urn:a:b>"),
        ("mailto:a@b.c", "<mailto:a@b.c>"),
        ("'a'", '"a"'),
        ('"a"', '"a"'),
        ("'# // ] -> \"a\" é😀'", '"# // ] -> \\"a\\" é😀"'),
        ("'it\\'s\\n\\u00e9\\U0001F600\\\\d'", '"it\'s\\né😀\\\\d"'),
        ("'a'@en-GB", '"a"@en-gb'),
        ("'5'^^xsd:int", f'"5"^^<{XSD}int>'),
        ("'5'^^<urn:t>", '"5"^^<urn:t>'),
        ("'5'^^http://ex.org/t", '"5"^^<http://ex.org/t>'),
        ("'5'^^xsd:string", '"5"'),
        ("42", integer("42")),
        ("-042", integer("-042")),
        ("2.50", f'"2.50"^^<{XSD}decimal>'),
        ("-.5", f'"-.5"^^<{XSD}decimal>'),
        ("1e3", f'"1e3"^^<{XSD}double>'),
        ("1.5E-3", f'"1.5E-3"^^<{XSD}double>'),
        ("true", f'"true"^^<{XSD}boolean>'),
        ("false", f'"false"^^<{XSD}boolean>'),
    ],
)
def test_nodes(node: str, term: str) -> None:
    (rule,) = parse_rules(f"{EX}[r: (?x ex:p ?z) -> (?x ex:q {node})]", base="http://base.example/a").rules
    assert rule == Rule((Atom("?x", Q, term.replace("?y", "?z")),), (Atom("?x", P, "?z"),))


def test_predeclared_prefixes() -> None:
    for prefix, namespace in PREDECLARED.items():
        (rule,) = parse_rules(f"-> ({prefix}:a {prefix}:b {prefix}:c) .").rules
        assert rule == Rule((Atom(f"<{namespace}a>", f"<{namespace}b>", f"<{namespace}c>"),), ())
    assert set(PREDECLARED) == {"rdf", "rdfs", "owl", "xsd", "rb", "jr", "eg"}


def test_a_prefix_may_be_declared_again() -> None:
    file = parse_rules("@prefix rdf: <urn:a:>. [-> (rdf:a rdf:a rdf:a)] @prefix rdf: <urn:b:>. -> (rdf:a rdf:a rdf:a).")
    assert [rule.head[0].subject for rule in file.rules] == ["<urn:a:a>", "<urn:b:a>"]
    assert file.warnings == (
        "line 1, column 57: From here on rdf: stands for another IRI; Jena would use it in the whole file.",
    )


def test_names_and_lines() -> None:
    file = parse_rules(EX + "[a: -> (ex:p ex:p ex:p)]\r\n\r\n-> (ex:p ex:p ex:p).\n  b: -> (ex:p ex:p ex:p).")
    assert [(rule.name, rule.line) for rule in file.rules] == [("a", 2), (None, 4), ("b", 5)]


def test_several_heads_and_empty_bodies() -> None:
    assert rules("[(?x ex:p ?y) -> (?y ex:p ?x), (?x ex:q 'lit')] [-> (ex:p ex:q 5)]") == (
        Rule((YPX, Atom("?x", Q, '"lit"')), (XPY,)),
        Rule((Atom(P, Q, integer("5")),), ()),
    )


def test_wildcards_are_variables_of_their_own() -> None:
    assert rules("[(?x ex:p *) (* ex:q ?_1) (* * ?_3) -> (?x ex:q ?_1)]") == (
        Rule((Atom("?x", Q, "?_1"),), (Atom("?x", P, "?_2"), Atom("?_4", Q, "?_1"), Atom("?_5", "?_6", "?_3"))),
    )


def test_backward_rules_run_forward() -> None:
    file = parse_rules(EX + "[r: (?y ex:p ?x) <- (?x ex:p ?y) lessThan(?y, 5)]\n(ex:p ex:q ex:p) <- .")
    assert file.rules == (Rule((YPX,), (XPY,), (Guard("lessThan", ("?y", integer("5"))),)), Rule((Atom(P, Q, P),), ()))
    assert file.warnings == tuple(
        f"line {line}, column {column}: The backward rule is read as a forward one. Write body -> head."
        for line, column in ((2, 18), (3, 18))
    )


def test_tabling_has_no_effect() -> None:
    file = parse_rules(EX + "-> table(ex:p).\n-> tableAll() .\n[r: (?x ex:p ?y) -> (?y ex:p ?x) table(ex:p)]")
    assert file.rules == (SWAP,)
    assert [warning.partition(": ")[2] for warning in file.warnings] == [
        f"{name}(...) has no effect: forward rules always come to an end." for name in ("table", "tableAll", "table")
    ]


def test_included_rule_sets() -> None:
    for name in RULE_SETS:
        file = parse_rules(f"@include <{name}>. @include <{name}>")
        assert file == RuleFile((), (name,))
        assert bool(file.warnings) == name.startswith("OWL")
    file = parse_rules(f"{EX}@include <RDFS>. [r: (?x ex:p ?y) -> (?y ex:p ?x)] @include <OWL>.")
    assert file == RuleFile((SWAP,), ("RDFS", "OWL"))
    assert file.warnings == ("line 2, column 61: <OWL> stands for the rule set owl-horst, which derives less.",)
    assert set(RULE_SETS.values()) == {"rho-df", "rdf-full", "rdfs", "rdfs-full", "owl-horst"}


def test_rules_of_one_name() -> None:
    file = parse_rules(EX + "[r: -> (ex:p ex:p ex:p)] [r: -> (ex:p ex:q ex:p)]\n[r: -> (ex:q ex:p ex:p)]")
    assert file.warnings == (
        'line 2, column 27: The rule of line 2 is called "r", too.',
        'line 3, column 2: The rule of line 2 is called "r", too.',
    )


def test_texts_without_rules() -> None:
    assert parse_rules("") == parse_rules("\ufeff # nothing\n// here") == RuleFile((), ())


def test_the_rules_of_the_paper() -> None:
    def atom(subject: str, predicate: str, node: str) -> Atom:
        names = [re.sub("^rdf:(.*)", rf"<{RDF}\1>", name) for name in (subject, predicate, node)]
        return Atom(*(re.sub("^rdfs:(.*)", rf"<{RDFS}\1>", name) for name in names))

    type_, below, under = "rdf:type", "rdfs:subClassOf", "rdfs:subPropertyOf"
    spo = atom("?s", "?p", "?o")
    file = parse_rules(FIGURE_3)
    assert file.rules == (
        Rule((atom("?s", type_, "?class"),), (atom("?p", "rdfs:domain", "?class"), spo)),
        Rule((atom("?o", type_, "?class"),), (atom("?p", "rdfs:range", "?class"), spo)),
        Rule((atom("?p", under, "?r"),), (atom("?p", under, "?q"), atom("?q", under, "?r"))),
        Rule((atom("?p", under, "?p"),), (atom("?p", type_, "rdf:Property"),)),
        Rule((atom("?s", "?q", "?o"),), (atom("?p", under, "?q"), spo)),
        Rule((atom("?c", below, "?c"),), (atom("?c", type_, "rdfs:Class"),)),
        Rule((atom("?c", below, "?e"),), (atom("?c", below, "?d"), atom("?d", below, "?e"))),
        Rule((atom("?s", type_, "?d"),), (atom("?c", below, "?d"), atom("?s", type_, "?c"))),
        Rule((atom("?p", under, "rdfs:member"),), (atom("?p", type_, "rdfs:ContainerMembershipProperty"),)),
        Rule(
            (atom("?p", type_, "rdf:Property"), atom("?s", type_, "rdfs:Resource"), atom("?o", type_, "rdfs:Resource")),
            (spo,),
        ),
        Rule((atom("?c", below, "rdfs:Resource"),), (atom("?c", type_, "rdfs:Class"),)),
    )
    assert file.warnings == () and file.rules[0].name == "domain"


@pytest.mark.skipif(not LUBM.is_file(), reason=f"LUBM's rules are not at {LUBM}")
def test_the_rules_of_lubm() -> None:
    file = parse_rules(LUBM.read_text())
    assert (len(file.rules), file.includes, file.warnings) == (8, (), ())
    assert [rule.name for rule in file.rules] == [f"r{number}" for number in range(1, 9)]


@pytest.mark.skipif(not PAPERS.is_dir(), reason=f"the papers are not at {PAPERS}")
def test_the_rules_printed_in_the_papers() -> None:
    read = 0
    for path in sorted(PAPERS.glob("*.txt")):
        for block in re.findall(r"```\n(.*?)```", path.read_text(), re.DOTALL):
            if "->" not in block or not block.strip().startswith("["):
                continue
            if "GetVT" in block:
                with pytest.raises(LanguageError):
                    parse_rules(block)
                continue
            assert len(parse_rules(block).rules) == block.count("->")
            read += 1
    assert read >= 1


def refusal(text: str) -> LanguageError:
    with pytest.raises(LanguageError) as caught:
        parse_rules(text)
    return caught.value


def test_large_texts() -> None:
    assert refusal("#" * (LONGEST_TEXT + 1)).code == "too-large"
    assert parse_rules("#" * LONGEST_TEXT) == RuleFile((), ())
    assert refusal("# \ud800").code == "bad-character"
    one = "->(eg:a eg:a eg:a).\n"
    assert len(parse_rules(one * bounds.MOST_RULES).rules) == bounds.MOST_RULES
    error = refusal(one * (bounds.MOST_RULES + 1))
    assert (error.code, error.line) == ("too-large", bounds.MOST_RULES + 1)


@pytest.mark.parametrize("piece", ["-", "=", "a.", "a:", "<", "'", "(", "->", "http://", "\\"])
def test_long_texts_of_one_sign_are_refused(piece: str) -> None:
    """A word whose end is looked for again and again would keep this from ending."""
    error = refusal(piece * (60_000 // len(piece)))
    assert (error.line, error.column < 20) == (1, True)


def test_large_rules() -> None:
    atom, guard = " (?x eg:p ?y)", " equal(?x, ?y)"
    cases = [
        (atom, bounds.MOST_ATOMS, "[{} -> (?x eg:p ?y)]"),
        (guard, bounds.MOST_GUARDS, "[(?x eg:p ?y){} -> (?x eg:p ?y)]"),
        (atom, bounds.MOST_HEADS, "[(?x eg:p ?y) ->{}]"),
    ]
    for part, most, rule in cases:
        assert len(parse_rules(rule.format(part * most)).rules) == 1
        for more in (most + 1, 8_000):
            error = refusal(rule.format(part * more))
            assert (error.code, error.column) == ("too-large", rule.index("{") + most * len(part) + 2)
    call = "[(?x eg:p ?y) strConcat({}?z) -> (?x eg:p ?z)]"
    assert len(parse_rules(call.format("?x " * (bounds.MOST_ARGUMENTS - 1))).rules) == 1
    for more in (bounds.MOST_ARGUMENTS, 50_000):
        assert refusal(call.format("?x " * more)).code == "too-large"
    compared = "[(?x eg:p ?y)" + " sum(?x, 1, ?y)" * 26 + " -> (?x eg:p ?y)]"
    assert refusal(compared).message == "The rule has more than 50 guards, with those that compare."


def test_names_that_become_too_long() -> None:
    """What is accepted can be printed, and the printed text is no larger than a text may be."""
    long = "@prefix l: <http://ex.org/" + "x" * 5_000 + "/>. "
    names = "".join(f"-> (l:a{number}.b eg:p eg:p). " for number in range(60))
    assert refusal(long + names).message.startswith("The rules have ")
    assert len(parse_rules(long + names.replace(".b", "")).rules) == 60


def test_bad_patterns_end_the_rule_and_nothing_else() -> None:
    rule = "[(?x eg:p ?y) regex(?y, '{}') -> (?x eg:q ?y)]"
    for pattern in ("[", "a{99999999999}", "(" * 500, "(" * 900 + ")" * 900, "*"):
        assert refusal(rule.format(pattern)).code in ("bad-pattern", "too-large")
    assert refusal(rule.format("a" * (bounds.LONGEST_PATTERN + 1))).code == "too-large"
    assert len(parse_rules(rule.format("[[a]\\\\d+(b|c)")).rules) == 1


def test_a_bad_base() -> None:
    with pytest.raises(LanguageError) as caught:
        parse_rules("", base="not an IRI")
    assert caught.value.code == "bad-base"
