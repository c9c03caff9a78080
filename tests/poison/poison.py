"""A poison, as `streams.json` has it: what is registered, put and pushed, and what is expected of it.

    {"name": "string doubled 30 times", "where": ["doubled", 30], "feed": [["numbers", 1]], "expect": "failed"}

| field | |
| --- | --- |
| `select`, `from`, `where`, `after` | the query, in parts; `SELECT ?s`, a window of a minute over the stream that all share, and nothing after it unless they are there |
| `register` | what stands before it, instead of `REGISTER QUERY Poison AS` |
| `using`, `rules` | a rule set that ships; one that is put under the name `poison` |
| `graph` | what is put as `<urn:poison>`, and asked with the window |
| `stream` | a stream of its own, on the event clock |
| `feed` | what is pushed, when the query is registered |
| `expect` | `failed`, `refused` (what was put, registered or pushed: 4xx), or `answers`; several with `or`, where the machine decides |
| `says` | which limit the sentence names that says why it has failed or was refused; several with `or`, where the machine decides |
| `quick` | tried always, and not only with all |
| `open` | why it does not hold yet |

A poison without `where` registers nothing: its pushes and graphs are the poison.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from tests.poison.recipes import Document, Recipe, document, made

NAME, GRAPH, OWN_STREAM = "Poison", "urn:poison", "poison"
EXPECTATIONS = {"failed", "refused", "answers"}
# What sentences say of the limits, each of its own.
LIMITS = {
    "time": r"takes longer than [\d.]+ s (of processor time|on the clock, 10 times the processor time)",
    "backlog": r"keep the others waiting for [\d,]+ s by now, where [\d.]+ s is the limit",
    "memory": r"needs? (more memory than the )?[\d.]+ [KMG]iB",
    "held": r"hold more than the [\d.]+ [KMG]iB that a question may have",
    "product": r"parts of its pattern have nothing in common, and together [\d,]+ solutions: [\d,]+ are gone through at most",
    "rule": r"\] multiplies what it is given: it would go through more than [\d,]+ pairs",
    "facts": r"the rules derive more than [\d,]+ facts in one step",
    "endless": r"^The rule \[.*\] makes new terms with \w+, and what it derives can match its own body again",
    "rows": r"the answer has more than [\d,]+ \w+, which is the limit",
    "instants": r"which is [\d,]+ instants of this query, and at most [\d,]+ are answered at once",
    "words": r"The text goes on after \d+ words and signs",
    "patterns": r"A graph pattern has \d+ triples: \d+ can be joined",
    "bytes": r"this server takes at most \d+ here",
    "body": r"The data cannot be read: it (needs more memory than the [\d.]+ [KMG]iB|takes longer than the [\d.]+ s of processor "
    r"time) that a body may have",
    "depth": r"nests \w+ more than \d+ deep",
    "statement": r"A statement of the data is longer than \d+ MiB",
    "stack": r"it has ended the process that worked on it \(SIGSEGV\): ask for less, or nest it less",
    "entities": r"An entity of the document is defined through another one",
    "service": r"SERVICE is not supported",
}


def limits(sentence: str) -> set[str]:
    """The limits that a sentence names."""
    return {name for name, words in LIMITS.items() if re.search(words, sentence)}


@dataclass(frozen=True)
class Poison:
    name: str
    expect: str
    says: str = ""
    where: Recipe = ""
    select: str = "SELECT ?s"
    window: Recipe = ""
    after: str = ""
    register: str = f"REGISTER QUERY {NAME} AS"
    using: str = ""
    rules: Recipe = ""
    graph: Recipe = ""
    stream: str = "numbers"
    feed: list[Recipe] = field(default_factory=list)
    quick: bool = False
    open: str = ""

    @classmethod
    def of(cls, said: dict) -> Poison:
        window = said.pop("from", "")
        return cls(window=window, **said)

    @property
    def expected(self) -> set[str]:
        return set(self.expect.split(" or "))

    @property
    def limits(self) -> set[str]:
        return set(filter(None, self.says.split(" or ")))

    @property
    def question(self) -> str:
        """The query, without what registers it; empty where there is none."""
        if not self.where:
            return ""
        window = made(self.window) or "[RANGE 1m STEP 1s]"
        window = window if window.startswith("FROM") else f"FROM STREAM <streams/{self.stream}> {window}"
        graph = f"FROM <{GRAPH}>" if self.graph else ""
        sets = [*filter(None, [self.using]), *(["poison"] if self.rules else [])]
        using = f"USING ENTAILMENT {', '.join(sets)}" if sets else ""
        return f"{self.select} {graph} {window} {using} WHERE {made(self.where)} {self.after}"

    @property
    def query(self) -> str:
        return self.question and f"{self.register} {self.question}"

    @property
    def pushes(self) -> list[Document]:
        return [document(recipe) for recipe in self.feed]


POISONS = [Poison.of(said) for said in json.loads((Path(__file__).parent / "streams.json").read_text(encoding="utf-8"))]
