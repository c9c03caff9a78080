"""Conditions: on what there is a request insists, by the headers If-Match and If-None-Match.

    If-Match: "17"          only where version 17 is what there is
    If-Match: *             only where there is something
    If-None-Match: *        only where there is nothing

    condition = asked_condition()
    condition.refuse(query, name)           # raises Problem (412) with a sentence that names what there is
    condition.is_of(16)                     # whether it insists on this very version

A tag is the number of a version, in quotes. One that something on the way has marked as weak is the same version, and
so is one without quotes.
"""

from __future__ import annotations

from dataclasses import dataclass

from flask import request
from werkzeug.datastructures import ETags

from csparql_spark.server.http.problems import Problem
from csparql_spark.store import QueryRecord


@dataclass(frozen=True)
class Condition:
    match: ETags | None = None
    none_match: ETags | None = None

    def is_of(self, version: int | None) -> bool:
        """Whether it insists on a version by its number."""
        return (
            self.match is not None and not self.match.star_tag and version is not None and _named(self.match, version)
        )

    @property
    def replaces(self) -> bool:
        """Whether what there is may be replaced: who says so says what."""
        return self.match is not None

    def refuse(self, query: QueryRecord | None, name: str) -> None:
        """Raises `Problem` if the query that there is of that name (None: there is none) is not as it should be."""
        if query is None and self.match is not None:
            raise Problem(
                "precondition-failed",
                f"There is no query {name}: leave If-Match out to register one.",
                query=name,
                version=None,
            )
        if query is None:
            return
        if self.match is not None and not self.match.star_tag and not _named(self.match, query.id):
            raise _otherwise(
                query,
                f"The query {name} is in its version {version_tag(query)} now, which If-Match does not name: look at "
                f"what it asks for, and send If-Match: {version_tag(query)} if that is the one you mean.",
            )
        if self.none_match is not None and (self.none_match.star_tag or _named(self.none_match, query.id)):
            raise _otherwise(
                query,
                f"There is a query {name} (version {version_tag(query)}), and If-None-Match asks for none: use another "
                f"name, or replace it with If-Match: {version_tag(query)}.",
            )


def asked_condition() -> Condition:
    """What the request at work insists on."""
    given = request.headers
    return Condition(
        request.if_match if "If-Match" in given else None, request.if_none_match if "If-None-Match" in given else None
    )


def version_tag(query: QueryRecord) -> str:
    """The version of a query as the header ETag has it."""
    return f'"{query.id}"'


def _named(tags: ETags, version: int) -> bool:
    return tags.contains_weak(str(version))


def _otherwise(query: QueryRecord, sentence: str) -> Problem:
    headers = {"ETag": version_tag(query)}
    return Problem("precondition-failed", sentence, headers=headers, query=query.name, version=query.id)
