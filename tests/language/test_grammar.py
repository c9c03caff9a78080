from __future__ import annotations

import re

import pytest

from csparql_spark.language import LanguageError, parse
from csparql_spark.language.queries.bounds import MOST_WORDS
from csparql_spark.language.queries.grammar import KEYWORDS, RULES, compile_rules
from csparql_spark.language.queries.syntax import Node, Unexpected, read_tree
from csparql_spark.language.tokens import Token, parted, tokenize
from tests.language.texts import RARE, TWELVE, W3C


def test_two_alternatives_may_not_begin_alike() -> None:
    with pytest.raises(ValueError, match="begin with X"):
        compile_rules("First = 'X' 'Y' | Second ; Second = [ 'Z' ] 'X' ;")


def test_first_tokens_look_through_what_may_be_empty() -> None:
    rules = compile_rules("All = One Two 'D' ; One = [ 'E' ] { 'F' } ; Two = 'G' | ;")
    assert rules["All"].first == {"D", "E", "F", "G"}
    assert {name: rule.nullable for name, rule in rules.items()} == {"All": False, "One": True, "Two": True}


def test_no_keyword_is_called_like_a_kind_of_token() -> None:
    kinds = {"VAR", "IRIREF", "PNAME_LN", "PNAME_NS", "STRING", "INTEGER", "WORD", "END", "NIL", "ANON", "BLANK"}
    assert KEYWORDS & kinds == set()


@pytest.mark.parametrize("text", [*TWELVE.values(), *RARE])
def test_a_tree_holds_every_token_once_and_nodes_hold_their_children(text: str) -> None:
    tokens = tokenize(text)
    tree = read_tree(tokens)
    assert list(tree.all_tokens()) == tokens
    for node in tree.walk():
        assert node.rule in RULES
        children = [child for child in node.children if not (isinstance(child, Node) and child.start == child.end)]
        spans = [(child.start, child.end) for child in children]
        assert spans == sorted(spans)
        assert not spans or (spans[0][0], spans[-1][1]) == (node.start, node.end)


@pytest.mark.parametrize(
    ("text", "stopped", "some_of"),
    [
        ("SELECT * { ?s ?p }", "}", {"VAR", "IRIREF", "STRING"}),
        ("SELECT * {} LIMIT", "", {"INTEGER"}),
        ("REGISTER QUERY q SELECT", "SELECT", {"AS", "COMPUTE", "COMPUTED"}),
        ("SELECT ?x FROM STREAM <s> [RANGE 5s STEP]", "]", {"INTEGER", "WORD"}),
        ("SELECT ?x FROM STREAM <s> [RANGE 5s, STEP 5s]", ",", {"STEP", "SLIDE", "TUMBLING", "]"}),
    ],
)
def test_the_walk_stops_at_the_first_token_that_fits_nowhere(text: str, stopped: str, some_of: set[str]) -> None:
    tokens = tokenize(text)
    with pytest.raises(Unexpected) as caught:
        read_tree(tokens)
    assert tokens[caught.value.index].text == stopped
    assert some_of <= caught.value.expected


TOUCHING = {
    "SELECT*{?x?p?y FILTERsameTerm(?x,?y)}": "SELECT * { ?x ?p ?y FILTER sameTerm(?x, ?y) }",
    "SELECTDISTINCT?x{?x?p?y FILTERNOTEXISTS{?x a?y}}ORDERBYDESC(?x)LIMIT10OFFSET5": "SELECT DISTINCT ?x { ?x ?p ?y FILTER NOT EXISTS { ?x a ?y } } ORDER BY DESC(?x) LIMIT 10 OFFSET 5",
    "SELECT?x{?x?p?y.FILTERregex(?y,'a')BIND(1AS?z)VALUES?w{1UNDEF}{}UNION{?x?q?y}OPTIONAL{?x?q?v}}": "SELECT ?x { ?x ?p ?y . FILTER regex(?y, 'a') BIND(1 AS ?z) VALUES ?w { 1 UNDEF } {} UNION { ?x ?q ?y } "
    "OPTIONAL { ?x ?q ?v } }",
    "SELECT(COUNT(DISTINCT?x)AS?n){GRAPH?g{?x?p?y}}GROUPBY?y HAVING(COUNT(?x)>1)ORDERBYASC(?n)": "SELECT (COUNT(DISTINCT ?x) AS ?n) { GRAPH ?g { ?x ?p ?y } } GROUP BY ?y HAVING (COUNT(?x) > 1) "
    "ORDER BY ASC(?n)",
    "ASKWHERE{?x?p true.FILTER(?p NOTIN(1,2)&&isIRI(?x))}": "ASK WHERE { ?x ?p true . FILTER(?p NOT IN (1, 2) && isIRI(?x)) }",
}


