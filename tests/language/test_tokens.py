from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.language.tokens import parted, tokenize
from tests.examples import examples


def keys(text: str) -> list[str]:
    return [token.key for token in tokenize(text)][:-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('?x ex:p "a" .', ["VAR", "PNAME_LN", "STRING", "."]),
        ("?task ex:hasStep ex:upstream", ["VAR", "PNAME_LN", "PNAME_LN"]),
        ("step:from from:step STEP", ["PNAME_LN", "PNAME_LN", "STEP"]),
        ("Gas gas a A as", ["WORD", "WORD", "a", "WORD", "AS"]),
        ("'from stream' \"\"\"a \"\" b\"\"\" '''it's'''", ["STRING", "STRING", "STRING"]),
        ("<http://ex.org/#from> # from\n{", ["IRIREF", "{"]),
        ("?a < ?b && ?c > ?d", ["VAR", "<", "VAR", "&&", "VAR", ">", "VAR"]),
        ("?a<?b", ["VAR", "<", "VAR"]),
        ("10s 10 s PT0.5S", ["INTEGER", "WORD", "INTEGER", "WORD", "WORD"]),
        ("1.5 .5 1e3 -5 +2.5", ["DECIMAL", "DECIMAL", "DOUBLE", "SIGNED", "SIGNED"]),
        ("$a$b $a$", ["VAR", "VAR", "VAR", "$"]),
        ("() ( ) [] [\n]", ["NIL", "NIL", "ANON", "ANON"]),
        ("_:b1. ex:a.b. ex:", ["BLANK", ".", "PNAME_LN", ".", "PNAME_NS"]),
        (r"ex:a\-b ex:%20 ex:a\,b", ["PNAME_LN", "PNAME_LN", "PNAME_LN"]),
        ('"a"@en-GB "a"^^ex:t', ["STRING", "LANGTAG", "STRING", "^^", "PNAME_LN"]),
        ('"a"xsd:int', ["STRING", "MISSING_CARETS", "PNAME_LN"]),
        ('"a"<http://e>"a" ex:b', ["STRING", "MISSING_CARETS", "IRIREF", "STRING", "PNAME_LN"]),
        ("rho-df my-query-2 true-1", ["WORD", "WORD", "TRUE", "SIGNED"]),
        ("END VAR STRING NIL BLANK", ["WORD"] * 5),
        ('"open', ["OPEN_STRING"]),
        ("<http://ex.org/a b>", ["BAD_IRI"]),
        ("ſelect \u212a", ["WORD", "WORD"]),
        ("\ufeffASK", ["ASK"]),
        ("A\r\nB\tC\rD", ["WORD", "WORD", "WORD", "WORD"]),
        ("/* no */ x", ["BAD", "WORD"]),
        ("été 学生 ?naïve", ["WORD", "WORD", "VAR"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert keys(text) == expected


@pytest.mark.parametrize("word", ["select", "Select", "sELECT", "SELECT"])
def test_keywords_in_any_case(word: str) -> None:
    assert keys(word) == ["SELECT"]


def test_a_word_that_is_called_like_a_kind_is_not_of_that_kind() -> None:
    assert [(token.kind, token.key) for token in tokenize("end")] == [("WORD", "WORD"), ("END", "END")]


def test_at_most_so_many() -> None:
    assert [token.text for token in tokenize("a b c d", most=2)] == ["a", "b", ""]


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("FILTERsameTerm", ["FILTER", "sameTerm"]),
        ("filternotexists", ["filter", "not", "exists"]),
        ("LIMIT10OFFSET05", ["LIMIT", "10", "OFFSET", "05"]),
        ("STRSTARTS", ["STRSTARTS"]),  # each is as long as it can be
        ("ASCONSTRUCT", []),  # so this is ASC, and not AS
        ("FILTERx", []),
        ("unıon", []),
    ],
)
def test_words_that_touch(word: str, parts: list[str]) -> None:
    (token, _) = tokenize(word)
    found = parted(token)
    assert [part.text for part in found] == parts
    assert [part.text for part in found] == [word[part.start : part.end] for part in found]


signs = st.sampled_from("ab:?$<>\"'\\/*#.()[]{}-^@ \n\r\té5\u00a0")
alphabet = st.text(signs | st.characters(codec="utf-8"), max_size=60)


@settings(max_examples=examples(300))
@given(alphabet)
def test_tokens_tile_the_text(text: str) -> None:
    position = 0
    for token in tokenize(text):
        gap = text[position : token.start]
        assert token.text == text[token.start : token.end]
        # A gap is white space, and comments up to their line's end.
        for line in gap.lstrip("\ufeff").replace("\r", "\n").split("\n"):
            assert line.strip(" \t") == "" or "#" in line
        position = token.end
