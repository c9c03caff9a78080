"""Texts: what users' queries and rule files say, found out in children.

    texts = Texts(pool)
    reading = texts.read("SELECT ?s FROM STREAM …", base)        # raises LanguageError; TooMuch
    reading.query, reading.refusal, reading.mentions
    texts.rule_file("lab", text, others, ())                     # FileSummary(rules=2, warnings=())
    Texts(pool, CHECKED_TEXT)                                    # the same for what is only looked at

Nearly every text is understood in some milliseconds, in a quick place; what needs more is begun again in the one for
long texts (see `pool`). Whatever is only looked at (checked, explained, asked), what is to be done (registered, set)
has to wait for hardly a moment.

No text of a user is parsed in the process that serves, whatever is crowded: a stored one, too, waits for a child.

Nothing is evaluated for that: a query is parsed, and planned over nothing, rules are checked without facts. What is
there (streams, graphs, names) is looked up by whoever asks, and does not travel.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.guarded import work
from csparql_spark.asking.guarded.pool import TEXT, Crowded, Pool
from csparql_spark.disk import StoreError
from csparql_spark.language import ContinuousQuery, LanguageError
from csparql_spark.language.queries.compiled import restored
from csparql_spark.language.queries.mentions import Mention
from csparql_spark.language.queries.query_cache import read

PATIENCE = 10.0  # seconds
FIRST_PAUSE = 0.01


class NotRead(Crowded, StoreError):
    """A text that is stored cannot be read now. For whoever asks the machine is crowded; for threads that go on, a
    query cannot be had from the store, and they try again."""


class QuerySummary(NamedTuple):
    """What a query's text says; why it cannot be registered whatever there is, if so; and where it names things."""

    query: ContinuousQuery
    refusal: Refusal | None
    mentions: list[Mention]


class FileSummary(NamedTuple):
    """What there is to say of a rule file that may be let in."""

    rules: int
    warnings: tuple[str, ...]


class Texts:
    def __init__(self, pool: Pool, kind: str = TEXT, *, patience: float = PATIENCE) -> None:
        """`patience`: seconds for which a stored text waits for a child."""
        self._pool, self._kind, self._patience = pool, kind, patience
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Whoever waits for a child to read a stored text, or will, waits no more: the server ends."""
        self._stopping.set()

    def read(self, text: str, base: str) -> QuerySummary:
        """Raises `LanguageError`."""
        form, refusal, mentions = json.loads(self.run(work.reading, text, base))
        return QuerySummary(
            read(text, base, form),
            None if refusal is None else Refusal(*refusal),
            [Mention(*mention) for mention in mentions],
        )

    def stored(self, text: str, base: str | None) -> ContinuousQuery:
        """The query of a text that was let in once, and of which the log has no form that can be used: an old one, or
        one that would be far longer than the text. Where no child is to be had it waits for one: what is asked of a
        query that is there is not to depend on how many wait. Raises `LanguageError`, and `NotRead`."""
        deadline, pause = time.monotonic() + self._patience, FIRST_PAUSE
        while True:
            try:
                form = json.loads(self.run(work.compiled_form, text, base))
                break
            except TooMuch as error:
                raise LanguageError("too-much", f"The text of the query cannot be read any more: {error}.") from error
            except Crowded as error:
                if time.monotonic() + pause > deadline or self._stopping.wait(pause):
                    raise NotRead(f"the text of a query that is there cannot be read now: {error}") from error
                pause *= 2
        query = restored(form, text)
        if query is None:
            raise NotRead("the text of a query that is there cannot be read now: what reads it is of another version")
        return query

    def rule_file(
        self, name: str, text: str, others: Mapping[str, str], used: Collection[tuple[str, ...]]
    ) -> FileSummary:
        """The rule file of a text that is to be known as `name`, beside the others; `used` are what queries use it
        with. Raises `LanguageError` and `Refusal`."""
        rules, warnings = json.loads(self.run(work.rule_file, name, text, dict(others), sorted(used)))
        return FileSummary(rules, tuple(warnings))

    def remarks(self, text: str) -> tuple[list[str], list[str]]:
        """Of a rule file that was let in once: all warnings, and those of patterns that match something else than
        they seem to. Raises `LanguageError`."""
        warnings, patterns = json.loads(self.run(work.remarks, text))
        return warnings, patterns

    def check_rules(self, names: Collection[str], texts: Mapping[str, str], maintenance: str) -> None:
        """Whether rule sets may be used together, under a strategy of maintenance. Raises `Refusal`."""
        self.run(work.rules_together, tuple(names), dict(texts), maintenance)

    def run(self, function: Callable[..., bytes], *arguments: object) -> bytes | bytearray:
        """What a function says of a text, in a place for texts."""
        limits = Limits.from_environment(os.environ)
        return self._pool.attempt(self._kind, lambda place: place.run(limits, function, *arguments))
