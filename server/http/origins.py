"""Origins: whose page it is that a browser asks from, and under which name it knows this server.

    refuse_other_origins(base, friends)     # what changes something comes from a page of this server, or of a friend
    refuse_other_hosts(own)                 # the Host names this machine
    origin_of_friends(friends)              # the page's origin, if the setting cors names it

Browsers carry other people's pages. A page that rebinds its own name to this machine's address is told apart by the
Host that it sends; a page that makes a form for us, by its Origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from flask import request

from csparql_spark.server.http.problems import Problem
from csparql_spark.store.tokens import is_loopback

PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Content-Encoding, Accept, Last-Event-ID, "
    "Idempotency-Key, If-Match, If-None-Match",
    "Access-Control-Max-Age": "600",
}
SHOWN = "Location, Retry-After, ETag, X-CSPARQL-Instant, X-CSPARQL-Version"


def refuse_other_hosts(own: str | None) -> None:
    """Raises `Problem` for a Host that is not a name of this machine. Who sends none is no browser."""
    sent = request.environ.get("HTTP_HOST", "")
    try:
        host = urlsplit(f"//{sent}").hostname if sent else "localhost"
    except ValueError:
        host = None
    if not host or not (is_loopback(host) or host == own):
        raise Problem(
            "wrong-host",
            f"This server has no tokens, so it is only for this machine, and {sent[:100]!r} is "
            "none of its names: use localhost or 127.0.0.1, or set base-url, or make tokens.",
        )


def refuse_other_origins(base: str, friends: tuple[str, ...]) -> None:
    """Raises `Problem` for a change that a page of somebody else asks for."""
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    if origin is None and site in (None, "same-origin", "none"):
        return  # no browser, or a page of ours
    if origin is not None and (origin in friends or origin == base or _same(origin, request.environ)):
        return
    raise Problem(
        "cross-origin",
        f"A page of {(origin or 'another site')[:200]} cannot change anything here: name its "
        "origin in the setting cors, or send a token in the header `Authorization: Bearer …`.",
    )


def _same(origin: str, environ: Mapping[str, object]) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc == environ.get("HTTP_HOST")


def origin_of_friends(friends: tuple[str, ...]) -> str | None:
    origin = request.headers.get("Origin")
    return origin if origin in friends else None
