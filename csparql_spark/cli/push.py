"""`push`: files, or what comes on standard input, pushed into a stream of a server."""

from __future__ import annotations

import os
import re
import select
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

import click

from csparql_spark.cli.creation import Creation
from csparql_spark.cli.failure import Failure, as_failure
from csparql_spark.cli.pieces import Recording, as_arrow, later
from csparql_spark.cli.reaching import reaching
from csparql_spark.client import Client, ProblemError
from csparql_spark.rdf.formats import RdfFormat, contents_of
from csparql_spark.rdf.pushes import (
    DOCUMENT,
    TRIPLE,
    AnyFormat,
    Pushed,
    PushFormat,
    push_format_of_path,
    read_push,
    read_pushed,
)
from csparql_spark.rdf.unmapped import told

ARROW = PushFormat.ARROW.media_type
FORMATS: dict[str, AnyFormat] = {
    "nt": RdfFormat.N_TRIPLES,
    "nq": RdfFormat.N_QUADS,
    "ttl": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "jsonld": RdfFormat.JSON_LD,
    "rdf": RdfFormat.RDF_XML,
    "ndjson": PushFormat.NDJSON,
    "arrow": PushFormat.ARROW,
}
LINES = (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS, PushFormat.NDJSON)
PATIENCE_SECONDS = 0.2  # that lines on standard input wait for others
PIECE = 1 << 16
# What people take for RDF, and what to do with it.
CELLS = f"write each of its cells as a line of NDJSON first, like {TRIPLE}, or "
NO_RDF = {
    ".csv": CELLS,
    ".tsv": CELLS,
    ".json": f"JSON-LD, like {DOCUMENT}, is `--format jsonld`, a triple on each line is `--format ndjson`; ",
}
STDIN = "file:///dev/stdin"


class Rate(click.ParamType):
    """1000, 1000/s or 10x: a positive number."""

    def __init__(self, unit: str) -> None:
        self.name, self._unit = f"number{unit}", unit

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> float:
        match = re.fullmatch(rf"([0-9]+(?:\.[0-9]+)?)(?:{self._unit})?", str(value))
        if match is None or not float(match[1]):
            self.fail(f"{value!r} is not of the form {self.name.upper()}, as 10{self._unit}", param, context)
        return float(match[1])