@pytest.mark.parametrize("text", TOUCHING)
def test_keywords_may_touch(text: str) -> None:
    read, wanted = parse(text), parse(TOUCHING[text])
    assert " ".join(keys(read.body)) == " ".join(keys(wanted.body))
    assert (read.form, read.variables) == (wanted.form, wanted.variables)


@pytest.mark.parametrize("text", [*TWELVE.values(), *RARE])
def test_keywords_touch_wherever_two_stand_side_by_side(text: str) -> None:
    tokens = tokenize(text)
    pieces = [text[: tokens[0].start]]
    for token, following in zip(tokens, tokens[1:]):
        pieces.append(token.text)
        word = Token("WORD", "WORD", token.text + following.text, 0, len(token.text + following.text))
        touching = token.key in KEYWORDS and following.key in KEYWORDS and len(parted(word)) == 2
        pieces.append("" if touching else text[token.end : following.start])
    glued = "".join(pieces)
    assert [token.key for token in read_tree(tokenize(glued)).all_tokens()] == [token.key for token in tokens]


def test_a_name_may_look_like_keywords() -> None:
    query = parse("REGISTER QUERY LimitOrder AS SELECT ?x FROM STREAM <urn:s> [RANGE 10s] { ?x ?p ?y }")
    assert query.name == "LimitOrder"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ASK { ?s ?p ?o FILTER INSTR(?o) }", "There is no function INSTR."),
        ("ASK { ?s ?p ?o FILTERR(?o) }", "Did you mean FILTER?"),
        ("SELECT ?s FROM STREAM <urn:s> [RANGE 10s STEP5s] { ?s ?p ?o }", "Did you mean STEP?"),
        ("SELECTWHERE { ?s ?p ?o }", 'line 1, column 7: Found "WHERE"'),
    ],
)
def test_what_does_not_fit_is_not_parted(text: str, message: str) -> None:
    with pytest.raises(LanguageError, match=re.escape(message)):
        parse(text)


def test_parting_does_not_make_a_text_larger_than_it_may_be() -> None:
    with pytest.raises(LanguageError, match="goes on after"):
        parse("ASK { " + "FILTERNOTEXISTS{}" * (MOST_WORDS // 3) + "}")


def keys(text: str) -> list[str]:
    return [token.key for token in tokenize(text)]


# What the W3C calls negative, and our reading of each: these are refused, all others of the two suites are read.
NEGATIVE = ("syn-bad-", "syn-blabel-cross-graph", "syn-blabel-cross-optional", "syn-blabel-cross-union")
ALSO_NEGATIVE = {"constructwhere05.rq", "constructwhere06.rq", "group06.rq", "group07.rq"}
# Repetition counts in paths, {2} and {1,3}, were dropped from SPARQL 1.1 before it was finished.
DROPPED = {"path-2-1.rq", "path-2-3.rq", "path-3-1.rq", "path-3-2.rq", "path-3-4.rq"} | {
    f"pp{number}.rq" for number in ("04", "05", "13", "15")
}


@pytest.mark.skipif(not W3C.is_dir(), reason=f"the W3C's SPARQL tests are not at {W3C}")
def test_the_w3c_queries() -> None:
    wrong: list[str] = []
    paths = sorted(W3C.glob("sparql1*/**/*.rq"))
    for number, path in enumerate(paths):
        refused = path.name.startswith(NEGATIVE) or path.name in ALSO_NEGATIVE | DROPPED
        text = path.read_bytes().decode()
        try:
            # All are walked; the negative ones and each fifth of the others go the whole way through the engines.
            read_tree(tokenize(text))
            if refused or number % 5 == 0:
                parse(text, base="http://base.example/")
            read = True
        except (LanguageError, Unexpected):
            read = False
        if read == refused:
            wrong.append(path.name)
    assert len(paths) > 400
    assert wrong == []
