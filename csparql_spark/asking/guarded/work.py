"""Work: what is done in children. Each function takes what pickles, and gives bytes.

json.loads(compiled_form(text, base))            # what a text says, as it goes into the log
answered(question, limits, media_type)           # the body of a response
changes_in(updated(update, limits))              # what an update changes; read where it is asked for
pushed_in(pushed(SentBody(body), format, base, prefix))    # what a body says
"""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, cast

from csparql_spark.answers import formats
from csparql_spark.answers.limits import Limits
from csparql_spark.asking.admission import Refusal, check_maintained, check_rules, check_together, refuse_unanswerable
from csparql_spark.asking.explain import explained
from csparql_spark.asking.missing import looked
from csparql_spark.asking.one_shot import Question, Watched, ask
from csparql_spark.asking.update import Update, worked_out
from csparql_spark.asking.why import as_json, reasons
from csparql_spark.entailment.evaluate.lookup import Triple
from csparql_spark.entailment.rules.regimes import rules_of, stored
from csparql_spark.language import ContinuousQuery
from csparql_spark.language.queries.compiled import compiled
from csparql_spark.language.queries.mentions import mentions
from csparql_spark.language.queries.query_cache import read
from csparql_spark.language.updates import graphs_read, parse_update
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.columns import checked
from csparql_spark.rdf.errors import CorruptChunk
from csparql_spark.rdf.formats import RdfFormat, parse_graph
from csparql_spark.rdf.pushes import AnyFormat, Pushed, read_pushed

_HEAD = struct.Struct("<Q")
_UNMAPPED = struct.Struct("<Q")


class Changed(NamedTuple):
    """A graph that an update changes; `now` is None if it is dropped, or others are changed, too."""

    graph: str
    dropped: bool
    added: int
    removed: int
    now: Chunk | None


class Asked(NamedTuple):
    """A registered query, what each of its windows holds, piece by piece, and its background."""

    query: ContinuousQuery
    windows: Sequence[Sequence[Chunk]]
    graphs: Mapping[str, Chunk]


def compiled_form(text: str, base: str | None) -> bytes:
    """The compiled form of a query, as JSON. Raises `LanguageError`."""
    return json.dumps(compiled(read(text, base))).encode()


def reading(text: str, base: str | None) -> bytes:
    """The compiled form of a query, why it cannot be registered whatever there is (the code and the text of a
    `Refusal`), and its mentions, as JSON. Raises `LanguageError`."""
    query = read(text, base)
    refusal: tuple[str, str] | None = None
    try:
        refuse_unanswerable(query)
    except Refusal as refused:
        refusal = refused.code, str(refused)
    found = [(one.role, one.name, one.start, one.end) for one in mentions(text, base)]
    return json.dumps((compiled(query), refusal, found)).encode()


def rule_file(name: str, text: str, others: Mapping[str, str], used: Sequence[Collection[str]]) -> bytes:
    """How many rules a file has, and its warnings, as JSON. Raises `LanguageError` and `Refusal`."""
    file = check_rules(name, text, others)
    for names in used:
        check_together(names, {**others, name: text})
    return json.dumps((len(file.rules), file.warnings)).encode()


def remarks(text: str) -> bytes:
    """The warnings of a rule file that was let in, and those of its patterns, as JSON. Raises `LanguageError`."""
    file = stored(text)
    return json.dumps((file.warnings, file.patterns)).encode()


def rules_together(names: Collection[str], texts: Mapping[str, str], maintenance: str) -> bytes:
    """Nothing, if rule sets can be used together, and maintained so. Raises `Refusal`."""
    check_together(names, texts)
    check_maintained(names, texts, maintenance)
    return b""


def explanation(
    query: ContinuousQuery, background: Mapping[str, Chunk] | None, rules: Mapping[str, str], maintenance: str
) -> bytes:
    """How a query is read and answered, as JSON."""
    return json.dumps(explained(query, background=background, rules=rules, maintenance=maintenance)).encode()


def reasoned(asked: Asked, instant: int, triple: Triple, rules: Mapping[str, str]) -> bytes:
    """Why a triple holds at an instant, as JSON. Raises `Refusal`."""
    found = reasons(
        asked.query, rules_of(asked.query.entailment, rules), instant, triple, asked.windows.__getitem__, asked.graphs
    )
    return json.dumps(as_json(found)).encode()


def answered(question: Question, limits: Limits, media_type: str) -> bytes:
    """The answer to a question, in a format. Raises what `ask` raises, and `Unwritable`."""
    return formats.write(ask(question, limits), media_type)


