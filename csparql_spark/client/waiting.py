"""Waiting: what is said of a server that does not answer.

Who waits for longer than a second is told once what for, why, and until when it is tried; who is answered before that
is told nothing.

    with Outage("http://127.0.0.1:8000", print) as outage:
        outage.begin(patience=60)
        …                                       # an attempt
        outage.failed(error)                    # why it has not succeeded, so far
    # waiting for http://127.0.0.1:8000: connection refused; trying again until 14:03:20
"""

from __future__ import annotations

import http.client
import ssl
import threading
import time
from collections.abc import Callable

SILENT_SECONDS = 1.0

Say = Callable[[str], None]


def reason(error: Exception) -> str:
    """Why a server was not reached, as half a sentence: without the numbers of the operating system."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return "what answers there does not speak TLS: is it http://?"
    if isinstance(error, http.client.BadStatusLine) and not isinstance(error, http.client.RemoteDisconnected):
        return f"what answers there does not speak HTTP ({error.args[0].strip()[:50]})"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


class Outage:
    """The time from a request to its answer."""

    def __init__(self, url: str, say: Say | None) -> None:
        self._url, self._say = url, say
        self._reason = "no answer yet"
        self._until: float | None = None
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Outage:
        return self

    def __exit__(self, *exception: object) -> None:
        self.over()

    def begin(self, patience: float | None) -> None:
        """From now on it is waited for, so many seconds (None: for ever); nothing is new to who waits already."""
        if self._say is not None and self._timer is None:
            self._reason, self._until = "no answer yet", None if patience is None else time.time() + patience
            self._timer = threading.Timer(SILENT_SECONDS, self._tell)
            self._timer.name, self._timer.daemon = "waiting", True
            self._timer.start()

    def failed(self, error: Exception) -> None:
        self._reason = reason(error)

    def over(self) -> None:
        """The server has answered, or nobody waits any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self) -> None:
        assert self._say is not None
        again = (
            "trying again"
            if self._until is None
            else f"trying again until {time.strftime('%H:%M:%S', time.localtime(self._until))}"
        )
        self._say(f"waiting for {self._url}: {self._reason.rstrip('.')}; {again}")
