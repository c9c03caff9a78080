"""The public test kit: run a continuous query over recorded streams, and look at what it says at each instant.

    from csparql_spark.testing import replay

    text = "REGISTER QUERY q AS SELECT ?s FROM STREAM <urn:s> [RANGE 2s STEP 1s] WHERE { ?s <urn:p> ?o }"
    for instant in replay(text, streams={"urn:s": "<urn:a> <urn:p> <urn:b> <urn:t:1500> ."}):
        print(instant.at, instant.rows)         # 2000 [{'s': '<urn:a>'}] …

It goes through the same parser, windows and evaluators as the server, without HTTP and, with `engine="local"`, without
Spark; a small replay takes a few milliseconds. What the server refuses is refused here, with the same exceptions.

    replay(text, streams=…, evaluator="snapshot")       # match the body anew at each instant
    replay(text, streams=…, evaluator="incremental")    # maintain its matches, or be refused with the reason

Both say the same rows; only what is maintained says until when they hold. `maintenance=` chooses among the strategies
that maintain what follows under rules, in the same way.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from csparql_spark.answers.bindings import Result
from csparql_spark.answers.limits import TooMuch
from csparql_spark.asking.admission import Refusal, check_maintained
from csparql_spark.asking.one_shot import Question, ask
from csparql_spark.asking.replay import Script, answer
from csparql_spark.engine.evaluator_choice import AUTO, EVALUATORS, INCREMENTAL, why_snapshot
from csparql_spark.engine.messages import Message, QueryFailure
from csparql_spark.entailment.maintain.strategies import check_name
from csparql_spark.language.queries.query_cache import read
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.formats import read_recording
from csparql_spark.relations.tags import ALWAYS

ENGINES = ("local", "spark")

Source = str | os.PathLike[str]


class QueryFailed(Exception):
    """The query was admitted, and could not be answered at an instant; the text says why."""


@dataclass(frozen=True)
class Instant:
    """What a query says at one instant."""

    at: int
    kind: str  # "bindings", "boolean" or "graph"
    variables: tuple[str, ...] = ()
    # Variable → term in N-Triples syntax; unbound ones are absent.
    rows: list[dict[str, str]] = field(default_factory=list)
    boolean: bool | None = None
    ntriples: str | None = None
    # Of each row: the instant from which it does not hold any more (None: it holds for ever); None if that is not
    # known.
    until: list[int | None] | None = field(default=None, compare=False)

    @classmethod
    def of(cls, at: int, result: Result) -> Instant:
        until = None if result.until is None else [None if t == ALWAYS else t for t in result.until.tolist()]
        if result.table is not None:
            return cls(at, "bindings", result.table.variables, result.table.rows(), until=until)
        if result.ntriples is not None:
            return cls(at, "graph", ntriples=result.ntriples.decode())
        return cls(at, "boolean", boolean=result.truth, until=until)


def replay(
    text: str,
    *,
    streams: Mapping[str, Source] | None = None,
    background: Mapping[str, Source] | None = None,
    base: str | None = None,
    default_graphs: Collection[str] | None = None,
    named_graphs: Collection[str] | None = None,
    entailment: str | Collection[str] | None = None,
    rules: Mapping[str, str] | None = None,
    evaluator: str = "auto",
    maintenance: str = "auto",
    engine: str = "local",
    until: int | None = None,
) -> Iterator[Instant]:
    """Run a query over recordings; yield one `Instant` for each of its instants.

    `streams` and `background` map IRIs to paths, or to RDF text (streams: N-Quads or TriG with timestamps). A plain
    SPARQL text that reads no stream is answered once, at 0, over the background: over `default_graphs` and
    `named_graphs` if they are given, otherwise over those that its FROM and FROM NAMED name, otherwise over all of
    them. `entailment` are regimes besides those that the text names, `rules` the texts of rule sets by name.

    `evaluator`: "auto" is the server's choice, and maintains the matches of a query where that can be done. "snapshot"
    matches its body anew at each instant. "incremental" maintains, and raises `Refusal` where it cannot, with the
    reason that `explain` gives. The engine "spark" makes its own choice: it takes "auto" only.

    `maintenance` names the strategy that maintains what follows under rules: "auto" is the server's choice,
    "expiration", "delete-rederive", "counting" and "recompute" are the others; the answers are the same. Raises
    `Refusal` where a strategy cannot maintain the rules. The engine "spark" takes "auto" only.

    Raises `LanguageError`, `Refusal`, `RdfError`, and `QueryFailed`.

    The parameters are many, and all but the first go by their names: a test writes down only what it is about.
    """
    if evaluator not in EVALUATORS:
        raise ValueError(f"there is no evaluator {evaluator!r}: choose one of {', '.join(EVALUATORS)}")
    if engine not in ENGINES:
        raise ValueError(f"there is no engine {engine!r}: choose one of {', '.join(ENGINES)}")
    if engine != "local" and evaluator != AUTO:
        raise ValueError(
            f"the engine {engine!r} chooses the evaluator itself: write engine='local', or leave out "
            f"evaluator={evaluator!r}"
        )
    check_name(maintenance)
    if engine != "local" and maintenance != AUTO:
        raise ValueError(
            f"the engine {engine!r} chooses the maintenance itself: write engine='local', or leave out "
            f"maintenance={maintenance!r}"
        )
    regimes = (entailment,) if isinstance(entailment, str) else tuple(entailment or ())
    recorded = {
        iri: load(source, base=base, number=number) for number, (iri, source) in enumerate((streams or {}).items())
    }
    known = {
        iri: load(source, base=base, number=number)
        for number, (iri, source) in enumerate((background or {}).items(), 1000)
    }
    if not read(text, base).windows:
        if evaluator == INCREMENTAL:
            raise _not_maintainable("it reads no stream, and is asked once")
        try:
            reply = ask(
                Question(text, known, base, default_graphs, named_graphs, entailment=regimes, rules=rules or {})
            )
        except TooMuch as error:
            raise QueryFailed(str(error)) from error
        yield Instant.of(0, reply)
        return
    script = Script.of(
        text, streams=recorded, background=known, rules=rules, entailment=regimes, base=base, until=until
    )
    check_maintained(script.query.entailment, script.rules, maintenance)
    because = why_snapshot(script.query)
    if evaluator == INCREMENTAL and because is not None:
        raise _not_maintainable(because)
    for message in play(script, engine, evaluator, maintenance):
        if isinstance(message, QueryFailure):
            raise QueryFailed(message.reason)
        yield Instant.of(message.instant, Result.from_bytes(message.payload))


def _not_maintainable(because: str) -> Refusal:
    return Refusal("not-supported", f"the query cannot be answered incrementally: {because}")


def play(script: Script, engine: str, evaluator: str = AUTO, maintenance: str = AUTO) -> Iterator[Message]:
    """The answers of a script, by either engine."""
    if engine == "local":
        return answer(script.entries(), evaluator, maintenance)
    from csparql_spark.spark.play import play as play_on_spark  # Spark is slow to import, and not always wanted

    return play_on_spark(script)


def load(source: Source, *, base: str | None, number: int) -> Chunk:
    """A recording; its blank nodes are its own (`number` keeps those of different recordings apart)."""
    return read_recording(source, base=base, blank_prefix=f"b{number}x")
