"""`token`: making, listing and removing the tokens of a data directory. A running server sees it at its next request.

For example:

    csparql-spark token add lab --scope push --scope read
    csparql-spark token remove lab
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path

import click

from csparql_spark.cli.failure import Failure, as_failure
from csparql_spark.cli.flags import flags, resolved
from csparql_spark.cli.suggestions import SuggestingGroup
from csparql_spark.disk import DataDirectory
from csparql_spark.disk.directory import private
from csparql_spark.settings import Settings
from csparql_spark.store.tokens import SCOPES, Tokens, made

DATA_ALONE = flags(only=("data",))


@click.group(cls=SuggestingGroup)
def token() -> None:
    """Tokens: who may do what with a server.

    A server without tokens serves only its own machine. With the first token it asks everybody for one.
    """


@token.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    required=True,
    help="What it is good for; may be given several times. register includes read, admin all others.",
)
@click.option(
    "--as-setting",
    is_flag=True,
    help="Keep nothing, and print what to put into the setting `tokens` (or CSPARQL_TOKENS).",
)
@DATA_ALONE
def add(name: str, scopes: tuple[str, ...], as_setting: bool, config: Path | None, **given: object) -> None:
    """Make a token NAME and print it: this once, for only its hash is kept."""
    settings = _settings(given, config)
    with as_failure(), private():
        if as_setting:
            secret, record = made(name, scopes)
            click.echo(f"{secret}\n{record.as_setting}")
            click.echo(
                "The first line is the token, and is not shown again; the second goes into the settings.", err=True
            )
            return
        directory = DataDirectory(settings.data).create()
        click.echo(Tokens(directory.path, settings.tokens).add(name, scopes))
    click.echo(
        f"Keep it: it is not shown again. Programs send it as `Authorization: Bearer …`. ({directory.path})", err=True
    )


@token.command("list")
@DATA_ALONE
def show(config: Path | None, **given: object) -> None:
    """List the tokens: their names, scopes, and since when they are."""
    settings = _settings(given, config)
    with as_failure():
        tokens = Tokens(settings.data, settings.tokens).all()
    for one in tokens:
        since = (
            "in the settings"
            if one.created is None
            else datetime.datetime.fromtimestamp(one.created / 1000, datetime.UTC).strftime("since %Y-%m-%d %H:%M UTC")
        )
        click.echo(f"{one.name:20} {', '.join(one.granted):28} {since}")
    if not tokens:
        click.echo(f"There are no tokens in {settings.data}: make one with `csparql-spark token add`.", err=True)


@token.command()
@click.argument("name")
@DATA_ALONE
def remove(name: str, config: Path | None, **given: object) -> None:
    """Remove the token NAME: it, and the logins that were made with it, are worth nothing from now on."""
    settings = _settings(given, config)
    if not settings.data.is_dir():
        raise Failure(f"there is no data directory {settings.data}: name that of the server with --data")
    with as_failure():
        Tokens(settings.data, settings.tokens).remove(name)
    click.echo(f"removed {name}")


def _settings(given: Mapping[str, object], config: Path | None) -> Settings:
    return resolved(given, config).settings