class Delay(click.ParamType):
    """A number with a unit, which the server reads; or nothing at all, 0."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> str:
        text = str(value).strip()
        if text.isdecimal() and int(text):
            self.fail(f"{text} has no unit: write {text}s for seconds, or {text}ms", param, context)
        return text


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--stream", required=True, help="The stream: its name or its IRI.")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="What the files are written in.  [default: by their extensions; nq on standard input]",
)
@click.option("--batch", type=click.IntRange(1, 1_000_000), default=500, show_default=True, help="Triples in a push.")
@click.option("--rate", type=Rate("/s"), help="Triples in a second.  [default: as fast as it goes]")
@click.option("--speed", type=Rate("x"), help="Replay at so many times the pace of the timestamps: 1x, 10x.")
@click.option("--loop", is_flag=True, help="Begin again at the end; timestamps go on from where they were.")
@click.option("--create", is_flag=True, help="Make the stream, unless it is there.")
@click.option(
    "--clock",
    type=click.Choice(["arrival", "event"]),
    default="arrival",
    show_default=True,
    help="With --create: the stream's clock.",
)
@click.option("--delay", type=Delay(), default="0", help="With --create: how late timestamps may be, as 2s.")
@reaching
# The parameters are many: click hands over each argument and each option by its name.
def push(
    client: Client,
    files: tuple[str, ...],
    stream: str,
    form: str | None,
    batch: int,
    rate: float | None,
    speed: float | None,
    loop: bool,
    create: bool,
    clock: str,
    delay: str,
) -> None:
    """Push FILEs into a stream; - is standard input, of which N-Triples, N-Quads and NDJSON are pushed as they come.

    Formats: N-Triples, N-Quads, Turtle, TriG, JSON-LD, RDF/XML, NDJSON and Arrow, by extension; .gz too. A push whose
    answer gets lost is sent again, and counted once.
    """
    if rate and speed:
        raise Failure("--rate and --speed both say how fast it goes: leave one out")
    if loop and "-" in files:
        raise Failure("--loop cannot begin standard input again: name files")
    creation = Creation(client, stream, clock, delay) if create else None
    sender = _Sender(client, stream, rate, creation)
    try:
        turn = 0
        while True:
            shift = 0
            for name in files:
                format = _format(name, form)
                if name == "-" and format in LINES:
                    for lines in _lines(sys.stdin.buffer.fileno(), batch):
                        if creation is not None and creation.pending:
                            with as_failure("standard input"):
                                read_push(lines, format, base=STDIN, blank_prefix="f.")
                        sender.send(lines, format.media_type, None)
                    continue
                with as_failure("standard input" if name == "-" else name):
                    chunk, unmapped = _read(name, format)
                    recording = Recording(chunk, batch)
                if unmapped and len(chunk) and not turn:
                    click.echo(f"csparql-spark: {name}: {told(unmapped)}", err=True)
                if not len(recording.chunk) and not turn:
                    why = (
                        ": JSON's names mean something only where an @context says what"
                        if format is RdfFormat.JSON_LD
                        else ""
                    )
                    click.echo(f"csparql-spark: {name} holds no triples{why}", err=True)
                if turn and recording.timed:
                    shift = turn * (recording.span + 1000)
                sender.replay(recording, speed, shift)
            turn += 1
            if creation is not None:
                creation.make()  # also where there is nothing to push
            if not loop:
                break
    except KeyboardInterrupt:
        pass
    except ProblemError as error:
        if error.code == "unknown-stream" and not create:
            raise Failure(f"{error} Or let push make it, with --create") from error
        raise
    finally:
        sender.clear()
    click.echo(
        f"{sender.triples:,} triple{'' if sender.triples == 1 else 's'} in {sender.pushes:,} "
        f"push{'' if sender.pushes == 1 else 'es'}"
    )


class Warned(TypedDict):
    """What a producer should know, as the server tells it."""

    code: str
    message: str


class Receipt(NamedTuple):
    """What the server says of a push, as far as it is shown."""

    accepted: int
    seq: int | None
    warnings: Sequence[Warned]


class _Sender:
    def __init__(self, client: Client, stream: str, rate: float | None, creation: Creation | None) -> None:
        self._client, self._stream, self._rate, self._creation = client, stream, rate, creation
        self._began = self._shown = time.monotonic()
        self._codes: set[str] = set()
        self.triples = self.pushes = 0

    def replay(self, recording: Recording, speed: float | None, shift: int) -> None:
        if speed is not None and not recording.timed and len(recording.chunk):
            raise Failure("--speed goes by timestamps, and there are none: use --rate")
        began = time.monotonic()
        pieces = recording.by_time(speed) if speed else ((0, piece) for piece in recording.by_size())
        for due, piece in pieces:
            if speed:
                self._wait(began + due / speed / 1000)
            self.send(as_arrow(later(piece, shift) if shift else piece), ARROW, len(piece))

    def send(self, body: bytes, media_type: str, triples: int | None) -> None:
        if self._rate:
            self._wait(self._began + self.triples / self._rate)
        receipt = self._pushed(body, media_type)
        self.triples += receipt.accepted if triples is None else triples
        self.pushes += 1
        for warning in receipt.warnings:
            if warning["code"] not in self._codes:
                self._codes.add(warning["code"])
                self.clear()
                click.echo(f"csparql-spark: {warning['message']}", err=True)
        self._show(receipt)

    def _pushed(self, body: bytes, media_type: str) -> Receipt:
        if self._creation is None or self.pushes:
            return self._receipt(body, media_type)
        self._creation.make()
        try:
            return self._receipt(body, media_type)
        except ProblemError:
            self._creation.undo()
            raise

    def _receipt(self, body: bytes, media_type: str) -> Receipt:
        reply = self._client.push(self._stream, body, media_type)
        return Receipt(reply["accepted"], reply["seq"], reply.get("warnings", ()))

    def _show(self, receipt: Receipt) -> None:
        now = time.monotonic()
        if sys.stderr.isatty() and now - self._shown > 0.2:
            self._shown = now
            pace = self.triples / max(now - self._began, 0.001)
            click.echo(
                f"\r\x1b[K{self.triples:,} triples, {pace:,.0f}/s, at {receipt.seq} in the log", nl=False, err=True
            )

    @staticmethod
    def clear() -> None:
        if sys.stderr.isatty():
            click.echo("\r\x1b[K", nl=False, err=True)

    @staticmethod
    def _wait(until: float) -> None:
        time.sleep(max(0.0, until - time.monotonic()))


def _format(name: str, form: str | None) -> AnyFormat:
    if form is not None:
        return FORMATS[form]
    format = RdfFormat.N_QUADS if name == "-" else push_format_of_path(name)
    if format is None:
        extension = Path(name.removesuffix(".gz")).suffix.lower()
        what = (
            f"the extension {extension} is not that of a format of RDF"
            if extension
            else "no extension tells its format"
        )
        raise Failure(
            f"{name}: {what}: {NO_RDF.get(extension, '')}say which it is with --format ({', '.join(FORMATS)})"
        )
    return format


def _read(name: str, format: AnyFormat) -> Pushed:
    body = sys.stdin.buffer.read() if name == "-" else contents_of(name)
    base = STDIN if name == "-" else Path(name).absolute().as_uri()
    return read_pushed(body, format, base=base, blank_prefix="f.")


def _lines(descriptor: int, batch: int) -> Iterator[bytes]:
    """Whole lines as they come, so many at a time, or what came before a pause."""
    buffer, ended = b"", False
    while not ended:
        while buffer.count(b"\n") < batch and not ended:
            if buffer and not select.select([descriptor], [], [], PATIENCE_SECONDS)[0] and b"\n" in buffer:
                break
            piece = os.read(descriptor, PIECE)
            buffer, ended = buffer + piece, not piece
        whole = buffer if ended else buffer[: buffer.rfind(b"\n") + 1]
        buffer = buffer[len(whole) :]
        lines = whole.splitlines(keepends=True)
        for start in range(0, len(lines), batch):
            body = b"".join(lines[start : start + batch])
            if body.strip():
                yield body
