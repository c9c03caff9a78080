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

from typing import NamedTuple

from flask import Blueprint, Response, request

from csparql_spark.answers.formats import JSON_LD, N_TRIPLES, PLAIN_JSON, RDF_XML, TURTLE
from csparql_spark.log import Draft, Refused
from csparql_spark.rdf.errors import UnsupportedFormat
from csparql_spark.rdf.pushes import PushFormat, push_format, read_push
from csparql_spark.server.backend import Backend
from csparql_spark.server.http import bodies
from csparql_spark.server.http.documents import json_of
from csparql_spark.server.http.lengths import length_of_time
from csparql_spark.server.http.negotiation import asked_type, drawn
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.routes.dependents import InUse, asked_of, streams_of, unread
from csparql_spark.server.routes.descriptors import stream_told
from csparql_spark.server.routes.quotas import Full, full, room
from csparql_spark.server.sources.mqtt import USUAL_FORMAT, checked_filter
from csparql_spark.server.sources.pushing import Once
from csparql_spark.store import StreamRecord
from csparql_spark.store.registry import absent, every, same

DESCRIBED = (PLAIN_JSON, TURTLE, N_TRIPLES, JSON_LD, RDF_XML)
LONGEST_SETTINGS = 64 << 10


class StreamSettings(NamedTuple):
    """The settings of a stream, which it keeps."""

    clock: str
    delay: int
    mqtt: str | None = None
    mqtt_format: str | None = None


def routes(backend: Backend) -> Blueprint:
    blueprint = Blueprint("streams", __name__)
    names, registry, writer = backend.stores.names, backend.stores.registry, backend.stores.writer
    pusher = backend.pusher

    def found(name: str) -> StreamRecord:
        iri = names.stream_iri(name)
        stream = registry.stream(iri)
        if stream is None:
            raise unknown(iri)
        return stream

    def unknown(iri: str) -> Problem:
        url = names.stream_url(iri)
        return Problem("unknown-stream", f"There is no stream <{iri}>: create it with PUT {url}.", stream=iri)

    def changed() -> None:
        backend.threads.streams_changed()

    def described(stream: StreamRecord) -> dict[str, object]:
        return {"iri": stream.iri, "name": names.stream_name(stream.iri), "url": names.stream_url(stream.iri),
                "clock": stream.clock, "delay": stream.delay, "producer": stream.producer, "created": stream.created,
                **({"mqtt": stream.mqtt, "mqtt_format": stream.mqtt_format or USUAL_FORMAT} if stream.mqtt else {})}

    def refuse_if_produced(stream: StreamRecord, instead: str) -> None:
        if stream.producer is not None and registry.query(stream.producer) is not None:
            raise Problem("derived-stream", f"The stream <{stream.iri}> holds what the query {stream.producer} says: "
                          f"{instead}.", stream=stream.iri, query=stream.producer)

    @blueprint.get("/streams")
    def list_streams() -> dict[str, object]:
        return {"streams": [described(stream) for stream in registry.streams()]}

    @blueprint.put("/streams/<name:name>")
    def create_stream(name: str) -> tuple[dict[str, object], int, dict[str, str]]:
        wanted = asked_settings(broker=backend.threads.mqtt is not None)
        iri = names.stream_iri(name)
        draft = StreamRecord.draft(iri, name=names.stream_name(iri), **wanted._asdict())
        made = False
        while (stream := registry.stream(iri)) is None:
            try:
                writer.append(draft, every(absent("streams", iri, Refused()), room(backend, "streams")))
                made = True
            except Full:
                raise full(backend, "streams") from None
            except Refused:
                continue        # somebody else has just made it
        refuse_if_produced(stream, "it is there already, and is made and filled by the query alone")
        if (stream.clock, stream.delay, stream.mqtt, stream.mqtt_format) != wanted:
            raise Problem("stream-exists", f"The stream <{iri}> exists with clock {stream.clock!r} and a delay of "
                          f"{stream.delay} ms{f', fed by {stream.mqtt!r}' if stream.mqtt else ''}: a stream keeps its "
                          f"clock{' and its topics' if stream.mqtt or wanted.mqtt else ''}. Delete it first, or use "
                          "another name.",
                          stream=iri, clock=stream.clock, delay=stream.delay)
        if made:
            changed()
        return described(stream), 201 if made else 200, {"Location": names.stream_url(iri)}

    @blueprint.get("/streams/<name:name>")
    def describe_stream(name: str) -> dict[str, object] | Response:
        stream = found(name)
        readers = [query.name for query in registry.queries()
                   if (asked := asked_of(query)) is not None and stream.iri in streams_of(asked)]
        if asked_type("the description of a stream", DESCRIBED) != PLAIN_JSON:
            return drawn(stream_told(stream, names, readers), "the description of a stream", offered=DESCRIBED)
        chunks, triples = backend.stores.log.totals(stream.iri)
        newest = backend.stores.log.last_as_is(stream.iri, "chunk", backend.stores.log.tail())
        told = newest and {"seq": newest.seq, "at": newest.at, "first": newest.first, "last": newest.last,
                           "triples": newest.rows}
        return {**described(stream), "kept": {"chunks": chunks, "triples": triples}, "newest": told,
                "queries": readers}

    @blueprint.delete("/streams/<name:name>")
    def delete_stream(name: str) -> tuple[str, int]:
        iri = names.stream_iri(name)
        while True:
            stream = found(name)
            refuse_if_produced(stream, "delete the query, and the stream goes with it")
            idle = [] if stream.producer is None else [absent("queries", stream.producer, Refused())]
            try:
                writer.append(Draft("drop", subject=iri), every(
                    same("streams", stream.id, Refused()), *idle, unread(lambda asked: iri in streams_of(asked))))
                break
            except InUse as readers:
                raise Problem("stream-in-use", f"The stream <{iri}> is read by {readers}.", stream=iri,
                              queries=readers.queries) from None
            except Refused:
                continue        # it is another one now, or gone
        changed()
        return "", 204

    @blueprint.post("/streams/<name:name>")
    def push(name: str) -> dict[str, object]:
        iri = names.stream_iri(name)
        pusher.stream(iri)
        try:
            format = push_format(request.headers.get("Content-Type"))
        except UnsupportedFormat as error:
            raise bodies.strange(error, request.headers.get("Content-Type")) from None
        key = request.headers.get("Idempotency-Key")
        body = bodies.read(request.environ, backend.settings.body_limit)
        if not body:
            raise Problem("empty-body", "Nothing came with this push: send RDF as its body. With curl that is "
                          "--data-binary @FILE, or @- for standard input; what follows an @ is the name of a file, so "
                          "Turtle that begins with @prefix has to come from one of these.")
        once = None if key is None else Once.of(key, format.label.encode(), body)
        if once is not None and (told := pusher.repeated(iri, once)) is not None:
            return told
        if format is not PushFormat.ARROW:
            bodies.utf8(body, "The data")
        return pusher.push(iri, read_push(body, format, base=iri, blank_prefix=backend.stores.blank_prefix()), once)

    return blueprint


