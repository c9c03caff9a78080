"""Asking: one request, sent again while that makes sense.

Every request of the client may be sent twice, since it says what shall be, or carries a key; so when the connection
breaks, or the server is not there for a moment, it is sent again, with growing pauses, for as long as there is
patience.

    wire = Wire("http://127.0.0.1:8000", token=None, timeout=30, patience=60)
    status, headers, body = wire.ask("GET", "/health")         # raises ProblemError, Unreachable
"""

from __future__ import annotations

import http.client
import json
import random
import re
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

from csparql_spark.client.waiting import Outage, Say, reason

TEMPORARY = (429, 502, 503, 504)
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0

_dice = random.Random()  # its own: whoever seeds Python's gets what was expected, whatever threads wait here


class ProblemError(Exception):
    """The server refused a request. `problem` is its whole problem document."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(problem.get("detail") or problem.get("title") or f"the server answered {status}")
        self.status, self.problem = status, problem
        self.code: str = problem.get("code", f"http-{status}")
        self.detail: str = str(self)
        first: dict[str, int] = next(iter(problem.get("errors") or ()), {})
        self.line: int | None = first.get("line")
        self.column: int | None = first.get("column")


class Unreachable(OSError):
    """The server could not be asked, also after trying for as long as the client has patience."""


class BadToken(ValueError):
    """A token that cannot be told to any server."""


class Wire:
    """May be used by several threads: each has its own connection."""

    def __init__(
        self, url: str, token: str | None, *, timeout: float, patience: float, waiting: Say | None = None
    ) -> None:
        try:
            parts = urlsplit(url)
            host = parts.hostname if parts.scheme in ("http", "https") and parts.port != 0 else None
        except ValueError:  # of the port, or of brackets
            host = None
        if not host:
            meant = f"http://{url}" if re.fullmatch(r"[\w.-]+:\d{1,5}/?", url) else "http://127.0.0.1:8000"
            raise ValueError(f"{url!r} is not the URL of a server: write it as {meant}")
        if strange := re.search(r"[^\x21-\x7e]", token or ""):  # http.client would speak of a codec
            raise BadToken(
                f"the token has the character {strange[0]!r} (U+{ord(strange[0]):04X}), which no header can carry: "
                "give it as `csparql-spark token add` has printed it, or none to a server that asks for none"
            )
        self.url, self.patience = url.rstrip("/"), patience
        self._waiting = waiting
        self._token, self._timeout, self._parts, self._host = token, timeout, parts, host
        self._local = threading.local()

    def ask(
        self,
        method: str,
        path: str,
        body: str | bytes | None = None,
        kind: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Status, headers and body; tries again while that makes sense. Raises `ProblemError` and `Unreachable`.

        Every request of this client may be sent twice: it says what shall be, or carries a key.
        """
        content = body.encode() if isinstance(body, str) else body
        sent = {
            "Accept": "application/json",
            **self.authorized(),
            **({"Content-Type": kind} if kind else {}),
            **(headers or {}),
        }
        with self.outage() as outage:
            outage.begin(self.patience)
            return self._asked(method, path, content, sent, outage)

    def _asked(
        self, method: str, path: str, content: bytes | None, sent: dict[str, str], outage: Outage
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        deadline, growing = time.monotonic() + self.patience, pauses()
        again = False
        while True:
            wait = None
            try:
                status, headers, answer = self._once(method, path, content, sent)
                gone = status == 404 and method == "DELETE" and again  # by the attempt whose answer got lost
                if status < 400 or gone:
                    return status, headers, b"" if gone else answer
                failure: Exception = problem_of(self.url, status, answer)
                cause = failure
                if status not in TEMPORARY:
                    raise failure
                wait = headers.get("Retry-After")
            except (OSError, http.client.HTTPException) as error:
                failure, cause = self.unreachable(error), error
                failure.__cause__ = error
            outage.failed(cause)
            pause = min(float(wait), LONGEST_PAUSE) if wait and wait.isdigit() else next(growing)
            if time.monotonic() + pause > deadline:
                raise failure
            time.sleep(pause)
            again = True

    def _once(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = getattr(self._local, "connection", None) or self.connection(self._timeout)
        self._local.connection = connection
        try:
            connection.request(method, self.path(path), body, headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        except BaseException:
            connection.close()
            raise

    def outage(self) -> Outage:
        """What is told while the server does not answer."""
        return Outage(self.url, self._waiting)

    def unreachable(self, error: Exception) -> Unreachable:
        return Unreachable(f"{self.url} cannot be reached: {reason(error)}")

    def close(self) -> None:
        """Close the connection of this thread."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def connection(self, timeout: float) -> http.client.HTTPConnection:
        """A new connection, which belongs to who asks for it."""
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        return kind(self._host, self._parts.port, timeout=timeout)

    def path(self, path: str) -> str:
        return self._parts.path.rstrip("/") + path

    def authorized(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}


def segment(name: str) -> str:
    return quote(name, safe="")


def pauses() -> Iterator[float]:
    """Growing, and not the same for all who wait."""
    pause = FIRST_PAUSE
    while True:
        yield pause * _dice.uniform(0.5, 1.0)
        pause = min(2 * pause, LONGEST_PAUSE)


def problem_of(url: str, status: int, body: bytes) -> ProblemError:
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    return ProblemError(status, problem) if isinstance(problem, dict) else stranger(url, status)


def stranger(url: str, status: int) -> ProblemError:
    """What answers is something else than a server of ours."""
    return ProblemError(
        status,
        {
            "code": "stranger",
            "detail": f"{url} answered {status}, and not as a server of csparql-spark does: is that its URL?",
        },
    )
