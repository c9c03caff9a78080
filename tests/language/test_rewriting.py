from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.language.queries.rewriting import Rewriting
from csparql_spark.language.tokens import Token, tokenize
from tests.language.texts import RARE, TWELVE


def start(text: str) -> tuple[Rewriting, list[Token]]:
    tokens = tokenize(text)
    return Rewriting(text, tokens), tokens


def write(rewriting: Rewriting) -> str:
    return rewriting.write(0, len(rewriting.text))


def test_white_space() -> None:
    rewriting, _ = start("  A\t\tB # c\r\n\r\n\t C?d  (  E ) 'f' @en 'g' ^^ h:i STR (?x)  ")
    assert write(rewriting) == "A B\n     C ?d ( E ) 'f'@en 'g'^^h:i STR(?x)"


def test_changes() -> None:
    rewriting, tokens = start("one two  three four five six")
    rewriting.replace(tokens[0], "1")
    rewriting.drop(tokens[1].start, tokens[2].end, "\n")
    rewriting.put_before(tokens[4].start, "[")
    rewriting.put_before(tokens[4].start, "[")
    rewriting.put_after(tokens[4].end, "]")
    rewriting.put_after(tokens[4].end, ">")
    rewriting.drop(tokens[5].start, tokens[5].end)
    assert write(rewriting) == "1\nfour [[five]>"
    assert rewriting.write(tokens[3].start, tokens[4].end, {tokens[3].start: "4"}) == "4 [[five]>"


def test_dropping_keeps_the_white_space_after() -> None:
    rewriting, tokens = start("one two\n  three")
    rewriting.drop(tokens[1].start, tokens[1].end)
    assert write(rewriting) == "one\n  three"


@given(st.sampled_from([*TWELVE.values(), *RARE]))
def test_writing_twice_is_writing_once(text: str) -> None:
    once = write(start(text)[0])
    assert write(start(once)[0]) == once
