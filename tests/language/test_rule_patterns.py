"""Patterns of `regex`: for what Python's `re` can match in time, RE2 is given what matches the same texts; the rest is
refused with a sentence."""

from __future__ import annotations

import re
import warnings

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from csparql_spark.language.rules.bounds import LONGEST_PATTERN, MOST_REPEATED, MOST_STATES
from csparql_spark.language.rules.patterns import LARGE, PatternError, check_pattern, read_pattern, whole
from tests.examples import examples

TEXTS = [
    "",
    "a",
    "b",
    "ab",
    "ba",
    "aab",
    "A",
    "é",
    "É",
    "1",
    "٣",
    "a1",
    " ",
    "\n",
    "a\n",
    "a\nb",
    "\u2003",
    "\x1c",
    "_",
    "-",
    "]",
    "^",
    "{",
    "}",
    "a{",
    "a{2",
    "a{,x}",
    "aa",
    "aaa",
    "aaaa",
    "日",
    "a日",
    "\\",
    "x",
    "\x08",
    "\x85",
    "ß",
]


def found(text: str) -> list[bool]:
    """Which of the texts the pattern matches."""
    pattern = check_pattern(text)
    wide, ascii = (
        pc.match_substring_regex(pa.array(TEXTS), whole(shape)).to_pylist() for shape in (pattern.wide, pattern.ascii)
    )
    for place, one in enumerate(TEXTS):
        assert not one.isascii() or wide[place] == ascii[place], (text, one)
    return wide


def expected(text: str) -> list[bool]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [re.fullmatch(text, one) is not None for one in TEXTS]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        ".",
        "a.",
        "(?s)a.b",
        "a|b|",
        "(a|b)*",
        "(?:a)+",
        "(?P<n>a)b?",
        "a??",
        "a{2}",
        "a{2,}",
        "a{,2}",
        "a{1,2}?",
        "a{,}",
        "a{",
        "a{2",
        "a{,x}",
        "{",
        "}",
        "]",
        "-",
        r"\d",
        r"\D",
        r"\w+",
        r"\W",
        r"\s",
        r"\S+",
        r"[\s\S]*",
        r"[^\s\S]",
        r"[\w\W]",
        r"[^\W\d_]+",
        r"[\W]",
        r"[\S]",
        r"[\D]",
        r"[^\d]",
        r"[a\d-]",
        "[]]",
        "[^]a]",
        "[a-c-]",
        "[-a]",
        "[[:alpha:]]",
        r"[\]]",
        r"[\b]",
        r"[\\]",
        "[^-]",
        "(?i)a",
        "(?i)É",
        "(?i)[a-b]+",
        "(?i:a)b",
        "(?i)ß",
        "(?-i:A)",
        "^a$",
        "(a$|b)",
        "(?m)^a$\n^b$",
        "(?m)a$\n",
        r"\Aa\Z",
        r"a(?#note)*",
        r"\x61",
        r"\u00e9",
        r"\U000000e9",
        r"\N{LATIN SMALL LETTER A}",
        r"\n",
        r"a\012",
        r"\101",
        r"\0*",
        r"\-",
        r"\ ",
        r"\{",
        r"\é",
        "(?u)a",
        "(a{2}){2}",
        "日",
        "()*",
        "(a|())b",
    ],
)
def test_as_python_matches_it(text: str) -> None:
    assert found(text) == expected(text)


pieces = st.sampled_from(
    ["a", "b", "é", "1", " ", r"\d", r"\w", r"\S", ".", "[ab]", "[^a]", r"[^\W\d]", r"[\sa]", r"\n", "[a-é]", "_"]
)
shapes = st.recursive(
    pieces,
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("({}|{})".format, inner, inner),
        st.builds("(?i:{})".format, inner),
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{,2}", "{1,}", "*?"])),
    ),
    max_leaves=5,
)


@given(shapes)
@settings(max_examples=examples(300), deadline=None)
def test_made_up_patterns_match_as_python_says(text: str) -> None:
    try:
        matched = found(text)
    except PatternError as error:  # repetitions in repetitions multiply
        assert error.code == LARGE and text.count("{") > 2
        reject()
    assert matched == expected(text)


@pytest.mark.parametrize("text, others", [(r"\b.*", ["é", "É", "٣", "日", "a日", "ß"]), (r"a$\n", ["a\n"])])
def test_where_the_two_differ_it_is_said(text: str, others: list[str]) -> None:
    """Of texts of ASCII, and where $ is the last thing, nothing is different."""
    assert {one for one, mine, theirs in zip(TEXTS, found(text), expected(text)) if mine != theirs} <= set(others)
    assert len(check_pattern(text).surprises) == 1


@pytest.mark.parametrize("text", ["a$", "^(a|b$)$", "(?m)a$\n", r"a\Z", "(a$)?", "a$|b"])
def test_an_end_at_the_end_surprises_nobody(text: str) -> None:
    assert check_pattern(text).surprises == ()


