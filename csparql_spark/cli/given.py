"""What is given to commands: the base of relative IRIs, NAME=FILE, and instants.

A server reads the texts that are registered with its own URL as their base. Commands that need no server take the URL
that one has by default, or what CSPARQL_BASE_URL (the server's setting) or `--base` says; so a text means the same here
and there, and what is given as IRI=FILE may be relative like the IRIs of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urljoin

import click

from csparql_spark.cli.failure import Failure
from csparql_spark.rdf.stamps import parse_stamp
from csparql_spark.rdf.terms import valid_iri

BASE = "http://127.0.0.1:8000/"
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")


class RuleSet(click.ParamType):
    """NAME=FILE."""

    name = "name=file"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> tuple[str, str]:
        name, equals, file = self._parted(str(value))
        if not equals or not name or not file:
            self.fail(f"{value!r} is not of the form {self.name.upper()}", param, context)
        return name, file

    def _parted(self, value: str) -> tuple[str, str, str]:
        return value.partition("=")


class Base(click.ParamType):
    """The absolute IRI that relative ones start from; a slash is added where it has none at its end."""

    name = "iri"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> str:
        iri = str(value)
        if not _SCHEME.match(iri) or not valid_iri(iri):
            self.fail(f"{iri!r} is no base: write an absolute IRI like {BASE}", param, context)
        return iri if iri.endswith(("/", "#")) else f"{iri}/"


base = click.option(
    "--base",
    type=Base(),
    default=BASE,
    show_default=True,
    envvar="CSPARQL_BASE_URL",
    help="What relative IRIs start from, as the setting base-url of a server.",
)


def absolute(given: Iterable[tuple[str, str]], start: str) -> tuple[tuple[str, str], ...]:
    """IRIs and files, with the IRIs that are relative made absolute."""
    return tuple((iri if _SCHEME.match(iri) else urljoin(start, iri), file) for iri, file in given)


class Named(RuleSet):
    """IRI=FILE."""

    name = "iri=file"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> tuple[str, str]:
        iri, file = super().convert(value, param, context)
        if not valid_iri(iri if _SCHEME.match(iri) else urljoin(BASE, iri)):
            self.fail(f"{iri!r} is not an IRI", param, context)
        return iri, file

    def _parted(self, value: str) -> tuple[str, str, str]:
        return value.rpartition("=")  # an IRI may have this sign too


class InstantParameter(click.ParamType):
    name = "instant"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> int:
        try:
            return parse_stamp(str(value))
        except ValueError as error:
            self.fail(f"{value!r} is no instant: {error}", param, context)


def text_of(file: Path) -> str:
    """What is in a text file; `-` is standard input. Raises `Failure`."""
    try:
        with click.open_file(str(file), encoding="utf-8") as opened:
            return opened.read()
    except OSError as error:
        raise Failure(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Failure(f"{file} is not UTF-8 text (byte {error.start})") from error
