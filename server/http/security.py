"""Security: who may do what, decided before any route is asked.

A server has tokens, or it listens on a loopback address and lets everybody in who comes from this machine. With
tokens, a request tells one (`Authorization: Bearer …`), or has the cookie of a session that was begun by telling one
(`POST /login`); the token's scopes must have the one that `scopes` says the route needs.

Browsers carry other people's pages, so these hold besides:
- what changes something must come from a page of this server, unless it tells a token, or its origin is in `cors`;
- without tokens, the Host must name this machine: another name that resolves to it is a page that rebinds its name;
- tokens in URLs are refused: URLs end up in logs and histories.

    POST /login     {"token": "csp_…"} or the same as a form      200, and the cookie
    POST /logout                                                  204
    GET  /session   {"secured": true, "name": "lab", "scopes": ["read", "register"]}
"""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

from flask import Blueprint, Flask, Response, g, request

from csparql_spark.server.http import bodies
from csparql_spark.server.http.attempts import Attempts
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.http.scopes import OPEN, needed
from csparql_spark.server.http.sessions import Sessions
from csparql_spark.server.settings import Settings
from csparql_spark.store.tokens import SCOPES, Token, Tokens, is_loopback

CSP = ("default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
       "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
           "Cross-Origin-Resource-Policy": "same-origin"}
CHANGING = ("POST", "PUT", "PATCH", "DELETE")
LONGEST_LOGIN = 4096
PREFLIGHT = {"Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
             "Access-Control-Allow-Headers": "Authorization, Content-Type, Content-Encoding, Accept, Last-Event-ID, "
                                             "Idempotency-Key",
             "Access-Control-Max-Age": "600"}
SHOWN = "Location, Retry-After, X-CSPARQL-Instant"


def install(app: Flask, settings: Settings, tokens: Tokens, sessions: Sessions) -> None:
    """Guard all routes of the application, those that are added later, too."""
    attempts = Attempts()
    scheme, own_host = urlsplit(settings.base).scheme, urlsplit(settings.base_url).hostname
    cookie = ("__Host-csparql-session" if scheme == "https" else f"csparql-session-{settings.port}")

    def secured() -> bool:
        return bool(tokens.all()) or not is_loopback(settings.host)

    def known() -> Token | None:
        """Who asks. Raises `Problem` for a token that is wrong."""
        kind, _, told = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() == "bearer" and told.strip():
            found = tokens.find(told.strip())
            if found is None:
                raise refused("The token is not one of this server's: it may have been removed. Ask whoever runs the "
                              "server for another one.", 'Bearer realm="csparql-spark", error="invalid_token"')
            return found
        told = request.cookies.get(cookie, "")
        return sessions.find(told) if told else None

    def refused(detail: str, challenge: str = 'Bearer realm="csparql-spark"') -> Problem:
        if "error=" in challenge:
            if wait := attempts.wait(address()):
                return too_many(wait)
            attempts.failed(address())
        return Problem("unauthorized", detail, headers={"WWW-Authenticate": challenge})

    @app.before_request
    def guard() -> Response | None:
        g.scopes = frozenset()
        if not secured():
            refuse_other_hosts(own_host)
        if "access_token" in request.args:
            raise Problem("token-in-url", "Tokens do not belong into URLs, which end up in logs: send it in the header "
                          "`Authorization: Bearer …`, and replace this one, for it may have been seen.")
        if request.method == "OPTIONS":
            asked = request.headers.get("Access-Control-Request-Method")
            return Response(status=204, headers=PREFLIGHT) if asked and origin_of_friends(settings.cors) else None
        bearer = request.headers.get("Authorization", "").lower().startswith("bearer ")
        if request.method in CHANGING and not bearer:
            refuse_other_origins(settings.base, settings.cors)
        if not secured():
            g.scopes = frozenset(SCOPES)
            return None
        if request.url_rule is None:
            return None             # what is not there is nobody's secret
        need = needed(request.url_rule.rule, request.method)
        if need == OPEN:
            # Who is known sees more of it.
            token = known() if request.method == "GET" else None
            g.token, g.scopes = token, token.scopes if token else frozenset()
            return None
        token = known()
        if token is None:
            raise refused("This server asks for a token: send one in the header `Authorization: Bearer …`, or log in.")
        if (need or "admin") not in token.scopes:
            raise Problem("forbidden", f"This needs a token with the scope {need or 'admin'}, and {token.name!r} has "
                          f"{', '.join(sorted(token.scopes))}: ask whoever runs the server for another one.",
                          headers={"WWW-Authenticate": 'Bearer realm="csparql-spark", error="insufficient_scope", '
                                                       f'scope="{need or "admin"}"'},
                          scope=need or "admin", scopes=sorted(token.scopes))
        g.token, g.scopes = token, token.scopes
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

    blueprint = Blueprint("security", __name__)

    @blueprint.post("/login")
    def login() -> Response:
        if not secured():
            return told_session(None)
        if wait := attempts.wait(address()):
            raise too_many(wait)
        token = tokens.find(asked_token())
        if token is None:
            attempts.failed(address())
            raise Problem("unauthorized", "The token is not one of this server's.",
                          headers={"WWW-Authenticate": 'Bearer realm="csparql-spark", error="invalid_token"'})
        if old := request.cookies.get(cookie):
            sessions.end(old)
        g.token, g.scopes = token, token.scopes
        response = told_session(token)
        response.set_cookie(cookie, sessions.begin(token), max_age=int(sessions.seconds), httponly=True,
                            secure=scheme == "https", samesite="Strict", path="/")
        return response

    @blueprint.post("/logout")
    def logout() -> Response:
        if told := request.cookies.get(cookie):
            sessions.end(told)
        response = Response(status=204)
        response.delete_cookie(cookie, httponly=True, secure=scheme == "https", samesite="Strict", path="/")
        return response

    @blueprint.get("/session")
    def session() -> Response:
        return told_session(g.get("token"))

    def told_session(token: Token | None) -> Response:
        scopes = [scope for scope in SCOPES if not secured() or token is not None and scope in token.scopes]
        told = {"secured": secured(), "name": token.name if token else None, "scopes": scopes}
        return Response(json.dumps(told) + "\n", content_type="application/json", headers={"Cache-Control": "no-store"})

    app.register_blueprint(blueprint)