@pytest.mark.parametrize(
    "text, code, sentence",
    [
        (
            r"(a)\1",
            "slow-pattern",
            r"\1 stands for what a group has matched, which takes more than one look at the text.",
        ),
        (
            "(?P<n>a)(?P=n)",
            "slow-pattern",
            "(?P= stands for what a group has matched, which takes more than one look at the text.",
        ),
        ("a(?=b).*", "slow-pattern", "(?= looks ahead, which takes more than one look at the text."),
        ("a(?!b).*", "slow-pattern", "(?! looks ahead, which takes more than one look at the text."),
        (".*(?<=a)b", "slow-pattern", "(?<= looks behind, which takes more than one look at the text."),
        (".*(?<!a)b", "slow-pattern", "(?<! looks behind, which takes more than one look at the text."),
        ("(?>a+)b", "slow-pattern", "(?> keeps what it has taken, which takes more than one look at the text."),
        ("a++b", "slow-pattern", "++ keeps what it has taken, which takes more than one look at the text."),
        (
            "(a)?(?(1)b|c)",
            "slow-pattern",
            "(?( asks whether a group has matched, which takes more than one look at the text.",
        ),
        (
            "(?x)a b",
            "slow-pattern",
            "(?x) sets a flag that there is not: there are i (capitals do not matter), m (^ and $ "
            "stand at lines, too) and s (a dot is a line end, too).",
        ),
        ("a{1001}", "too-large", "{1001} repeats more than 1000 times."),
        (
            "(a{1000}){1000}",
            "too-large",
            "{1000} repeats more than 1000 times, and what it repeats is repeated 1000 times.",
        ),
        (
            r"(\w{100}){3}",
            "too-large",
            "The pattern has 3008 states when its repetitions are written out; 2000 are the most.",
        ),
        ("a" * 1001, "too-large", "The pattern has more than 1000 characters."),
        ("(a", "bad-pattern", "The bracket ( at character 1 of the pattern is open."),
        ("a)", "bad-pattern", "The bracket ) at character 2 of the pattern closes nothing."),
        ("a)(?:b", "bad-pattern", "The bracket ) at character 2 of the pattern closes nothing."),
        ("[a", "bad-pattern", "The class [ at character 1 of the pattern is open."),
        ("a|*", "bad-pattern", "There is nothing before the * at character 3 of the pattern that could be repeated."),
        ("a**", "bad-pattern", "There is nothing before the * at character 3 of the pattern that could be repeated."),
        ("a{3,2}", "bad-pattern", "{3,2} asks for at least 3 and at most 2."),
        (r"\q", "bad-pattern", r"\q means nothing in a pattern."),
        ("a\\", "bad-pattern", "The pattern ends with a backslash."),
        ("[b-a]", "bad-pattern", "The range b-a ends before it begins."),
        (r"[\d-z]", "bad-pattern", "The range at character 2 of the pattern has no ends."),
        (r"\N{NO SUCH}", "bad-pattern", r"There is no character \N{NO SUCH}."),
        (r"\ud800", "bad-pattern", r"There is no character \ud800."),
        ("(?P<1>a)", "bad-pattern", "A group has no such name."),
        ("(?P<n>a)(?P<n>b)", "bad-pattern", "Two groups are called n."),
        ("(?#a", "bad-pattern", "The comment (?# has no end."),
        (r"\p{Nothing}", "bad-pattern", r"This is no regular expression: invalid character class range: \p{Nothing}."),
    ],
)
def test_what_is_refused(text: str, code: str, sentence: str) -> None:
    with pytest.raises(PatternError) as refused:
        check_pattern(text)
    assert (refused.value.code, refused.value.message) == (code, sentence)


def test_classes_of_all_languages() -> None:
    """But for letters that one of the two knows and the other does not know yet."""
    characters = [chr(code) for code in range(0x3400) if not 0xD800 <= code <= 0xDFFF]
    for text in (r"\w", r"\d", r"\s", r"\W", r"\D", r"\S", r"[\W]", r"[\S]", r"[^\W]"):
        said = pc.match_substring_regex(pa.array(characters), whole(check_pattern(text).wide)).to_pylist()
        matched = re.compile(text)
        unlike = [one for one, mine in zip(characters, said) if mine != (matched.fullmatch(one) is not None)]
        assert len(unlike) < 60, (text, unlike)


def test_properties_are_known_besides() -> None:
    assert [one for one, yes in zip(TEXTS, found(r"\p{Lu}|[\p{Han}]")) if yes] == ["A", "É", "日"]


@given(st.text("ab(){}[]*+?|\\^$-,.:=!<>#P1d", max_size=25))
@settings(max_examples=examples(500), deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        pattern = check_pattern(text)
    except PatternError as error:
        assert error.code in ("bad-pattern", "slow-pattern", "too-large") and error.message.endswith(".")
    else:
        assert pattern.states <= MOST_STATES


def test_the_largest_that_are_let_in_are_compiled() -> None:
    for text in (
        "a" * LONGEST_PATTERN,
        f"a{{{MOST_REPEATED}}}",
        "(" * 333 + "a" + ")" * 333,
        r"\w{180}",
        "[a-z]" * 199,
        "(?:a?){600}",
        "(a|b)*a(a|b){300}",
        r"[\W]" * 7,
    ):
        check_pattern(text)


def test_nothing_of_a_pattern_takes_long_to_be_read() -> None:
    """Deep nesting needs no deep stack, and large repetitions are not written out."""
    with pytest.raises(PatternError, match="is open"):
        read_pattern("(" * LONGEST_PATTERN)
    with pytest.raises(PatternError, match="repeats more than"):
        read_pattern("((a{99}){99}){99}")
