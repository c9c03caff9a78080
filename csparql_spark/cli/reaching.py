"""How commands reach a server: its URL, and the token that it may ask for, which is never on a command line."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from csparql_spark.cli.failure import Failure, as_failure
from csparql_spark.client import Client, ProblemError, Unreachable
from csparql_spark.client.asking import BadToken

URL = "http://127.0.0.1:8000"
PATIENCE_SECONDS = 60.0


def reaching(command: Callable) -> Callable:
    """Gives a command the options, and a client as its first argument."""

    @click.option("--url", default=URL, show_default=True, envvar="CSPARQL_URL", help="The server.")
    @click.option(
        "--token-file",
        type=click.Path(path_type=Path),
        help="File that holds the token for the server.  [default: the environment's CSPARQL_TOKEN]",
    )
    @click.option("--token", envvar="CSPARQL_TOKEN", hidden=True, expose_value=True, default=None, callback=_private)
    @click.option("-q", "--quiet", is_flag=True, help="Do not say what is waited for.")
    @functools.wraps(command)
    def reached(url: str, token_file: Path | None, token: str | None, quiet: bool, **given: object) -> None:
        if token_file is not None:
            try:
                token = token_file.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise Failure(f"the token file {token_file} cannot be read: {error}") from error
        try:
            client = Client(url, token, patience=PATIENCE_SECONDS, waiting=None if quiet else _waiting)
        except BadToken as error:
            raise Failure(f"{'CSPARQL_TOKEN' if token_file is None else token_file}: {error}") from error
        except ValueError as error:
            raise Failure(f"--url: {error}") from error
        with client, refused():
            command(client, **given)

    return reached


@contextlib.contextmanager
def refused() -> Iterator[None]:
    """What the server, or the way to it, has against a request, as a failure of the command."""
    with as_failure():
        try:
            yield
        except ProblemError as error:
            raise Failure(str(error)) from error
        except Unreachable as error:
            raise Failure(
                f"{str(error).rstrip('.')}. Start a server there with `csparql-spark serve`, or name another "
                "one with --url"
            ) from error


def _waiting(text: str) -> None:
    click.echo(f"csparql-spark: {text}", err=True)


def _private(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if context.get_parameter_source("token") is click.core.ParameterSource.COMMANDLINE:
        raise Failure(
            "a token on the command line can be read by everybody on this machine: "
            "use --token-file, or set CSPARQL_TOKEN"
        )
    return value
