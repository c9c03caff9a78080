"""Streams: making, describing, deleting them, and pushing triples into them.

    PUT    /streams/temp           {"clock": "event", "delay": "5s"}       201, or 200 if it is there and the same
    POST   /streams/temp           RDF, its format told by Content-Type    200 when every triple is durable
    GET    /streams                GET /streams/temp                       JSON, or RDF (see `descriptors`)
    DELETE /streams/temp           204; 409 while a query reads it

A derived stream (see `derived`) is made, filled and deleted by its query: what else would change it is a conflict.

With an Idempotency-Key a push that is sent again is not counted again: what was told the first time is told again, with
`"repeated": true`; see `pushing` for what becomes of timestamps.
"""

from __future__ import annotations

from typing import NamedTuple, NotRequired, TypedDict

from flask import Blueprint, Response, request

from csparql_spark.answers.formats import JSON_LD, N_TRIPLES, PLAIN_JSON, RDF_XML, TURTLE
from csparql_spark.answers.graph_text import LineText
from csparql_spark.log import Refused
from csparql_spark.log.contents import StreamDropped, StreamMade, draft_of
from csparql_spark.log.guards import Absent, Every, Same, Unread
from csparql_spark.rdf.errors import UnsupportedFormat
from csparql_spark.rdf.pushes import AnyFormat, PushFormat, json_format, push_format
from csparql_spark.server.backend import Backend
from csparql_spark.server.dependents import asked_of, readers, streams_of
from csparql_spark.server.http import bodies
from csparql_spark.server.http.documents import json_of
from csparql_spark.server.http.lengths import length_of_time, remark
from csparql_spark.server.http.negotiation import asked_type, drawn
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.quotas import room, tell_if_full
from csparql_spark.server.routes.descriptors import stream_descriptor
from csparql_spark.server.sources.mqtt import USUAL_FORMAT, checked_filter
from csparql_spark.server.sources.pushing import Idempotency, PushBody
from csparql_spark.store import StreamRecord

DESCRIBED = (PLAIN_JSON, TURTLE, N_TRIPLES, JSON_LD, RDF_XML)
LONGEST_SETTINGS = 64 << 10


class StreamSettings(NamedTuple):
    """The settings of a stream, which it keeps."""

    clock: str
    delay: int
    mqtt: str | None = None
    mqtt_format: str | None = None


class StreamBody(TypedDict):
    """What there is to say of a stream."""

    iri: str
    name: str
    url: str
    clock: str
    delay: int
    producer: str | None
    created: int
    mqtt: NotRequired[str]
    mqtt_format: NotRequired[str]
    warnings: NotRequired[list[str]]


class CountsBody(TypedDict):
    chunks: int
    triples: int


class ChunkBody(TypedDict):
    """The newest push; `first` and `last` are stamps."""

    seq: int
    at: int
    first: int | None
    last: int | None
    triples: int


class StreamContentBody(StreamBody):
    """… and of what it holds, and who reads it; `forgotten`, and true, where more has come than is kept."""

    kept: CountsBody
    newest: ChunkBody | None
    forgotten: NotRequired[bool]
    queries: list[str]