def missed(watched: Watched, rules: Mapping[str, str]) -> bytes:
    """What is missing from an answer, as JSON: the members of `Missing`, in their order. Raises `Refusal`."""
    return json.dumps(looked(watched, rules)).encode()


def graphs_of_update(text: str, default: str | None) -> bytes:
    """The graphs that an update may look at, as JSON; null if that may be any. Raises `LanguageError`."""
    found = graphs_read(parse_update(text, default), default)
    return json.dumps(None if found is None else sorted(found)).encode()


def updated(update: Update, limits: Limits) -> bytes:
    """What an update changes: read by `changes_in`. Raises `LanguageError`, `Refusal`, `TooMuch`."""
    changes = worked_out(update, limits)
    heads = [(name, change.now is None, change.added, change.removed) for name, change in changes.items()]
    now = next(iter(changes.values())).now if len(changes) == 1 else None
    head = json.dumps(heads).encode()
    return b"".join((_HEAD.pack(len(head)), head, b"" if now is None else now.to_ipc()))


def changes_in(reply: bytes | bytearray) -> list[Changed]:
    """Of one change alone there is the graph itself, too. Raises `CorruptChunk`."""
    (length,) = _HEAD.unpack_from(reply)
    body = memoryview(reply)[_HEAD.size + length :]
    now = chunk_in(body) if len(body) else None
    heads = json.loads(reply[_HEAD.size : _HEAD.size + length])
    return [Changed(graph, dropped, added, removed, now) for graph, dropped, added, removed in heads]


class SentBody:
    """Bytes that are sent as they are, without being copied into a message."""

    def __init__(self, content: bytes | bytearray | memoryview) -> None:
        self.content = content

    def __reduce_ex__(self, protocol: object) -> tuple[type[SentBody], tuple[pickle.PickleBuffer]]:
        return SentBody, (pickle.PickleBuffer(self.content),)


class _SentGraph:
    """The bytes of a graph, which are a chunk where they arrive."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    def __reduce_ex__(self, protocol: object) -> tuple[Callable[[bytes], Chunk], tuple[pickle.PickleBuffer]]:
        return Chunk.from_ipc, (pickle.PickleBuffer(self._payload),)


def sent_graph(payload: bytes | None) -> Chunk:
    """A graph of the log, to be sent and nothing else: who sends it does not look into it."""
    return Chunk.empty() if payload is None else cast(Chunk, _SentGraph(payload))


def pushed(body: SentBody, format: AnyFormat, base: str | None, blank_prefix: str) -> bytes:
    """What a push says, for `pushed_in`. Raises `RdfError`."""
    chunk, unmapped = read_pushed(bytes(body.content), format, base=base, blank_prefix=blank_prefix)
    return chunk.to_ipc() + _UNMAPPED.pack(unmapped)


def brought(body: SentBody, format: RdfFormat, graph: str, blank_prefix: str) -> bytes:
    """The triples of a graph, for `chunk_in`. Raises `RdfError`."""
    return parse_graph(bytes(body.content), format, base=graph, blank_prefix=blank_prefix).to_ipc()


def pushed_in(reply: bytes | bytearray | memoryview) -> Pushed:
    """What a push says, as a child tells it: `chunk_in` of its triples. Raises `CorruptChunk`."""
    if len(reply) < _UNMAPPED.size:
        raise CorruptChunk("A child that read a body has told nothing of it.")
    split = len(reply) - _UNMAPPED.size
    return Pushed(chunk_in(memoryview(reply)[:split]), *_UNMAPPED.unpack_from(reply, split))


def chunk_in(reply: bytes | bytearray | memoryview) -> Chunk:
    """The chunk that a child has made, which has met what users send: its structure is validated, what a chunk is
    besides is made so, and its terms are terms. Raises `CorruptChunk`."""
    return checked(Chunk.from_ipc(reply))


def warm_up() -> None:
    """Load what is loaded when it is first used."""
    chunk = Chunk.from_triples([("<urn:a>", "<urn:b>", "<urn:c>")])
    for text in ("SELECT (STR(?s) AS ?t) { ?s ?p ?o }", "CONSTRUCT WHERE { ?s ?p ?o }"):
        question = Question(text, {"urn:g": chunk}, entailment=("rdfs",))
        answer = ask(question, Limits())
        for media_type in formats.OFFERED[answer.kind]:
            formats.write(answer, media_type)
