"""`tail`: the answers of queries, as they become true, or what changes in them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from csparql_spark.cli.failure import Failure
from csparql_spark.cli.given import InstantParameter
from csparql_spark.cli.printers import printer_of
from csparql_spark.cli.reaching import reaching
from csparql_spark.cli.suggestions import nearest
from csparql_spark.client import Answer, Change, Client, Event, ProblemError

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
@click.option("--changes", is_flag=True, help="Print rows that come (+), go (-), and hold till another time (~).")
@reaching
def tail(client: Client, queries: tuple[str, ...], start: str, form: str, count: int | None, changes: bool) -> None:
    """Print the answers of QUERYs as they become true.

    It comes back when the server is started again, and misses nothing. It ends when the queries are deleted.

    With --changes it begins with a whole answer (a keyframe), and prints from then on what has changed. A row that
    goes before the time that it was said to hold is marked as revoked.
    """
    show = printer_of(form, changes=changes)
    told: Iterator[Answer | Change]
    told = (client.follow if changes else client.subscribe)(*queries, start=start, notice=_notice)
    try:
        for number, one in enumerate(told, 1):
            show(one)
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
        "replaced": f"the query {query} is replaced, and goes on as version {data.get('version')}",
    }
    if event.kind == "progress":  # a sign of life
        return
    click.echo(f"csparql-spark: {sentences.get(event.kind, f'{event.kind}: {query}')}", err=True)


def _gone(query: object, data: dict[str, Any]) -> str:
    """What the server does not tell any more, or not to this reader."""
    from csparql_spark.asking.timeline import written

    sides = [f"{side} {written(data[name])}" for side, name in SIDES.items() if data.get(name) is not None]
    between = f"answers of {query} {' and '.join(sides)}".rstrip()
    if data.get("reason") != "forgotten":
        return f"{between} are not told here"
    return f"{between} are kept no longer: the server's setting keep-answers says how many are"