class StreamStore:
    """The streams, as entries of the log make them."""

    def __init__(self, backend: Backend) -> None:
        self._backend, self._stores = backend, backend.stores
        self._names, self._registry, self._writer = backend.stores.names, backend.stores.registry, backend.stores.writer

    def record(self, name: str) -> StreamRecord:
        """Raises `Problem` if there is none."""
        iri = self._names.stream_iri(name)
        stream = self._registry.stream(iri)
        if stream is None:
            raise self._names.no_stream(iri)
        return stream

    def described(self, stream: StreamRecord) -> StreamBody:
        body: StreamBody = {
            "iri": stream.iri,
            "name": self._names.stream_name(stream.iri),
            "url": self._names.stream_url(stream.iri),
            "clock": stream.clock,
            "delay": stream.delay,
            "producer": stream.producer,
            "created": stream.created,
        }
        if stream.mqtt:
            body |= {"mqtt": stream.mqtt, "mqtt_format": stream.mqtt_format or USUAL_FORMAT}
        return body

    def content(self, stream: StreamRecord) -> StreamContentBody:
        log = self._stores.log
        chunks, triples = log.totals(stream.iri)
        entry = log.last_as_is(stream.iri, "chunk", log.tail())
        newest: ChunkBody | None = (
            None
            if entry is None
            else {"seq": entry.seq, "at": entry.at, "first": entry.first, "last": entry.last, "triples": entry.rows}
        )
        body: StreamContentBody = {
            **self.described(stream),
            "kept": {"chunks": chunks, "triples": triples},
            "newest": newest,
            "queries": self.readers(stream),
        }
        if log.forgotten(stream.iri) > stream.id:
            body["forgotten"] = True
        return body

    def readers(self, stream: StreamRecord) -> list[str]:
        return [
            query.name
            for query in self._registry.queries()
            if (asked := asked_of(query)) is not None and stream.iri in streams_of(asked)
        ]

    def make(self, name: str, wanted: StreamSettings) -> tuple[StreamRecord, bool]:
        """The stream of that name and those settings, and whether it was made now. Raises `Problem`."""
        iri = self._names.stream_iri(name)
        draft = draft_of(StreamMade(self._names.stream_name(iri), **wanted._asdict()), iri)
        backend, made = self._backend, False
        while (stream := self._registry.stream(iri)) is None:
            try:
                self._writer.append(draft, Every((Absent("streams", iri), room(backend.settings, "streams"))))
                made = True
            except Refused as refused:
                tell_if_full(refused)
                continue  # somebody else has just made it
        self._refuse_if_produced(stream, "it is there already, and is made and filled by the query alone")
        if (stream.clock, stream.delay, stream.mqtt, stream.mqtt_format) != wanted:
            raise Problem(
                "stream-exists",
                f"The stream <{iri}> exists with clock {stream.clock!r} and a delay of "
                f"{stream.delay} ms{f', fed by {stream.mqtt!r}' if stream.mqtt else ''}: a stream keeps its "
                f"clock{' and its topics' if stream.mqtt or wanted.mqtt else ''}. Delete it first, or use "
                "another name.",
                stream=iri,
                clock=stream.clock,
                delay=stream.delay,
            )
        if made:
            backend.threads.streams_changed()
        return stream, made

    def delete(self, name: str) -> None:
        """Raises `Problem` if there is none, or if it is read."""
        iri = self._names.stream_iri(name)
        while True:
            stream = self.record(name)
            self._refuse_if_produced(stream, "delete the query, and the stream goes with it")
            idle = [] if stream.producer is None else [Absent("queries", stream.producer)]
            try:
                self._writer.append(
                    draft_of(StreamDropped(), iri),
                    Every((Same("streams", stream.id), *idle, Unread("streams", (iri,)))),
                )
                break
            except Refused as refused:
                if isinstance(refused.guard, Unread):
                    raise Problem(
                        "stream-in-use",
                        f"The stream <{iri}> is read by {readers(refused)}.",
                        stream=iri,
                        queries=list(refused.readers),
                    ) from None
                continue  # it is another one now, or gone
        self._backend.threads.streams_changed()

    def _refuse_if_produced(self, stream: StreamRecord, instead: str) -> None:
        if stream.producer is not None and self._registry.query(stream.producer) is not None:
            raise Problem(
                "derived-stream",
                f"The stream <{stream.iri}> holds what the query {stream.producer} says: {instead}.",
                stream=stream.iri,
                query=stream.producer,
            )


