"""Access: whose request this is, by the token that it tells or by the cookie of a session.

    access = Access(settings, tokens, sessions)
    access.secured                      # whether there are tokens to tell; if not, this machine's people may do all
    access.token()                      # of the request; None if it has none; raises Problem if it has a wrong one
    access.begin(token, response)       # a session: the cookie goes with the response
    may("read")                         # whether the request that is at work has a scope

Who tells wrong tokens too often must wait (see `attempts`).
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from flask import Response, g, has_request_context, request

from csparql_spark.server.http.attempts import Attempts
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.http.sessions import Sessions
from csparql_spark.server.settings import Settings
from csparql_spark.store.tokens import AccessToken, Tokens, is_loopback

CHALLENGE = 'Bearer realm="csparql-spark"'
WRONG_TOKEN = f'{CHALLENGE}, error="invalid_token"'


class Access:
    def __init__(self, settings: Settings, tokens: Tokens, sessions: Sessions) -> None:
        self._host, self._tokens, self._sessions = settings.host, tokens, sessions
        self._attempts = Attempts()
        self._https = urlsplit(settings.base).scheme == "https"
        self._cookie = "__Host-csparql-session" if self._https else f"csparql-session-{settings.port}"

    @property
    def secured(self) -> bool:
        return bool(self._tokens.all()) or not is_loopback(self._host)

    def token(self) -> AccessToken | None:
        """Of the request. Raises `Problem` for one that is wrong."""
        kind, _, text = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() == "bearer" and text.strip():
            token = self._tokens.find(text.strip())
            if token is None:
                self._refuse_while_waiting()
                raise self._wrong(
                    "The token is not one of this server's: it may have been removed. Ask whoever runs "
                    "the server for another one."
                )
            return token
        cookie = request.cookies.get(self._cookie, "")
        return self._sessions.find(cookie) if cookie else None

    def log_in(self, read: Callable[[], str]) -> AccessToken:
        """The token whose text a login brings. Raises `Problem`; before it reads, while the address has to wait."""
        self._refuse_while_waiting()
        token = self._tokens.find(read())
        if token is None:
            raise self._wrong("The token is not one of this server's.")
        return token

    def begin(self, token: AccessToken, response: Response) -> None:
        """A session, in the place of the one that the browser has."""
        if old := request.cookies.get(self._cookie):
            self._sessions.end(old)
        response.set_cookie(
            self._cookie,
            self._sessions.begin(token),
            max_age=int(self._sessions.seconds),
            httponly=True,
            secure=self._https,
            samesite="Strict",
            path="/",
        )

    def end(self, response: Response) -> None:
        if cookie := request.cookies.get(self._cookie):
            self._sessions.end(cookie)
        response.delete_cookie(self._cookie, httponly=True, secure=self._https, samesite="Strict", path="/")

    def _refuse_while_waiting(self) -> None:
        if wait := self._attempts.wait(address()):
            raise Problem(
                "too-many-attempts",
                f"Too many wrong tokens came from your address: wait {wait} seconds.",
                headers={"Retry-After": str(wait)},
            )

    def _wrong(self, detail: str) -> Problem:
        self._attempts.failed(address())
        return Problem("unauthorized", detail, headers={"WWW-Authenticate": WRONG_TOKEN})


def address() -> str:
    return request.remote_addr or ""


def whose() -> str:
    """On whose behalf this thread works: of its request the token, or the address; of none nobody's."""
    if not has_request_context():
        return ""
    token: AccessToken | None = g.get("token")
    return f"address {address()}" if token is None else f"token {token.name}"


def may(scope: str) -> bool:
    """Whether who asks has a scope: for what says more to some than to others."""
    return scope in g.scopes


def know(token: AccessToken | None) -> None:
    """This token is that of the request at work."""
    g.token, g.scopes = token, token.scopes if token else frozenset()
