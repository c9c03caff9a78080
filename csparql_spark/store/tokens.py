"""Tokens: who may do what with a server. A token is told once, and kept only as its hash.

    data/tokens.json     {"tokens": [{"name": "lab", "scopes": ["push"], "sha256": "…", "created": 1700000000000}]}

A token is 256 random bits, so that its SHA-256 tells nothing of it and cannot be found by trying; only the owner of the
file reads it all the same. Scopes: `read`, `push`, `register` (with `read`: whoever makes a query sees what it says)
and `admin` (all). The file may change while a server runs, and counts from the next request on; one that is damaged
changes nothing, so that nobody gets in by damaging it.

    tokens = Tokens(directory.path)
    secret = tokens.add("lab", ["push"])        # 'csp_…', never to be had again
    tokens.find(secret).scopes                  # frozenset({'push'})
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import ipaddress
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from csparql_spark.disk.errors import StoreError

SCOPES = ("read", "push", "register", "admin")
_INCLUDED = {"register": ("read",), "admin": SCOPES}
_MARK = "csp_"  # so that whoever finds one, in a log or in a commit, knows what it is
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_HASH = re.compile(r"[0-9a-f]{64}")
_MOST = 1000


@dataclass(frozen=True)
class AccessToken:
    name: str
    granted: tuple[str, ...]
    sha256: str
    created: int | None = None  # None: it is one of the settings

    @property
    def scopes(self) -> frozenset[str]:
        """What was granted, and what that includes."""
        return frozenset(self.granted).union(*(_INCLUDED.get(scope, ()) for scope in self.granted))

    @property
    def as_setting(self) -> str:
        return f"{self.name}:{'+'.join(self.granted)}:{self.sha256}"


class Tokens:
    def __init__(self, directory: Path, settings: Iterable[str] = ()) -> None:
        """Raises `StoreError` if the file, or a setting, cannot be read."""
        self.path = directory / "tokens.json"
        self._fixed = tuple(_of_setting(text) for text in settings)
        self._lock = threading.Lock()
        self._stamp = self._look()
        self._of_file = self._read()

    def all(self) -> tuple[AccessToken, ...]:
        """Those of the settings, and those of the file as it is now."""
        with self._lock:
            stamp = self._look()
            if stamp != self._stamp:
                # What is damaged counts as unchanged: `Tokens` made anew says what is wrong.
                with contextlib.suppress(StoreError):
                    self._of_file = self._read()
                self._stamp = stamp
            return self._fixed + self._of_file

    def find(self, secret: str) -> AccessToken | None:
        """The token that somebody tells, in a time that says nothing of those that there are."""
        digest = hashed(secret)
        found = None
        for token in self.all():
            if hmac.compare_digest(token.sha256, digest):
                found = token
        return found

    def add(self, name: str, scopes: Iterable[str]) -> str:
        """Make one; what it is. Raises `StoreError`."""
        secret, token = made(name, scopes)
        with self._changing() as tokens:
            if name in {other.name for other in (*tokens, *self._fixed)}:
                raise StoreError(f"there is a token {name!r} already: remove it first, or choose another name")
            if len(tokens) >= _MOST:
                raise StoreError(f"there are {_MOST} tokens already: remove some")
            tokens.append(token)
        return secret

    def remove(self, name: str) -> None:
        with self._changing() as tokens:
            gone = [token for token in tokens if token.name == name]
            if not gone:
                known = ", ".join(token.name for token in tokens) or "there are none"
                raise StoreError(f"there is no token {name!r} in {self.path} ({known})")
            tokens.remove(gone[0])

    @contextlib.contextmanager
    def _changing(self) -> Iterator[list[AccessToken]]:
        """The tokens of the file, to be changed, and written when that is done."""
        with self._lock, contextlib.ExitStack() as opened:
            try:
                lock = opened.enter_context(open(self.path.with_suffix(".lock"), "w"))
            except OSError as error:
                raise StoreError(
                    f"the data directory {self.path.parent} cannot be written ({error.strerror}): "
                    "choose another one with --data"
                ) from error
            fcntl.flock(lock, fcntl.LOCK_EX)
            tokens = list(self._read())
            yield tokens
            records = [
                {"name": token.name, "scopes": list(token.granted), "sha256": token.sha256, "created": token.created}
                for token in tokens
            ]
            write_secretly(self.path, json.dumps({"tokens": records}, indent=1) + "\n")
            self._stamp, self._of_file = self._look(), tuple(tokens)

    def _look(self) -> tuple[int, ...]:
        try:
            now = self.path.stat()
        except FileNotFoundError:
            return ()
        return now.st_mtime_ns, now.st_size, now.st_ino

    def _read(self) -> tuple[AccessToken, ...]:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return ()
        except (OSError, ValueError) as error:
            raise StoreError(
                f"the tokens {self.path} cannot be read ({error}): make the file as it was, or delete "
                "it and make new tokens with `csparql-spark token add`"
            ) from error
        try:
            return tuple(
                _checked(AccessToken(one["name"], tuple(one["scopes"]), one["sha256"], int(one["created"])))
                for one in content["tokens"]
            )
        except (TypeError, KeyError, ValueError, StoreError) as error:
            raise StoreError(
                f"the tokens {self.path} are damaged ({error!r}): make the file as it was, or delete it "
                "and make new tokens with `csparql-spark token add`"
            ) from error


def made(name: str, scopes: Iterable[str]) -> tuple[str, AccessToken]:
    """A new token, and what is kept of it."""
    secret = _MARK + secrets.token_urlsafe(32)
    return secret, _checked(AccessToken(name, tuple(dict.fromkeys(scopes)), hashed(secret), int(time.time() * 1000)))


def hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def write_secretly(path: Path, text: str) -> None:
    """The whole file or nothing of it, for its owner's eyes."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def refuse_open_doors(address: str, tokens: Tokens) -> None:
    """A server without tokens lets everybody in: that is right only where nobody else comes. Raises `StoreError`."""
    if not is_loopback(address) and not tokens.all():
        raise StoreError(
            f"a server that listens on {address} can be reached by others, and needs tokens: make one "
            f"with `csparql-spark token add NAME --scope admin --data {tokens.path.parent}`, or listen on "
            "127.0.0.1"
        )


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return address.lower().rstrip(".") == "localhost"


def _of_setting(text: str) -> AccessToken:
    name, _, rest = text.partition(":")
    scopes, _, digest = rest.partition(":")
    try:
        return _checked(AccessToken(name, tuple(scopes.split("+")), digest))
    except StoreError as error:
        # The text may be a token, pasted where its hash belongs: it is not repeated.
        raise StoreError(
            f"a token of the settings cannot be read ({error}): it is NAME:SCOPE+SCOPE:HASH, as "
            "`csparql-spark token add NAME --scope read --as-setting` prints it"
        ) from error


def _checked(token: AccessToken) -> AccessToken:
    if not isinstance(token.name, str) or not _NAME.fullmatch(token.name):
        raise StoreError("the name of a token is 1 to 64 letters, digits and _ . -")
    if not token.granted:
        raise StoreError(f"a token needs scopes: choose of {', '.join(SCOPES)}")
    for scope in token.granted:
        if scope not in SCOPES:
            raise StoreError(
                f"there is no scope {scope!r}: choose of {', '.join(SCOPES)}"
                if isinstance(scope, str) and len(scope) < 20
                else "a scope is not one"
            )
    if not isinstance(token.sha256, str) or not _HASH.fullmatch(token.sha256):
        raise StoreError("what is kept of a token is 64 hexadecimal digits")
    return token
