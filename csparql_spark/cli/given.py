"""What is given to commands as NAME=FILE, and instants."""

from __future__ import annotations

import click

from csparql_spark.rdf.stamps import parse_stamp
from csparql_spark.rdf.terms import valid_iri


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


class Named(RuleSet):
    """IRI=FILE."""

    name = "iri=file"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> tuple[str, str]:
        iri, file = super().convert(value, param, context)
        if not valid_iri(iri):
            self.fail(f"{iri!r} is not an absolute IRI", param, context)
        return iri, file

    def _parted(self, value: str) -> tuple[str, str, str]:
        return value.rpartition("=")             # an IRI may have this sign too


class Instant(click.ParamType):
    name = "instant"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> int:
        try:
            return parse_stamp(str(value))
        except ValueError as error:
            self.fail(f"{value!r} is no instant: {error}", param, context)
