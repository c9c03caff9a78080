"""`store`: whether what a data directory holds is whole, and what is to become of what is not.

For example:

    csparql-spark store check --data data
    csparql-spark store skip 812 --data data
"""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import TypedDict

import click

from csparql_spark.cli.failure import Failure, as_failure
from csparql_spark.cli.flags import flags, resolved
from csparql_spark.cli.suggestions import SuggestingGroup
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.disk.damage import ENTRY, Damage, Damages
from csparql_spark.log import Log
from csparql_spark.store import Registry
from csparql_spark.store.inspection import DamagedRow, inspect, refuse_another_version

DATA_ALONE = flags(only=("data",))
# What is better made again than passed over.
AGAIN = {
    "stream": "delete the queries that read the stream and the stream, and create it again",
    "register": "delete the query and register it again",
}
BEFORE = {
    "background": "the graph is what the entry before it says, if the log still has that: better set it again",
    "rules": "the rule set is what the entry before it says, if the log still has that: better set it again",
    "fail": "the server says it again when it starts",
}

# What they ended would be there again.
ENDS = {"drop": "deleted the stream {}", "unregister": "deleted the query {}"}


@click.group(cls=SuggestingGroup)
def store() -> None:
    """What a data directory holds: whether it is whole.

    Each entry of the log and each answer has a checksum. Something that is damaged fails whoever needs it, by name, and
    nobody else.
    """


@store.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@DATA_ALONE
def check(as_json: bool, config: Path | None, **given: object) -> None:
    """Read the whole log and all answers, and name what is damaged. Exit code 1 if anything is.

    Nothing is written; the server may run.
    """
    path = resolved(given, config).settings.data
    with as_failure():
        found = inspect(_database(path))
    if as_json:
        click.echo(
            json.dumps(
                {
                    "entries": found.entries,
                    "answers": found.answers,
                    "unchecked": found.unchecked,
                    "skipped": found.skipped,
                    "file": found.pages,
                    "damaged": [_as_json(one) for one in found.damaged],
                },
                ensure_ascii=False,
            )
        )
    else:
        for line in _table(found.damaged):
            click.echo(line)
        for line in found.pages:
            click.echo(f"the file itself: {line}")
        count = len(found.damaged) + len(found.pages)
        click.echo(
            f"{found.entries:,} entries and {found.answers:,} answers were read: "
            + ("all are whole" if found.whole else f"{count:,} place{'s are' if count > 1 else ' is'} damaged")
            + (f"; {found.unchecked:,} are older than checksums and were not checked" if found.unchecked else "")
            + (
                f"; {found.skipped:,} {'was' if found.skipped == 1 else 'were'} passed over before"
                if found.skipped
                else ""
            )
        )
    sys.exit(0 if found.whole else 1)


@store.command()
@click.argument("seq", type=click.IntRange(min=1))
@click.option("--yes", is_flag=True, help="Do not ask.")
@DATA_ALONE
def skip(seq: int, yes: bool, config: Path | None, **given: object) -> None:
    """Decide that the damaged entry SEQ of the log is passed over, as if it had never come. The server must be stopped.

    Queries that have failed because of it stay failed: delete them and register them again.
    """
    path = resolved(given, config).settings.data
    with as_failure():
        _database(path)
        directory = DataDirectory(path)
        with directory.lock():
            refuse_another_version(directory.database)
            database = Database(directory.database)
            damage = _damaged(database, directory, seq)
            if not yes:
                means = BEFORE.get(damage.kind or "", "what it said is lost for good")
                click.echo(f"{damage.reason}.\nPassed over, {means}.", err=True)
                click.confirm("Pass it over?", abort=True, err=True)
            Damages(database).skip(damage)
            database.close()
    click.echo(
        f"the entry {seq} is passed over; queries that have failed because of it are to be deleted and registered again"
    )


def _damaged(database: Database, directory: DataDirectory, seq: int) -> Damage:
    """What is damaged of the entry. Raises `Failure` if it is not to be passed over."""
    log, damages = Log(database), Damages(database)
    entry = log.one(seq)
    if entry is None:
        raise Failure(f"there is no entry {seq} in the log of {directory.path}: the newest is {log.tail()}")
    if entry.kind == "skipped":
        raise Failure(f"the entry {seq} is passed over already")
    damage = next((one for one in damages.all() if (one.what, one.place) == (ENTRY, seq)), None)
    if entry.damage is None or damage is None:
        raise Failure(f"the entry {seq} can be read: only what is damaged is passed over")
    row = next(iter(log.outline(seq - 1, 1)), None)  # as it stands there, whether it can be believed or not
    if row is not None and row.seq == seq and row.kind in ENDS:
        raise Failure(
            f"{damage.reason}. It cannot be passed over: it seems to have "
            f"{ENDS[row.kind].format(row.subject)}, which would be there again. Delete the queries that have "
            "failed because of it and register them again: those that come after it do not need it"
        )
    if row is not None and row.kind == "register" and seq in dict(Registry(database).ends(row.subject or "")).values():
        raise Failure(
            f"{damage.reason}. It cannot be passed over: it seems to have replaced the query {row.subject}, whose "
            "version before would be there again. Start the server, delete the query and register it again"
        )
    if damage.kind in AGAIN:
        raise Failure(f"{damage.reason}, and cannot be passed over: start the server, and {AGAIN[damage.kind]}")
    return damage


def _database(path: Path) -> Path:
    database = DataDirectory(path).database
    if not database.exists():
        raise Failure(f"there is no {database}: name the directory of a server with --data")
    return database


class EntryDamage(TypedDict):
    """A damaged entry of the log, as JSON."""

    seq: int
    kind: str | None
    subject: str | None
    at: int
    size: int | None
    reason: str


class AnswerDamage(TypedDict):
    """A damaged answer, as JSON."""

    position: int
    query: int
    at: int
    size: int | None
    reason: str


def _as_json(found: DamagedRow) -> EntryDamage | AnswerDamage:
    damage = found.damage
    if damage.what == ENTRY:
        return {
            "seq": damage.place,
            "kind": damage.kind,
            "subject": damage.subject,
            "at": damage.at,
            "size": found.size,
            "reason": damage.reason,
        }
    return {
        "position": damage.place,
        "query": int(damage.subject or 0),
        "at": damage.at,
        "size": found.size,
        "reason": damage.reason,
    }


def _table(found: list[DamagedRow]) -> list[str]:
    """A line for each, and a head."""
    if not found:
        return []
    rows = [("PLACE", "KIND", "OF", "AT", "BYTES", "WHY")]
    for one in found:
        damage = one.damage
        of = damage.subject or "?" if damage.what == ENTRY else f"query {damage.subject}"
        why = damage.reason.partition(" is damaged: ")[2]
        rows.append(
            (
                str(damage.place),
                damage.kind or "?" if damage.what == ENTRY else "answer",
                of,
                _time(damage.at),
                "?" if one.size is None else f"{one.size:,}",
                why,
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)) + f"  {row[5]}" for row in rows]


def _time(at: int) -> str:
    try:
        return datetime.datetime.fromtimestamp(at / 1000, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S") if at else "?"
    except (OverflowError, ValueError, OSError):
        return str(at)
