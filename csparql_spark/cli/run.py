"""`run`: a query over recorded streams, to their end."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from csparql_spark.answers.bindings import Result
from csparql_spark.answers.formats import write
from csparql_spark.asking.admission import Refusal, check_rules
from csparql_spark.asking.replay import Script
from csparql_spark.asking.why import triple_of
from csparql_spark.cli import given
from csparql_spark.cli.failure import Failure, as_failure
from csparql_spark.cli.given import InstantParameter, Named, RuleSet, text_of
from csparql_spark.cli.reasons import Reasons
from csparql_spark.engine.messages import QueryFailure
from csparql_spark.language import ContinuousQuery
from csparql_spark.language.queries.describe import several
from csparql_spark.language.queries.query_cache import read
from csparql_spark.rdf import terms
from csparql_spark.testing import ENGINES, load, play

Printer = Callable[[str, int, Result], None]


@click.command()
@click.argument("query", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@click.option(
    "--stream",
    "streams",
    type=Named(),
    multiple=True,
    help="A recorded stream: N-Quads or TriG whose graph names are timestamps (urn:t:…); may end in .gz.",
)
@click.option(
    "--background",
    type=Named(),
    multiple=True,
    help="A background graph: any RDF format, by its extension; may end in .gz.",
)
@click.option("--rules", type=RuleSet(), multiple=True, help="A rule set for USING ENTAILMENT: a file of Jena's rules.")
@click.option("--entailment", multiple=True, help="A regime besides those that the query names: rdfs, owl-horst, …")
@click.option("--format", "form", type=click.Choice(["json", "csv", "table"]), default="table", show_default=True)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="local",
    show_default=True,
    help="`local` runs the processor in this process, `spark` the same one within Spark, which takes some "
    "time to start; the answers are the same.",
)
@given.base
@click.option(
    "--until",
    type=InstantParameter(),
    help="Last instant: epoch milliseconds or an xsd:dateTime.  [default: when all windows have closed]",
)
@click.option("--why", metavar="'S P O'", help="Instead of answers, print at each instant why this triple holds.")
# The parameters are many: click hands over each argument and each option by its name.
def run(
    query: Path,
    streams: tuple[tuple[str, str], ...],
    background: tuple[tuple[str, str], ...],
    rules: tuple[tuple[str, str], ...],
    entailment: tuple[str, ...],
    form: str,
    engine: str,
    base: str,
    until: int | None,
    why: str | None,
) -> None:
    """Run QUERY over recorded streams, and print its answers at each instant.

    The streams are on the event clock: their timestamps say when things happened, and the replay is as fast as it can
    be. Nothing is left behind.
    """
    text = text_of(query)
    streams, background = given.absolute(streams, base), given.absolute(background, base)
    with as_failure(str(query)):
        _given(read(text, base), [iri for iri, _ in streams], [iri for iri, _ in background])
    chunks = {}
    for number, (iri, path) in enumerate((*streams, *background)):
        with as_failure(path):
            chunks[iri] = load(Path(path), base=None, number=number)
    texts = {}
    for name, path in rules:
        texts[name] = text_of(Path(path))
        with as_failure(path):
            check_rules(name, texts[name], texts)
    with as_failure(str(query)):
        script = Script.of(
            text,
            streams={iri: chunks[iri] for iri, _ in streams},
            background={iri: chunks[iri] for iri, _ in background},
            rules=texts,
            entailment=entailment,
            base=base,
            until=until,
        )
    for warning in script.query.warnings:
        click.echo(f"csparql-spark: {query}: warning: {warning}", err=True)
    if why is not None:
        with as_failure("--why"):
            _print_all(script, engine, Reasons(script, triple_of(why, script.query, base), form))
        return
    printers: dict[str, Printer] = {"json": _print_json, "csv": _CsvPrinter(), "table": _print_table}
    _print_all(script, engine, printers[form])


def _given(query: ContinuousQuery, streams: Sequence[str], background: Sequence[str]) -> None:
    """Raises `Refusal` where something that a query reads is not given."""
    there = f" (there are {', '.join(f'<{iri}>' for iri in streams)})" if streams else ""
    for window in query.windows:
        if window.stream not in streams:
            raise Refusal(
                "unknown-stream",
                f"there is no stream <{window.stream}>: give its recording with --stream {window.stream}=FILE{there}",
            )
    for graph in (*query.graphs, *query.named_graphs):
        if graph not in background:
            raise Refusal(
                "unknown-graph", f"there is no background graph <{graph}>: give it with --background {graph}=FILE"
            )


def _print_all(script: Script, engine: str, printer: Printer) -> None:
    progress = _Progress(script)
    try:
        for message in play(script, engine):
            if isinstance(message, QueryFailure):
                raise Failure(f"the query has failed at {message.instant}: {message.reason}")
            progress.clear()
            printer(script.query.name or "query", message.instant, Result.from_bytes(message.payload))
            progress.show(message.instant)
    except _troubles(engine) as error:
        raise Failure(str(error)) from error
    except BrokenPipeError:  # the reader (head, say) has seen enough
        sys.stderr.close()
    progress.clear()


def _troubles(engine: str) -> tuple[type[Exception], ...]:
    """What an engine may have against starting; Spark is slow to import, and not always wanted."""
    if engine != "spark":
        return ()
    from csparql_spark.spark.session import EngineError

    return (EngineError,)


class _Progress:
    """How far a replay is, on a terminal, while its answers go elsewhere."""

    def __init__(self, script: Script) -> None:
        self._shown = sys.stderr.isatty() and not sys.stdout.isatty()
        self._end = script.end() or 0
        self._first: int | None = None
        if self._shown:
            click.echo(f"{script.elements:,} elements …", nl=False, err=True)

    def show(self, instant: int) -> None:
        if self._shown:
            self._first = instant if self._first is None else self._first
            done = (instant - self._first) / max(1, self._end - self._first)
            click.echo(f"\r{done:4.0%}  instant {instant}", nl=False, err=True)

    def clear(self) -> None:
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)


def _print_json(name: str, at: int, answer: Result) -> None:
    head = f'{{"query": {json.dumps(name)}, "at": {at}, '
    if answer.ntriples is not None:
        click.echo(f'{head}"triples": {json.dumps(answer.ntriples.decode())}}}')
    else:
        click.echo(f'{head}"results": {write(answer, "application/sparql-results+json").decode().strip()}}}')


class _CsvPrinter:
    """One table for all instants, with the instant in the first column."""

    def __init__(self) -> None:
        self._writer, self._begun = csv.writer(sys.stdout, lineterminator="\n"), False

    def __call__(self, name: str, at: int, answer: Result) -> None:
        names, rows = _cells(answer)
        if not self._begun:
            self._begun = True
            self._writer.writerow(["at", *names])
        self._writer.writerows([at, *row] for row in rows)
        sys.stdout.flush()


def _cells(answer: Result) -> tuple[Sequence[str], list[list[str]]]:
    """The names of the columns, and the rows; what is no table has one column."""
    if answer.table is not None:
        names = answer.table.variables
        return names, [[_value(row.get(name)) for name in names] for row in answer.table.rows()]
    if answer.ntriples is not None:
        return ["triple"], [[line] for line in answer.ntriples.decode().splitlines()]
    return ["answer"], [[str(answer.truth).lower()]]


def _value(term: str | None) -> str:
    if term is None:
        return ""
    parts = terms.parse(term)
    return f"_:{parts.value}" if parts.kind == "blank" else parts.value


def _print_table(name: str, at: int, answer: Result) -> None:
    if answer.table is None:
        _, cells = _cells(answer)
        graph = answer.ntriples is not None
        click.echo(f"── {name} at {at}: {several(len(cells), 'triple') if graph else cells[0][0]}")
        for line in cells if graph else ():
            click.echo(f"   {line[0]}")
        return
    table = answer.table
    rows = [[row.get(variable, "") for variable in table.variables] for row in table.rows()]
    click.echo(f"── {name} at {at}: {several(len(rows), 'row')}")
    if rows:
        lines = [[f"?{variable}" for variable in table.variables], *rows]
        widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
        for row in lines:
            click.echo("   " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
