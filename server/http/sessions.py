"""Sessions: a browser that has told a token once is known by a cookie, until it logs out or some time has passed.

    data/sessions.json      {"<sha256 of the id>": {"token": "<sha256 of the token>", "until": 1700000043200}}, 0600

A browser's EventSource cannot send a token, and a page that keeps one can lose it; a cookie that no script can read
does neither harm. Ids are 256 random bits, kept as their hashes; sessions outlive restarts of the server, and end with
their token.

    sessions = Sessions(directory.path, tokens, seconds=43_200)
    cookie = sessions.begin(token)
    sessions.find(cookie)           # the token, or None
    sessions.end(cookie)
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from csparql_spark.store.tokens import AccessToken, Tokens, hashed, write_secretly

MOST = 1000


class Sessions:
    def __init__(
        self, directory: Path, tokens: Tokens, *, seconds: float, now: Callable[[], float] = time.time
    ) -> None:
        self.seconds = seconds
        self._path, self._tokens, self._now = directory / "sessions.json", tokens, now
        self._lock = threading.Lock()
        self._open = self._read()  # hash of the id → (hash of the token, until), oldest first

    def begin(self, token: AccessToken) -> str:
        """A new session; what the cookie holds."""
        cookie = secrets.token_urlsafe(32)
        with self._lock:
            living = {key: one for key, one in self._open.items() if one[1] > self._now()}
            while len(living) >= MOST:
                del living[next(iter(living))]
            living[hashed(cookie)] = (token.sha256, self._now() + self.seconds)
            self._open = living
            self._write()
        return cookie

    def find(self, cookie: str) -> AccessToken | None:
        """The token of a session that is there and has not passed."""
        found = self._open.get(hashed(cookie))
        if found is None or found[1] <= self._now():
            return None
        return next((token for token in self._tokens.all() if token.sha256 == found[0]), None)

    def end(self, cookie: str) -> None:
        with self._lock:
            if self._open.pop(hashed(cookie), None) is not None:
                self._write()

    def _write(self) -> None:
        document = {key: {"token": token, "until": until} for key, (token, until) in self._open.items()}
        try:
            write_secretly(self._path, json.dumps(document))
        except OSError as error:
            # They hold as long as this process: a full disk should not keep out who comes to look at it.
            print(
                f"csparql-spark: the sessions {self._path} cannot be written ({error}): they end with the web process",
                file=sys.stderr,
            )

    def _read(self) -> dict[str, tuple[str, float]]:
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
            return {key: (str(one["token"]), float(one["until"])) for key, one in document.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            # All that is lost is that people must log in again.
            print(f"csparql-spark: the sessions {self._path} cannot be read ({error}): all have ended", file=sys.stderr)
            return {}
