"""How a command fails: one line on stderr, exit code 2."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click


class Failure(click.ClickException):
    exit_code = 2

    def show(self, file: object = None) -> None:
        click.echo(f"csparql-spark: {self.format_message()}", err=True)


@contextlib.contextmanager
def as_failure(about: str = "") -> Iterator[None]:
    """Turn the errors that a user can cause into a `Failure`; `about` names the file or thing concerned."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, _of_users()):
            raise
        raise Failure(f"{about}: {error}" if about else str(error)) from error


def _of_users() -> tuple[type[Exception], ...]:
    """The errors that a user can cause; imported when there is one, because that takes a while."""
    from csparql_spark.asking.admission import Refusal
    from csparql_spark.disk import StoreError
    from csparql_spark.language import LanguageError
    from csparql_spark.rdf.errors import RdfError, UnsupportedFormat

    return LanguageError, Refusal, RdfError, UnsupportedFormat, StoreError