def asked_settings(broker: bool) -> StreamSettings:
    """The settings that the request asks for: in a JSON body, or as arguments of the URL."""
    body = bodies.utf8(bodies.read(request.environ, LONGEST_SETTINGS), "The body")
    settings = json_of(body, "The body", '{"clock": "event", "delay": "5s"}') if body.strip() else {}
    if not isinstance(settings, dict):
        raise Problem("bad-body", "The body is not a JSON object: it may be left out, or be like "
                      '{"clock": "event", "delay": "5s"}.')
    settings = {**request.args.to_dict(), **settings}
    unknown = sorted(settings.keys() - set(StreamSettings._fields))
    if unknown:
        raise Problem("bad-setting",
                      f"A stream has no setting {unknown[0]!r}: it has clock, delay, mqtt and mqtt_format.")
    clock = settings.get("clock", "arrival")
    if clock not in ("arrival", "event"):
        raise Problem("bad-setting", f"The clock {clock!r} does not exist: it is \"arrival\" or \"event\".")
    delay = length_of_time("delay", settings.get("delay", 0))
    if delay and clock == "arrival":
        raise Problem("bad-setting", 'A delay is how late timestamps may be: it goes with clock "event".')
    return StreamSettings(clock, delay, *asked_topics(settings.get("mqtt"), settings.get("mqtt_format"), broker))


def asked_topics(topics: object, format: object, broker: bool) -> tuple[str | None, str | None]:
    if topics is None:
        if format is not None:
            raise Problem("bad-setting", "mqtt_format is the format of messages: it goes with mqtt, a topic filter.")
        return None, None
    if not broker:
        raise Problem("bad-setting", "This server has no MQTT broker to listen to: it is named when the server is "
                      "started, with --mqtt mqtt://HOST.")
    if format is not None:
        try:
            push_format(format if isinstance(format, str) else None)
        except UnsupportedFormat as error:
            raise Problem("bad-setting", f"The mqtt_format {str(format)[:100]!r} cannot be read. {error}") from None
    return checked_filter(topics), format
