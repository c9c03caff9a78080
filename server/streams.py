"""Streams: making, describing, deleting them, and pushing triples into them.

    PUT    /streams/temp           {"clock": "event", "delay": "5s"}       201, or 200 if it is there and the same
    POST   /streams/temp           RDF, its format told by Content-Type    200 when every triple is durable
    GET    /streams                GET /streams/temp
    DELETE /streams/temp           204; 409 while a query reads it

A derived stream (see `derived`) is made, filled and deleted by its query: what else would change it is a conflict.

On the arrival clock the log stamps what is pushed, and stamps of the producer are dropped, with a warning. On the event
clock they are kept, and triples without one are stamped on arrival.
"""

from __future__ import annotations

import dataclasses
import json
from typing import NamedTuple

import numpy as np
from flask import Blueprint, request

from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import UnsupportedFormat
from csparql_spark.rdf.formats import format_of_media_type, parse_push
from csparql_spark.store import Draft, Refused, StreamRecord
from csparql_spark.store.registry import absent, every, same

from csparql_spark.server import bodies
from csparql_spark.server.backend import Backend
from csparql_spark.server.lengths import length_of_time
from csparql_spark.server.problems import Problem
from csparql_spark.server.readers import InUse, asked_of, streams_of, unread

LONGEST_SETTINGS = 64 << 10


class Clock(NamedTuple):
    clock: str
    delay: int


def routes(backend: Backend) -> Blueprint:
    blueprint = Blueprint("streams", __name__)
    names, registry, writer = backend.names, backend.registry, backend.writer
    # Streams that were pushed into. One may be gone by now: whoever appends looks again, in the log's own order.
    known: dict[str, StreamRecord] = {}

    def found(name: str) -> StreamRecord:
        iri = names.stream_iri(name)
        stream = registry.stream(iri)
        if stream is None:
            raise unknown(iri)
        return stream

    def unknown(iri: str) -> Problem:
        url = names.stream_url(iri)
        return Problem("unknown-stream", f"There is no stream <{iri}>: create it with PUT {url}.", stream=iri)

    def described(stream: StreamRecord) -> dict[str, object]:
        return {"iri": stream.iri, "name": names.stream_name(stream.iri), "url": names.stream_url(stream.iri),
                "clock": stream.clock, "delay": stream.delay, "producer": stream.producer, "created": stream.created}

    def refuse_if_produced(stream: StreamRecord, instead: str) -> None:
        if stream.producer is not None and registry.query(stream.producer) is not None:
            raise Problem("derived-stream", f"The stream <{stream.iri}> holds what the query {stream.producer} says: "
                          f"{instead}.", stream=stream.iri, query=stream.producer)

    @blueprint.get("/streams")
    def list_streams() -> dict[str, object]:
        return {"streams": [described(stream) for stream in registry.streams()]}

    @blueprint.put("/streams/<name:name>")
    def create_stream(name: str) -> tuple[dict[str, object], int, dict[str, str]]:
        wanted = asked_clock()
        iri = names.stream_iri(name)
        draft = StreamRecord.draft(iri, name=names.stream_name(iri), clock=wanted.clock, delay=wanted.delay)
        made = False
        while (stream := registry.stream(iri)) is None:
            try:
                writer.append(draft, absent("streams", iri, Refused()))
                made = True
            except Refused:
                continue        # somebody else has just made it
        refuse_if_produced(stream, "it is there already, and is made and filled by the query alone")
        if (stream.clock, stream.delay) != wanted:
            raise Problem("stream-exists", f"The stream <{iri}> exists with clock {stream.clock!r} and a delay of "
                          f"{stream.delay} ms: a stream keeps its clock. Delete it first, or use another name.",
                          stream=iri, clock=stream.clock, delay=stream.delay)
        if made:
            backend.ticker.changed()
        return described(stream), 201 if made else 200, {"Location": names.stream_url(iri)}

    @blueprint.get("/streams/<name:name>")
    def describe_stream(name: str) -> dict[str, object]:
        stream = found(name)
        chunks, triples = backend.log.totals(stream.iri)
        newest = backend.log.last(stream.iri, "chunk", backend.log.tail())
        told = newest and {"seq": newest.seq, "at": newest.at, "first": newest.first, "last": newest.last,
                           "triples": newest.rows}
        return {**described(stream), "kept": {"chunks": chunks, "triples": triples}, "newest": told,
                "queries": [query.name for query in registry.queries()
                            if (asked := asked_of(query)) is not None and stream.iri in streams_of(asked)]}

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
        backend.ticker.changed()
        return "", 204

    @blueprint.post("/streams/<name:name>")
    def push(name: str) -> dict[str, object]:
        iri = names.stream_iri(name)
        stream = known.get(iri)
        if stream is None:
            stream = found(name)
            refuse_push(stream)
            known[iri] = stream
        try:
            format = format_of_media_type(request.headers.get("Content-Type"))
        except UnsupportedFormat as error:
            raise Problem("unsupported-format", str(error), accepted=list(error.accepted)) from None
        body = bodies.read(request.environ, backend.settings.body_limit)
        bodies.utf8(body, "The data")
        pushed = parse_push(body, format, base=iri, blank_prefix=backend.blank_prefix())
        while True:
            chunk, warnings = clocked(pushed, stream)
            told = {"stream": iri, "accepted": len(chunk), "seq": None, "at": None, "first": chunk.first,
                    "last": chunk.last, "warnings": warnings}
            try:
                if len(chunk):
                    entry = writer.append(draft_of(chunk, iri), same("streams", stream.id, Refused()))
                    told |= {"seq": entry.seq, "at": entry.at}
                elif registry.stream(iri) != stream:
                    raise Refused
                return told
            except Refused:
                # The stream is another one now, or none: its clock may be another one too.
                known.pop(iri, None)
                stream = found(name)
                refuse_push(stream)

    return blueprint


