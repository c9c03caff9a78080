"""Texts that were damaged: whatever is done to them, they are read or refused with the language's own error."""

from __future__ import annotations

import logging
import random
import re
from pathlib import Path

import pytest

from csparql_spark.language import LanguageError, parse
from csparql_spark.language.grammar import KEYWORDS
from tests.language import texts

CORPUS = [*texts.TWELVE.values(), *texts.RARE, *texts.citybench().values()] * 4
CORPUS += [path.read_text() for path in sorted((Path(__file__).parent / "errors").glob("*.rq"))]
SCRAPS = [
    *sorted(KEYWORDS),
    *"{ } ( ) [ ] . ; , * a \\ \" ' \"\"\" # < > ^^ /* $ $a$ ? \x00 \u00a0 \ufeff é 😀 \r\n \u2028".split(" "),
    *"?x <http://a> <> <a ex:a : _:b @en \"s\" 5 -5 1.5 99999999999999999999 10s 0s PT5S P1M 5S [] () end".split(),
    "FROM STREAM <http://s> [RANGE 5s]",
    "FROM NAMED WINDOW <w:w> ON <s:s> [RANGE PT5S]",
    "AGGREGATE { (?n, COUNT, ?x) }",
    "timestamp(?x)",
    "GROUP BY ?x",
    '"1"xsd:int',
]
PIECES = re.compile(r"\w+|\s+|.", re.DOTALL)


def damage(text: str, chance: random.Random) -> str:
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        pieces = PIECES.findall(text) or [" "]
        here, there = chance.randrange(len(pieces)), chance.randrange(len(pieces))
        match chance.randrange(7):
            case 0:
                del pieces[here]
            case 1:
                pieces[here] = chance.choice(SCRAPS)
            case 2:
                pieces.insert(here, f" {chance.choice(SCRAPS)} ")
            case 3:
                pieces[here], pieces[there] = pieces[there], pieces[here]
            case 4:
                pieces.insert(here, pieces[there])
            case 5:
                pieces = pieces[:here]
            case 6:
                pieces[here] = pieces[here].swapcase()[::-1]
        text = "".join(pieces)
    return text


@pytest.mark.parametrize("seed", range(4))
def test_damaged_texts(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    # rdflib logs what it thinks of odd literals and IRIs.
    caplog.set_level(logging.CRITICAL)
    chance = random.Random(seed)
    read = refused = 0
    for _ in range(600):
        text = damage(chance.choice(CORPUS), chance)
        try:
            parse(text, base="http://base.example/")
            read += 1
        except LanguageError as error:
            refused += 1
            lines = re.split(r"\r\n|\r|\n", text)
            assert 1 <= error.line <= len(lines)
            assert 1 <= error.column <= len(lines[error.line - 1]) + 1
            assert error.message.endswith((".", ")")) and "\n" not in str(error)
            picture = error.picture(text).split("\n")
            assert len(picture) == 2 and set(picture[1].strip()) == {"^"}
            assert error.code != "not-sparql", f"only an engine saw what is wrong: {error}\n{text}"
    assert read > 20 and refused > 300


@pytest.mark.parametrize("text", texts.TWELVE.values(), ids=texts.TWELVE)
def test_texts_that_end_early(text: str) -> None:
    """Of a text that is cut, all that is left is right: the error is at its end, or at the last word."""
    for end in range(0, len(text.rstrip()), 7):
        cut = text[:end]
        try:
            parse(cut)
        except LanguageError as error:
            lines = cut.rstrip().split("\n")
            last_word = re.search(r"\S*\s*$", cut.rstrip())
            assert last_word is not None
            if error.code in ("undeclared-prefix", "missing-stream", "unknown-window", "not-grouped"):
                continue
            assert (error.line, error.column) >= (len(lines), 1), f"{error}\n{error.picture(cut)}"
