"""`tail`: the answers of queries, as they become true."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from typing import Any

import click

from csparql_spark.cli.failure import Failure
from csparql_spark.cli.given import InstantParameter
from csparql_spark.cli.reaching import reaching
from csparql_spark.cli.suggestions import nearest
from csparql_spark.client import IRI, Answer, BlankNode, Client, Event, Literal, ProblemError, Term

INSTANT = InstantParameter()
SIDES = {"after": "after", "before": "next"}  # of a gap


class Start(click.ParamType):
    """latest, beginning, or an instant."""

    name = "latest|beginning|instant"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> str:
        if value in ("latest", "beginning"):
            return str(value)
        try:
            return str(INSTANT.convert(value, param, context))
        except click.BadParameter as error:
            self.fail(f"{error.message}; latest and beginning are other places to begin", param, context)


@click.command()
@click.argument("queries", nargs=-1, required=True, metavar="QUERY…")
@click.option("--from", "start", type=Start(), default="latest", show_default=True, help="Where to begin.")
@click.option("--format", "form", type=click.Choice(["json", "csv", "table"]), default="table", show_default=True)
@click.option("--count", type=click.IntRange(min=1), help="End after so many answers.")
@reaching
def tail(client: Client, queries: tuple[str, ...], start: str, form: str, count: int | None) -> None:
    """Print the answers of QUERYs as they become true.

    It comes back when the server is started again, and misses nothing. It ends when the queries are deleted.
    """
    printer = PRINTERS[form]()
    try:
        for number, answer in enumerate(client.subscribe(*queries, start=start, notice=_notice), 1):
            printer.show(answer)
            sys.stdout.flush()
            if number == count:
                return
    except ProblemError as error:
        if error.code == "unknown-query":
            raise Failure(f"{error}{_meant(client, queries)}") from error
        raise
    except BrokenPipeError:  # the reader (head, say) has seen enough
        sys.stderr.close()
    except KeyboardInterrupt:
        pass


def _meant(client: Client, names: tuple[str, ...]) -> str:
    """Which queries may be meant by names that are none."""
    known = {query["name"].casefold(): query["name"] for query in client.queries()}
    near = [
        known[found]
        for name in names
        if name not in known.values() and (found := nearest(name.casefold(), known)) is not None
    ]
    return f" Did you mean {' and '.join(near)}?" if near else ""


def _notice(event: Event) -> None:
    query = event.data.get("query")
    data = event.data
    gaps = {
        "restored": f"the server's database was put back to an earlier state: what {query} said after "
        f"{data.get('after')} is not so any more",
        "damaged": f"answers of {query} at {data.get('first')} are damaged on the disk of the server",
    }
    sentences = {
        "gap": gaps.get(data.get("reason", "")) or _gone(query, data),
        "problem": f"the query {query} has failed at {data.get('at')}: {data.get('reason')}",
        "end": f"the query {query} has ended: {data.get('reason')}",
    }
    click.echo(f"csparql-spark: {sentences.get(event.kind, f'{event.kind}: {query}')}", err=True)


def _gone(query: object, data: dict[str, Any]) -> str:
    """What the server does not tell any more, or not to this reader."""
    from csparql_spark.asking.timeline import written

    sides = [f"{side} {written(data[name])}" for side, name in SIDES.items() if data.get(name) is not None]
    between = f"answers of {query} {' and '.join(sides)}".rstrip()
    if data.get("reason") != "forgotten":
        return f"{between} are not told here"
    return f"{between} are kept no longer: the server's setting keep-answers says how many are"


class _Json:
    """A line for each answer, as the server tells it."""

    def show(self, answer: Answer) -> None:
        click.echo(json.dumps(answer.data, ensure_ascii=False))


class _Csv:
    """One table of all instants, with the query and the instant in the first columns."""

    def __init__(self) -> None:
        self._writer = csv.writer(sys.stdout, lineterminator="\n")
        self._head: list[str] | None = None

    def show(self, answer: Answer) -> None:
        head = ["query", "at", *answer.variables]
        if head[2:] != self._head:
            self._head = head[2:]
            self._writer.writerow(head)
        for row in _rows(answer):
            self._writer.writerow([answer.query, answer.at, *row])


class _Table:
    def show(self, answer: Answer) -> None:
        rows = _rows(answer, _written)
        click.echo(f"── {answer.query} at {answer.at}: {len(rows)} row{'' if len(rows) == 1 else 's'}")
        if rows:
            lines = [[f"?{name}" for name in answer.variables] or [""] * len(rows[0]), *rows]
            widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
            for line in lines[0 if answer.variables else 1 :]:
                cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
                click.echo(f"   {'  '.join(cells)}".rstrip())


PRINTERS: dict[str, type[_Json] | type[_Csv] | type[_Table]] = {"json": _Json, "csv": _Csv, "table": _Table}


def _plain(term: Term | None) -> str:
    return "" if term is None else str(term)


def _rows(answer: Answer, spelled: Callable[[Term | None], str] = _plain) -> list[list[str]]:
    if answer.triples is not None:
        return [[line] for line in answer.triples.splitlines()]
    if answer.truth is not None:
        return [[str(answer.truth).lower()]]
    return [[spelled(row.get(name)) for name in answer.variables] for row in answer.rows]


def _written(term: Term | None) -> str:
    if isinstance(term, IRI):
        return f"<{term}>"
    if isinstance(term, BlankNode):
        return f"_:{term}"
    if isinstance(term, Literal):
        python = term.to_python()
        return str(term) if not isinstance(python, str) else json.dumps(str(term), ensure_ascii=False)
    return ""
