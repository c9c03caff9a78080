"""Malformed pushes among good ones, in every format that a stream takes.

    row = malformed(10_000)

Each begins with a triple that is well-formed, and whose number no good push has: none of these may be in the log.
"""

from __future__ import annotations

import gzip
import http.client
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from bench.faults.row import Row, unless
from bench.faults.scene import PATIENCE_SECONDS, Scene
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Log
from csparql_spark.rdf.chunk import Chunk

FIRST = 900_000_000
SEED = 7
ARROW = "application/vnd.apache.arrow.stream"


def malformed(count: int) -> Row:
    with Scene() as scene:
        scene.begin()
        told, wordless, begun = Counter(), [], time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", scene.server.port, timeout=PATIENCE_SECONDS)
        formats = Counter()
        for media_type, headers, body in _pushes(count):
            formats[media_type] += 1
            connection.request("POST", "/streams/numbers", body, {"Content-Type": media_type, **headers})
            response = connection.getresponse()
            content = response.read()
            told[response.status] += 1
            try:
                sentence = json.loads(content).get("detail", "")
            except ValueError:
                sentence = ""
            if not 400 <= response.status < 500 or not sentence.endswith((".", "?", "!")):
                wordless.append(f"{response.status} {content[:200]!r} for {media_type} {body[:200]!r}")
        seconds = time.monotonic() - begun
        connection.close()
        scene.answered(4)
        scene.finish()
        verdict = scene.verdict()
        verdict.broken += wordless[:5] + unless(not scene.refusals(), f"good pushes were refused: {scene.refusals()}")
        entered = _entered(Path(scene.data))
        verdict.broken += unless(not entered, f"{entered} triples of malformed pushes are in the log")
        codes = ", ".join(f"{number} were told {status}" for status, number in sorted(told.items()))
        injected = (
            f"{count:,} malformed pushes in {len(formats)} media types (Arrow and compressed ones, too) among good ones"
        )
        said = (
            f"{codes}, each with a sentence, in {seconds:.0f} s; nothing of them is in the log. The longest good "
            f"push took {scene.longest():.1f} s."
        )
        return Row.of("malformed", injected, said, verdict, told=dict(told))


def _pushes(count: int) -> Iterator[tuple[str, dict[str, str], bytes]]:
    dice = random.Random(SEED)
    for number in range(FIRST, FIRST + count):
        good = f'<urn:push/{number}> <urn:number> "{number}" .\n'
        kind = dice.choice(BAD)
        yield kind(number, good, dice)


def _noise(dice: random.Random) -> str:
    return "".join(dice.choice("{}[]<>\"'\\@^~|;,. \n\u00e9") for _ in range(dice.randint(3, 40)))


def _text(media_type: str):
    # Whatever the noise is, a line that begins so is none of these languages.
    return lambda number, good, dice: (media_type, {}, f"{good}<urn:s> ) {_noise(dice)}".encode())


def _xml(number, good, dice):
    return "application/rdf+xml", {}, f"<rdf:RDF><rdf:Description{_noise(dice)}".encode()


def _json(number, good, dice):
    body = f'{{"@id": "urn:push/{number}", "urn:number": "{number}", {_noise(dice)} ]'
    return "application/ld+json", {}, body.encode()


def _lines(number, good, dice):
    first = json.dumps({"s": f"<urn:push/{number}>", "p": "<urn:number>", "o": f'"{number}"'})
    return "application/x-ndjson", {}, f'{first}\n{{"s": 1, ){_noise(dice)}'.encode()


def _not_utf8(number, good, dice):
    return "application/n-triples", {}, good.encode() + b'<urn:s> <urn:p> "\xff\xfe' + dice.randbytes(5) + b'" .'


def _arrow(number: int) -> bytes:
    table = pa.table({"s": [f"<urn:push/{number}>"] * 50, "p": ["<urn:number>"] * 50, "o": [f'"{number}"'] * 50})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _arrow_cut(number, good, dice):
    body = _arrow(number)
    return ARROW, {}, body[: dice.randrange(1, len(body) - 8)]


def _arrow_terms(number, good, dice):
    table = pa.table(
        {"s": [f"<urn:push/{number}>", _noise(dice) + ")"], "p": ["<urn:number>"] * 2, "o": [f'"{number}"'] * 2}
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return ARROW, {}, sink.getvalue().to_pybytes()


def _arrow_noise(number, good, dice):
    return ARROW, {}, dice.randbytes(dice.randint(1, 300))


def _gzip_cut(number, good, dice):
    body = gzip.compress(good.encode() * 100)
    return "application/n-triples", {"Content-Encoding": "gzip"}, body[: dice.randrange(1, len(body))]


def _gzip_noise(number, good, dice):
    return "text/turtle", {"Content-Encoding": "gzip"}, b"\x00" + dice.randbytes(50)


def _unknown(number, good, dice):
    return "application/x-unknown", {}, good.encode()


BAD = [
    *map(_text, ("application/n-triples", "application/n-quads", "text/turtle", "application/trig")),
    _xml,
    _json,
    _lines,
    _not_utf8,
    _arrow_cut,
    _arrow_terms,
    _arrow_noise,
    _gzip_cut,
    _gzip_noise,
    _unknown,
]


def _entered(data: Path) -> int:
    log = Log(Database(DataDirectory(data).database))
    numbers = (
        s.removeprefix("<urn:push/").rstrip(">")
        for entry in log.read(0, log.tail())
        if entry.kind == "chunk"
        for s, _, _ in Chunk.from_ipc(entry.payload).triples()
    )
    return sum(number.isdigit() and int(number) >= FIRST for number in numbers)