def refuse_push(stream: StreamRecord) -> None:
    if stream.producer is not None:
        raise Problem("derived-stream", f"The stream <{stream.iri}> holds what the query {stream.producer} says, and "
                      "nothing else: push into a stream that the query reads.",
                      stream=stream.iri, query=stream.producer)


def draft_of(chunk: Chunk, iri: str) -> Draft:
    return Draft("chunk", subject=iri, payload=chunk.to_ipc(), rows=len(chunk), first=chunk.first, last=chunk.last,
                 unstamped=chunk.unstamped)


def clocked(chunk: Chunk, stream: StreamRecord) -> tuple[Chunk, list[dict[str, object]]]:
    """The chunk as the stream's clock wants it, and what the producer should know about that."""
    unstamped = chunk.unstamped
    if stream.clock == "event":
        if not unstamped:
            return chunk, []
        return chunk, [{"code": "stamped-on-arrival", "triples": unstamped, "message":
                        f"{unstamped} of the triples had no timestamp, and this stream is on the event clock: they are "
                        "stamped with the time of their arrival."}]
    stamped = len(chunk) - unstamped
    if not stamped:
        return chunk, []
    bare = dataclasses.replace(chunk, t=np.full(len(chunk), Chunk.UNSTAMPED, np.int64))
    return bare, [{"code": "timestamps-ignored", "triples": stamped, "message":
                   f"{stamped} of the triples had a timestamp, and this stream is on the arrival clock: all are "
                   "stamped with the time of their arrival. Create a stream with clock \"event\" to keep timestamps."}]


def asked_clock() -> Clock:
    """The clock that the request asks for: in a JSON body, or as arguments of the URL."""
    body = bodies.utf8(bodies.read(request.environ, LONGEST_SETTINGS), "The body")
    try:
        settings = json.loads(body) if body.strip() else {}
    except json.JSONDecodeError as error:
        raise Problem("bad-body", f"The body is not JSON: {error.msg} in line {error.lineno}, column {error.colno}. "
                      'It may be left out, or be like {"clock": "event", "delay": "5s"}.',
                      errors=[{"line": error.lineno, "column": error.colno, "message": error.msg}]) from None
    if not isinstance(settings, dict):
        raise Problem("bad-body", "The body is not a JSON object: it may be left out, or be like "
                      '{"clock": "event", "delay": "5s"}.')
    settings = {**request.args.to_dict(), **settings}
    unknown = sorted(settings.keys() - {"clock", "delay"})
    if unknown:
        raise Problem("bad-setting", f"A stream has no setting {unknown[0]!r}: it has clock and delay.")
    clock = settings.get("clock", "arrival")
    if clock not in ("arrival", "event"):
        raise Problem("bad-setting", f"The clock {clock!r} does not exist: it is \"arrival\" or \"event\".")
    delay = length_of_time("delay", settings.get("delay", 0))
    if delay and clock == "arrival":
        raise Problem("bad-setting", 'A delay is how late timestamps may be: it goes with clock "event".')
    return Clock(clock, delay)
