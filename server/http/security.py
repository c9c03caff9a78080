"""Security: who may do what, decided before any route is asked.

A server has tokens, or it listens on a loopback address and lets everybody in who comes from this machine. With
tokens, a request tells one (`Authorization: Bearer …`), or has the cookie of a session that was begun by telling one
(see `login`); the token's scopes must have the one that `scopes` says the route needs.

Browsers carry other people's pages, so these hold besides (see `origins`):
- what changes something must come from a page of this server, unless it tells a token, or its origin is in `cors`;
- without tokens, the Host must name this machine: another name that resolves to it is a page that rebinds its name;
- tokens in URLs are refused: URLs end up in logs and histories.

    install(app, settings, tokens, sessions)
"""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Flask, Response, g, request
from werkzeug.routing import Rule

from csparql_spark.server.http import login
from csparql_spark.server.http.access import CHALLENGE, Access, know
from csparql_spark.server.http.origins import (
    PREFLIGHT,
    SHOWN,
    origin_of_friends,
    refuse_other_hosts,
    refuse_other_origins,
)
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.http.scopes import OPEN, needed
from csparql_spark.server.http.sessions import Sessions
from csparql_spark.server.settings import Settings
from csparql_spark.store.tokens import SCOPES, AccessToken, Tokens

CSP = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LONGEST_TYPE = 1000
CHANGING = ("POST", "PUT", "PATCH", "DELETE")


def install(app: Flask, settings: Settings, tokens: Tokens, sessions: Sessions) -> None:
    """Guard all routes of the application, those that are added later, too."""
    access = Access(settings, tokens, sessions)
    own_host = urlsplit(settings.base_url).hostname

    @app.before_request
    def guard() -> Response | None:
        g.scopes = frozenset()
        if not access.secured:
            refuse_other_hosts(own_host)
        refuse_long_type()
        if "access_token" in request.args:
            raise Problem(
                "token-in-url",
                "Tokens do not belong into URLs, which end up in logs: send it in the header "
                "`Authorization: Bearer …`, and replace this one, for it may have been seen.",
            )
        if request.method == "OPTIONS":
            wanted = request.headers.get("Access-Control-Request-Method")
            return Response(status=204, headers=PREFLIGHT) if wanted and origin_of_friends(settings.cors) else None
        bearer = request.headers.get("Authorization", "").lower().startswith("bearer ")
        if request.method in CHANGING and not bearer:
            refuse_other_origins(settings.base, settings.cors)
        if not access.secured:
            g.scopes = frozenset(SCOPES)
        elif request.url_rule is not None:  # what is not there is nobody's secret
            let_in(access, request.url_rule)
        return None

    @app.after_request
    def with_headers(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if response.mimetype == "text/html":
            response.headers.setdefault("Content-Security-Policy", CSP)
        if settings.cors:
            response.headers.add("Vary", "Origin")
            if origin := origin_of_friends(settings.cors):
                response.headers["Access-Control-Allow-Origin"] = origin
                response.headers["Access-Control-Expose-Headers"] = SHOWN
                response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        return response

    app.register_blueprint(login.routes(access))


def refuse_long_type() -> None:
    """Raises `Problem`: the parameters of a type are read in a time that grows with the square of their length."""
    if len(request.headers.get("Content-Type", "")) > LONGEST_TYPE:
        raise Problem("bad-request", f"The Content-Type has more than {LONGEST_TYPE} characters: name the type alone.")


def let_in(access: Access, rule: Rule) -> None:
    """Note whose request it is. Raises `Problem` unless it has the scope that the route needs."""
    need = needed(rule.rule, request.method)
    if need == OPEN:
        know(access.token() if request.method == "GET" else None)  # who is known sees more of it
        return
    token = access.token()
    if token is None:
        raise Problem(
            "unauthorized",
            "This server asks for a token: send one in the header `Authorization: Bearer …`, or log in.",
            headers={"WWW-Authenticate": CHALLENGE},
        )
    if (need or "admin") not in token.scopes:
        raise lacking(token, need or "admin")
    know(token)


def lacking(token: AccessToken, scope: str) -> Problem:
    return Problem(
        "forbidden",
        f"This needs a token with the scope {scope}, and {token.name!r} has "
        f"{', '.join(sorted(token.scopes))}: ask whoever runs the server for another one.",
        headers={"WWW-Authenticate": f'{CHALLENGE}, error="insufficient_scope", scope="{scope}"'},
        scope=scope,
        scopes=sorted(token.scopes),
    )
