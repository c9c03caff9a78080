"""Outgoing calls: one POST to a URL that somebody gave, and the rules of which URLs may be called at all.

    allowed = Allowed(("https://hooks.example.org/csparql/", "10.0.0.7:8080", "*.example.net"))
    allowed.refusal("https://elsewhere.org/")              # a sentence; None if it may be called
    send("https://hooks.example.org/csparql/a", body, headers, public=allowed.needs_public(url))    # raises Undelivered

An entry is a URL that others begin with, a host (with a port or without), `*.domain` for the hosts below it, or `*`.
What a star allows is called at public addresses only; a host that is named may be anywhere. Addresses are looked up
once and checked before they are dialled. Redirects are not followed, an answer is hardly read, and a call ends in time.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import ipaddress
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

LONGEST_URL = 2000
WAIT_SECONDS = 10.0  # for a connection, and for each piece of an answer
CALL_SECONDS = 30.0  # for all of it
READ_BYTES = 1024
PORTS = {"http": 80, "https": 443}
_URL = re.compile(r"[!-\[\]-~]+")  # and no backslash, which some servers take for a slash
_HOST = re.compile(r"(?:\*\.)?[A-Za-z0-9._-]+(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?")


class Undelivered(Exception):
    """It was not taken; the text says why. `gone`: and never will be."""

    def __init__(self, reason: str, *, gone: bool = False) -> None:
        super().__init__(reason)
        self.gone = gone


class BadUrl(ValueError):
    """Text that is no URL to call; the text says why, and what to write."""


class Target(NamedTuple):
    scheme: str
    host: str
    port: int
    path: str  # with the query


def target_of(url: str) -> Target:
    """Whom a URL names. Raises `BadUrl`."""
    if len(url) > LONGEST_URL or not _URL.fullmatch(url):
        raise BadUrl(f"a callback is a URL of at most {LONGEST_URL} characters of ASCII, without blanks")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadUrl(f"{url[:200]!r} is no URL: {error}") from None
    if parts.scheme not in PORTS or not parts.hostname:
        raise BadUrl(f"{url[:200]!r} is no callback: write one like https://hooks.example.org/answers")
    if parts.username is not None or parts.password is not None:
        raise BadUrl("a callback has no user and password in it: sign deliveries with a secret instead")
    if parts.fragment or url.endswith("#"):
        raise BadUrl("a callback has no #fragment: leave it out")
    if any(step in (".", "..") for step in unquote(parts.path).split("/")):
        raise BadUrl("a callback's path has no . or .. steps: write the path that they lead to")
    return Target(parts.scheme, parts.hostname.rstrip("."), PORTS[parts.scheme] if port is None else port, _path(parts))


def _path(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


class Allowed:
    """Which URLs may be called. Raises `BadUrl` for an entry that can allow nothing."""

    def __init__(self, entries: Sequence[str]) -> None:
        self.entries = tuple(entries)
        for entry in entries:
            if "://" in entry:
                target_of(entry)
            elif entry != "*" and not _HOST.fullmatch(entry):
                raise BadUrl(
                    f"{entry!r} names no place that answers may be sent to: write a URL that callbacks begin "
                    "with, a host, *.domain, or *"
                )

    def refusal(self, url: str) -> str | None:
        """Why a URL may not be called. Raises `BadUrl` if it is none."""
        target = target_of(url)
        if any(_covers(entry, target) for entry in self.entries):
            return None
        if not self.entries:
            return (
                "this server sends answers nowhere: whoever runs it can name the places with the setting webhooks "
                "(serve --webhooks https://hooks.example.org/)"
            )
        return f"{url[:200]} is none of the places that this server sends answers to (the setting webhooks names them)"

    def needs_public(self, url: str) -> bool:
        """Whether only stars allow it."""
        target = target_of(url)
        return not any(_covers(entry, target) for entry in self.entries if not entry.startswith("*"))


def _covers(entry: str, target: Target) -> bool:
    if entry == "*":
        return True
    if "://" in entry:
        named = target_of(entry)
        prefix = named.path.rstrip("/")
        within = target.path == prefix or target.path.startswith((f"{prefix}/", f"{prefix}?"))
        return named[:3] == target[:3] and within
    parts = urlsplit(f"//{entry.lower()}")
    host = (parts.hostname or "").rstrip(".")
    if parts.port is not None and parts.port != target.port:
        return False
    return target.host.endswith(host[1:]) if host.startswith("*.") else target.host == host


def send(url: str, body: bytes, headers: Mapping[str, str], *, public: bool) -> None:
    """POST it. Raises `Undelivered` unless the answer is 2xx. `public`: at a public address only."""
    target = target_of(url)
    try:
        connection = (
            http.client.HTTPConnection(target.host, target.port, timeout=WAIT_SECONDS)
            if target.scheme == "http"
            else http.client.HTTPSConnection(target.host, target.port, timeout=WAIT_SECONDS, context=_tls())
        )
        with contextlib.closing(connection):
            sock = _dialled(target, public)
            connection.sock = sock if target.scheme == "http" else _tls().wrap_socket(sock, server_hostname=target.host)
            with _watched(connection.sock):
                connection.request("POST", target.path, body, dict(headers))
                response = connection.getresponse()
                response.read(READ_BYTES)
                status = response.status
    except (OSError, http.client.HTTPException) as error:
        raise Undelivered(f"{type(error).__name__}: {error}"[:300]) from error
    if not 200 <= status < 300:
        why = ": redirects are not followed" if 300 <= status < 400 else ""
        raise Undelivered(f"HTTP {status}{why}", gone=status == 410)


def _dialled(target: Target, public: bool) -> socket.socket:
    found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    if public and not all(is_public(str(address[0])) for *_, address in found):
        raise Undelivered(f"{target.host} is not at a public address: name it in the setting webhooks if it is meant")
    failure: OSError | None = None
    for family, kind, protocol, _, address in found:
        sock = socket.socket(family, kind, protocol)
        sock.settimeout(WAIT_SECONDS)
        try:
            sock.connect(address)
            return sock
        except OSError as error:
            sock.close()
            failure = error
    raise failure or OSError(f"{target.host} has no address")


@contextlib.contextmanager
def _watched(sock: socket.socket) -> Iterator[None]:
    """However slowly the other side speaks, it is not listened to for ever."""

    def hang_up() -> None:
        with contextlib.suppress(OSError):  # it has ended by itself
            sock.shutdown(socket.SHUT_RDWR)

    watch = threading.Timer(CALL_SECONDS, hang_up)
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def is_public(text: str) -> bool:
    """Whether an address is one of the open Internet, also when it is wrapped into an IPv6 one."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is not None:
            return is_public(str(inner))
        if address in ipaddress.ip_network("64:ff9b::/96"):
            return is_public(str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)))
    return address.is_global and not address.is_multicast


@functools.cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
