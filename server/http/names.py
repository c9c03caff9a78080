"""Names: how streams and queries are named in URLs, and what IRIs that makes.

    /streams/temp                                a plain name: the stream <base>/streams/temp
    /streams/http%3A%2F%2Fex.org%2Ftemp          an absolute IRI, percent-encoded: the stream <http://ex.org/temp>
    /streams/http://ex.org/temp                  the same, as people paste it

WSGI servers decode paths before anyone can see which slashes were data, so routes are matched against the path as it
was sent (`as_sent`) and names are decoded once, after that. A name stands for one thing: an IRI that begins with
<base>/streams/ is the plain name it ends with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from csparql_spark.rdf.terms import valid_iri
from csparql_spark.server.http.problems import Problem

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LONGEST_IRI = 2000
WINDOW = "/window"
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]{1,200}")
_MERGED_SLASHES = re.compile(r"(https?):/(?=[^/])")


def as_sent(application: WSGIApplication) -> WSGIApplication:
    """The application, routing by paths that are not decoded: in PATH_INFO, `%2F` is not a slash."""

    def routed(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        sent = environ.get("REQUEST_URI") or environ.get("RAW_URI")
        if sent is None:
            # A server that does not tell: encoded slashes are lost, everything else can be had again.
            sent = quote(environ["PATH_INFO"].encode("latin-1"), safe="/:@!$&'()*+,;=~")
        environ["PATH_INFO"] = sent.partition("?")[0]
        return application(environ, start_response)

    return routed


def decoded(segment: str) -> str:
    """The name that a part of a path spells."""
    try:
        name = unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise Problem("bad-name", f"The name {segment!r} is not percent-encoded UTF-8.") from None
    # Proxies like to make one slash of two; nobody means a host-less http IRI.
    name = _MERGED_SLASHES.sub(r"\1://", name, count=1) if _MERGED_SLASHES.match(name) else name
    if _PLAIN.fullmatch(name) and name not in (".", ".."):
        return name
    if ":" in name and len(name) <= LONGEST_IRI and valid_iri(name):
        return name
    raise Problem(
        "bad-name",
        f"{name[:200]!r} cannot be a name: use 1 to 200 letters, digits and _ . ~ - "
        f"or a percent-encoded absolute IRI of at most {LONGEST_IRI} characters.",
    )


def is_plain(name: str) -> bool:
    return _PLAIN.fullmatch(name) is not None


class ResourceNames:
    """IRIs and URLs below one base URL."""

    def __init__(self, base_url: str) -> None:
        self.base = base_url
        self._streams = f"{base_url}/streams/"

    def stream_iri(self, name: str) -> str:
        return self._streams + name if is_plain(name) else name

    def stream_name(self, iri: str) -> str:
        """The shortest name of a stream: plain if it has one."""
        rest = iri.removeprefix(self._streams)
        return rest if rest != iri and is_plain(rest) else iri

    def stream_url(self, iri: str) -> str:
        return self._streams + quote(self.stream_name(iri), safe="")

    def no_stream(self, iri: str) -> Problem:
        """For who names a stream that is not there."""
        return Problem(
            "unknown-stream", f"There is no stream <{iri}>: create it with PUT {self.stream_url(iri)}.", stream=iri
        )

    def graph_url(self, iri: str) -> str:
        return f"{self.base}/graphs?graph={quote(iri, safe='')}"

    def rules_url(self, name: str) -> str:
        return f"{self.base}/rules/{quote(name, safe='')}"

    def query_url(self, name: str) -> str:
        return f"{self.base}/queries/{quote(name, safe='')}"

    def query_of_window(self, iri: str) -> str | None:
        """The name of the query that sees this graph at its latest instant; None if it is not such a graph."""
        begin = f"{self.base}/queries/"
        segment = iri.removeprefix(begin).removesuffix(WINDOW)
        return decoded(segment) if iri == begin + segment + WINDOW and "/" not in segment else None
