"""Texts that were damaged: whatever is done to them, they are read or refused with the language's own error."""

from __future__ import annotations

import logging
import random
import re
from pathlib import Path

import pytest

from csparql_spark.language import LanguageError, parse
from csparql_spark.language.queries.grammar import KEYWORDS
from tests.language import texts
from tests.language.damage import damaged

CORPUS = [*texts.TWELVE.values(), *texts.RARE, *texts.citybench().values()] * 4
CORPUS += [path.read_text() for path in sorted((Path(__file__).parent / "errors").glob("*.rq"))]
SCRAPS = [
    *sorted(KEYWORDS),
    *'{ } ( ) [ ] . ; , * a \\ " \' """ # < > ^^ /* $ $a$ ? \x00 \u00a0 \ufeff é 😀 \r\n \u2028'.split(" "),
    *'?x <http://a> <> <a ex:a : _:b @en "s" 5 -5 1.5 99999999999999999999 10s 0s PT5S P1M 5S [] () end'.split(),
    "FROM STREAM <http://s> [RANGE 5s]",
    "FROM NAMED WINDOW <w:w> ON <s:s> [RANGE PT5S]",
    "AGGREGATE { (?n, COUNT, ?x) }",
    "timestamp(?x)",
    "GROUP BY ?x",
    '"1"xsd:int',
]


@pytest.mark.parametrize("seed", range(4))
def test_damaged_texts(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    # rdflib logs what it thinks of odd literals and IRIs.
    caplog.set_level(logging.CRITICAL)
    chance = random.Random(seed)
    read = refused = 0
    for _ in range(800):
        text = damaged(chance.choice(CORPUS), chance, SCRAPS)
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
