"""What our grammar reads, another reader of SPARQL reads too: bodies, of texts that nobody would write."""

from __future__ import annotations

import logging
import random
import re

import pytest

from csparql_spark.language import LanguageError, parse
from tests.language import texts
from tests.language.damage import damaged
from tests.language.generated import generated
from tests.language.oracle import algebra_of
from tests.language.test_fuzz import CORPUS, SCRAPS
from tests.language.test_w3c_syntax import GOOD

BASE = "http://base.example/"
LONGEST = 1500  # rdflib takes its time
EMPTY_SET = re.compile(r"!\s*\(\s*\)")


def read(text: str) -> str | None:
    """The body of a text; None if it is refused."""
    try:
        body = parse(text, base=BASE).body
    except LanguageError:
        return None
    # rdflib takes what follows a "#" in an IRI for a comment, if SERVICE comes after it on the same line; it reads
    # !(), and has no algebra for it.
    return None if "SERVICE" in body or EMPTY_SET.search(body) else body


@pytest.mark.parametrize("text", [*texts.TWELVE.values(), *texts.RARE, *texts.citybench().values()])
def test_bodies_of_queries(text: str) -> None:
    algebra_of(parse(text, base=BASE).body)


@pytest.mark.parametrize("seed", range(4))
def test_bodies_of_texts_that_were_made_or_damaged(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    # rdflib logs what it thinks of odd literals and IRIs.
    caplog.set_level(logging.CRITICAL)
    chance, bodies = random.Random(seed), []
    while len(bodies) < 60:
        made = chance.random() < 0.5
        text = generated(chance, longest=LONGEST) if made else damaged(chance.choice(CORPUS), chance, SCRAPS)
        if len(text) <= LONGEST and (body := read(text)) is not None:
            bodies.append(body)
    for body in bodies:
        algebra_of(body)


@pytest.mark.skipif(not GOOD, reason="the W3C's tests are not there")
def test_bodies_of_the_w3c() -> None:
    for case in GOOD[::4]:
        name = case.files.get("action") or case.files["query"]
        if (body := read(case.path(name).read_text(encoding="utf-8"))) is not None:
            algebra_of(body)