def routes(backend: Backend) -> Blueprint:
    blueprint = Blueprint("streams", __name__)
    streams, names, pusher = StreamStore(backend), backend.stores.names, backend.pusher

    @blueprint.get("/streams")
    def list_streams() -> dict[str, list[StreamBody]]:
        return {"streams": [streams.described(stream) for stream in backend.stores.registry.streams()]}

    @blueprint.put("/streams/<name:name>")
    def create_stream(name: str) -> tuple[StreamBody, int, dict[str, str]]:
        wanted, remarks = asked_settings(broker=backend.threads.mqtt is not None)
        stream, made = streams.make(name, wanted)
        body = streams.described(stream)
        if remarks:
            body["warnings"] = remarks
        return body, 201 if made else 200, {"Location": names.stream_url(stream.iri)}

    @blueprint.get("/streams/<name:name>")
    def describe_stream(name: str) -> StreamContentBody | Response:
        stream = streams.record(name)
        if asked_type("the description of a stream", DESCRIBED) == PLAIN_JSON:
            return streams.content(stream)
        return drawn(
            LineText(stream_descriptor(stream, names, streams.readers(stream))),
            "the description of a stream",
            offered=DESCRIBED,
        )

    @blueprint.delete("/streams/<name:name>")
    def delete_stream(name: str) -> tuple[str, int]:
        streams.delete(name)
        return "", 204

    @blueprint.post("/streams/<name:name>")
    def push(name: str) -> PushBody:
        iri = names.stream_iri(name)
        pusher.stream(iri)
        format = sent_format(names.stream_url(iri), backend.settings.body_limit)
        key = request.headers.get("Idempotency-Key")
        body = bodies.read(request.environ, backend.settings.body_limit)
        if not body:
            raise Problem(
                "empty-body",
                "Nothing came with this push: send RDF as its body. With curl that is "
                "--data-binary @FILE, or @- for standard input; what follows an @ is the name of a file, so "
                "Turtle that begins with @prefix has to come from one of these.",
            )
        once = None if key is None else Idempotency.of(key, format.label.encode(), body)
        if once is not None and (before := pusher.repeated(iri, once)) is not None:
            return before
        if format is not PushFormat.ARROW:
            bodies.refuse_no_utf8(body, "The data")
        chunk, unmapped = pusher.reader.push(body, format, iri)
        return pusher.push(iri, chunk, once, unmapped=unmapped)

    return blueprint


def sent_format(stream: str, limit: int) -> AnyFormat:
    """The format that the request names, for the stream of that URL. Raises `Problem`."""
    kind = request.headers.get("Content-Type")
    try:
        return push_format(kind)
    except UnsupportedFormat as error:
        looks = json_format(bodies.read(request.environ, limit)) if bodies.is_form(kind) else None
        raise bodies.strange(error, kind, stream, looks) from None


def asked_settings(broker: bool) -> tuple[StreamSettings, list[str]]:
    """The settings that the request asks for, in a JSON body, or as arguments of the URL; and what there is to say of
    how they were understood."""
    body = bodies.utf8(bodies.read(request.environ, LONGEST_SETTINGS), "The body")
    settings = json_of(body, "The body", '{"clock": "event", "delay": "5s"}') if body.strip() else {}
    if not isinstance(settings, dict):
        raise Problem(
            "bad-body",
            'The body is not a JSON object: it may be left out, or be like {"clock": "event", "delay": "5s"}.',
        )
    settings = {**request.args.to_dict(), **settings}
    unknown = sorted(settings.keys() - set(StreamSettings._fields))
    if unknown:
        raise Problem(
            "bad-setting", f"A stream has no setting {unknown[0]!r}: it has clock, delay, mqtt and mqtt_format."
        )
    clock = settings.get("clock", "arrival")
    if clock not in ("arrival", "event"):
        raise Problem("bad-setting", f'The clock {clock!r} does not exist: it is "arrival" or "event".')
    delay = length_of_time("delay", settings.get("delay", 0))
    if delay and clock == "arrival":
        raise Problem("bad-setting", 'A delay is how late timestamps may be: it goes with clock "event".')
    note = remark("delay", settings.get("delay"))
    wanted = StreamSettings(clock, delay, *asked_topics(settings.get("mqtt"), settings.get("mqtt_format"), broker))
    return wanted, [] if note is None else [note]


def asked_topics(topics: object, format: object, broker: bool) -> tuple[str | None, str | None]:
    if topics is None:
        if format is not None:
            raise Problem("bad-setting", "mqtt_format is the format of messages: it goes with mqtt, a topic filter.")
        return None, None
    if not broker:
        raise Problem(
            "bad-setting",
            "This server has no MQTT broker to listen to: it is named when the server is "
            "started, with --mqtt mqtt://HOST.",
        )
    return checked_filter(topics), None if format is None else checked_format(format)


def checked_format(format: object) -> str:
    try:
        push_format(format if isinstance(format, str) else None)
    except UnsupportedFormat as error:
        raise Problem("bad-setting", f"The mqtt_format {str(format)[:100]!r} cannot be read. {error}") from None
    return str(format)
