"""The builtin `regex`: texts against patterns, by RE2, in time that grows with the size of the two and no faster.

    all_match([('"Rome"', '"R.*"'), ('"Rome"', '"r"')])         # [True, False]
    matches('"Rome"', '"R.*"')                                  # True

What cannot be done matches nothing: a pattern that `language.rules.patterns` refuses, as it may come from data, or a
text that is too long for its pattern. Whoever wants to know how often that was can have it counted:

    with counted() as refused:
        ...
    refused.count                                               # questions that had no answer

Invariant: an answer depends on the text and the pattern alone, whoever else is asked about with them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.language.rules.patterns import PatternError, read_pattern, whole
from csparql_spark.rdf.terms import parse

MOST_WORK = 1_000_000_000  # states of a pattern times characters of a text: a few seconds at the worst


@dataclass(slots=True)
class RefusedPatterns:
    """How often a text was compared with a pattern that cannot be matched with it."""

    count: int = 0


_counting: ContextVar[RefusedPatterns | None] = ContextVar("refused patterns", default=None)


@contextmanager
def counted() -> Iterator[RefusedPatterns]:
    """Count the questions without an answer that are asked meanwhile, in this thread."""
    refused = RefusedPatterns()
    token = _counting.set(refused)
    try:
        yield refused
    finally:
        _counting.reset(token)


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern matches the whole lexical form of the text; both are terms."""
    return all_match([(text, pattern)])[0]


def all_match(questions: Sequence[tuple[str, str]]) -> list[bool]:
    """As `matches`, for pairs of a text and a pattern. A pattern is compiled once, however many texts it is for."""
    answers, by_pattern = [False] * len(questions), defaultdict(list)
    for place, (_, pattern) in enumerate(questions):
        by_pattern[pattern].append(place)
    for pattern, places in by_pattern.items():
        texts = [parse(questions[place][0]) for place in places]
        literals = [(place, text.value) for place, text in zip(places, texts) if text.kind == "literal"]
        for place, found in zip((place for place, _ in literals), _found([text for _, text in literals], pattern)):
            answers[place] = found
    return answers


def _found(texts: list[str], pattern: str) -> list[bool]:
    try:
        shape = read_pattern(parse(pattern).value)
    except PatternError:
        _refuse(len(texts))
        return [False] * len(texts)
    found = [False] * len(texts)
    for of_ascii, written in (True, shape.ascii), (False, shape.wide):
        places = [place for place, text in enumerate(texts) if text.isascii() is of_ascii]
        short = [place for place in places if len(texts[place]) * shape.states <= MOST_WORK]
        _refuse(len(places) - len(short))
        if not short:
            continue
        try:
            answers = pc.match_substring_regex(
                pa.array([texts[place] for place in short], pa.large_string()), whole(written)
            ).to_pylist()
        except pa.ArrowInvalid:  # a property that there is not, or more states than were foreseen
            _refuse(len(short))
            continue
        for place, one in zip(short, answers):
            found[place] = one
    return found


def _refuse(number: int) -> None:
    refused = _counting.get()
    if refused is not None:
        refused.count += number