def may(scope: str) -> bool:
    """Whether who asks has a scope: for what says more to some than to others."""
    return scope in g.scopes


def address() -> str:
    return request.remote_addr or ""


def too_many(wait: int) -> Problem:
    return Problem("too-many-attempts", f"Too many wrong tokens came from your address: wait {wait} seconds.",
                   headers={"Retry-After": str(wait)})


def asked_token() -> str:
    """The token in a login: JSON or a form."""
    text = bodies.utf8(bodies.read(request.environ, LONGEST_LOGIN), "The login")
    if request.mimetype == "application/json":
        try:
            told = json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            told = None
        token = told.get("token") if isinstance(told, dict) else None
    else:
        token = parse_qs(text).get("token", [None])[0]
    if not isinstance(token, str) or not token.strip():
        raise Problem("bad-body", 'A login is {"token": "…"} as JSON, or a form with the field token.')
    return token.strip()


def refuse_other_hosts(own: str | None) -> None:
    """Raises `Problem` for a Host that is not a name of this machine. Who sends none is no browser."""
    sent = request.environ.get("HTTP_HOST", "")
    try:
        host = urlsplit(f"//{sent}").hostname if sent else "localhost"
    except ValueError:
        host = None
    if not host or not (is_loopback(host) or host == own):
        raise Problem("wrong-host", f"This server has no tokens, so it is only for this machine, and {sent[:100]!r} is "
                      "none of its names: use localhost or 127.0.0.1, or set base-url, or make tokens.")


def refuse_other_origins(base: str, friends: tuple[str, ...]) -> None:
    """Raises `Problem` for a change that a page of somebody else asks for."""
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    if origin is None and site in (None, "same-origin", "none"):
        return          # no browser, or a page of ours
    if origin is not None and (origin in friends or origin == base or _same(origin, request.environ)):
        return
    raise Problem("cross-origin", f"A page of {(origin or 'another site')[:200]} cannot change anything here: name its "
                  "origin in the setting cors, or send a token in the header `Authorization: Bearer …`.")


def _same(origin: str, environ: dict[str, object]) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc == environ.get("HTTP_HOST")


def origin_of_friends(friends: tuple[str, ...]) -> str | None:
    origin = request.headers.get("Origin")
    return origin if origin in friends else None
