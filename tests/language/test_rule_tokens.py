"""The words of rule files: where names, comments and IRIs end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.language.rules.tokens import rule_tokens


def keys(text: str) -> list[str]:
    return [token.key for token in rule_tokens(text)]


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("[r:->(?x ex:p 5)].", "[ PREFIX -> ( VAR PNAME NUMBER ) ] . END"),
        ("a:b.c.", "PNAME . END"),
        ("a:b-c->", "PNAME -> END"),
        ("a:b->", "PNAME -> END"),
        ("5->", "NUMBER -> END"),
        ("http://a.b/c#d//e.", "IRI . END"),
        ("<http://a#b> # c", "IRIREF END"),
        ("a,,b\ufeff", "WORD WORD BAD END"),
        ("'#' \"//\"", "STRING STRING END"),
        ("'a\\'b'^^c:d", "STRING ^^ PNAME END"),
        ("'a'@en", "STRING AT END"),
        ("a:b#c", "PNAME TOUCHING END"),
        ("a:b//c\nd", "PNAME TOUCHING WORD END"),
        ("a:b #c\nd", "PNAME WORD END"),
        (")#c\n]//d", ") ] END"),
        ("?x#c", "VAR TOUCHING END"),
        ("_:b *", "BLANK * END"),
        ("<- <-- <= => :- --> →", "<- " + "WRONG_ARROW " * 6 + "END"),
        ("'a\nb'", "OPEN_STRING WORD OPEN_STRING END"),
        ("@prefix p: <a>.@include<b>", "AT PREFIX IRIREF . AT IRIREF END"),
        ("lessThan(-5 +.5e3)", "WORD ( NUMBER NUMBER ) END"),
    ],
)
def test_words(text: str, wanted: str) -> None:
    assert keys(text) == wanted.split()


@given(st.text(st.sampled_from("ab:?<>-=.,#/'\"\\@_()[]5 \n\ré😀\u2028\x00")))
def test_tokens_tile_the_text(text: str) -> None:
    """Each token is where it says, and what is between two of them is a blank, a comma or a comment."""
    end = 0
    for token in rule_tokens(text):
        assert text[token.start : token.end] == token.text
        between = text[end : token.start]
        lines = between.replace("\r", "\n").split("\n")
        assert all(line.lstrip(" ,") == "" or line.lstrip(" ,").startswith(("#", "//")) for line in lines)
        end = token.end
