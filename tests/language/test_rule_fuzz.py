"""Rule files that were damaged: whatever is done to them, they are read or refused with the language's own error."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from csparql_spark.language import LanguageError, parse_rules, show_rules
from csparql_spark.language.rules.builtins import BUILTINS, REFUSED
from tests.language.damage import damaged
from tests.language.test_rule_parser import FIGURE_3

WHOLE = """
@prefix ex: <http://ex.org/>. @include <RDFS>. // both on one line
[isIn: (?a ex:isIn ?b), (?b ex:isIn ?c) -> (?a ex:isIn ?c)]
warm: (?r ex:celsius ?t) greaterThan(?t, 28.5) sum(?t ?d ?s) difference(?t, 1e1 ?d)
   -> (?r ex:felt ?s) (?r rdf:type ex:Warm).
[name: (?x ex:first ?f) (?x http://ex.org/last#name ?l) (* ?p ?x) strConcat(?f " " ?l ?n)
   regex(?n, '\\\\w+ .*') -> (?x ex:name ?n)]     # at the end
(?y ex:partOf ?x) <- (?x ex:contains ?y) isDType(?y, <urn:t>) .
-> (ex:a ex:b 'it\\'s'^^xsd:token), (ex:a ex:b "è"@it), (ex:a ex:b true) . -> tableAll().
"""
CORPUS = [WHOLE, FIGURE_3] * 20
CORPUS += [path.read_bytes().decode() for path in sorted((Path(__file__).parent / "rules").glob("*.rules"))]
SCRAPS = [
    *BUILTINS,
    *REFUSED,
    *"( ) [ ] . , ; * -> <- => :- ^^ # // \" ' < > : @ @prefix @include @en ? $x".split(" "),
    *"\\ \\u \x00 \u00a0 \ufeff 😀 \u2028".split(" "),
    *"?x ?_1 ex:a ex: : _:b <http://a> <a <> http://a.b/c#d urn:a 5 -5. 1.5 1e 'a' \"b\" 'a'@en true a _ 4:".split(),
    "(?x ex:p ?y)",
    "[r:",
    "-> (ex:a ex:b ex:c) .",
    "lessThan(?x, 5)",
    "<OWL>",
    "@prefix r: <urn:r:>.",
    "\r\n",
    "()",
]


@pytest.mark.parametrize("seed", range(4))
def test_damaged_texts(seed: int) -> None:
    chance = random.Random(seed)
    read = refused = 0
    for _ in range(800):
        text = damaged(chance.choice(CORPUS), chance, SCRAPS)
        try:
            file = parse_rules(text, base="http://base.example/")
        except LanguageError as error:
            refused += 1
            lines = re.split(r"\r\n|\r|\n", text)
            assert 1 <= error.line <= len(lines)
            assert 1 <= error.column <= len(lines[error.line - 1]) + 1
            assert error.message.endswith((".", ")")) and "\n" not in str(error)
            picture = error.picture(text).split("\n")
            assert len(picture) == 2 and set(picture[1].strip()) == {"^"}
        else:
            read += 1
            assert parse_rules(show_rules(file)) == file
    assert read > 20 and refused > 300


@pytest.mark.parametrize("text", [WHOLE, FIGURE_3], ids=["whole", "figure 3"])
def test_texts_that_end_early(text: str) -> None:
    """Of a text that is cut, all that is left is right: the error is at its end, or at the last word."""
    for end in range(len(text.rstrip())):
        cut = text[:end]
        try:
            parse_rules(cut)
        except LanguageError as error:
            last_word = re.search(r"[^\s(]*[\s]*$", cut.rstrip())
            assert last_word is not None
            if error.code in ("open-string", "bad-pattern"):
                continue
            before = cut[: last_word.start()]
            place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
            assert (error.line, error.column) >= place, f"{error}\n{error.picture(cut)}"
