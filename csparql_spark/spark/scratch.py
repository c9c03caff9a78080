"""Scratch: what an engine has on disk while it runs, and nobody needs afterwards.

    DATA/engine/scratch      Spark's blocks, the working copy of its state, and what the JVM unpacks
    DATA/engine/sockets      where the JVM and its Python workers meet
    DATA/engine/line         the lifeline of all that the engine starts
    DATA/engine/python       how its Python workers are started

All of it is its owner's alone. An engine that is killed leaves it there, and the next one begins with none of it, so
that it never grows.

    scratch = Scratch(directory).anew()
    scratch.sockets          # DATA/engine/sockets, or what is short enough
    scratch.clear()

The path of a socket has room for 107 bytes. Where the data directory is too deep for that, `sockets` is a link to a
directory of our own in a temporary one that is not too deep. Its name says whose it is: a data directory that was
copied has the link, too, and must leave alone what belongs to the server of the other one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from csparql_spark.disk import DataDirectory, StoreError

PREFIX = "csparql-spark-"
# A path of 107 bytes, without the slash and a name such as `.0098467d-b4a5-416d-a9fc-606dc2b7cc48.sock`.
LONGEST = 107 - 1 - 42
MADE = 8  # letters that a temporary directory's name ends with


class Scratch:
    def __init__(self, directory: DataDirectory) -> None:
        self.local = directory.engine / "scratch"
        self.line = directory.engine / "line"
        self.python = directory.engine / "python"
        self._sockets = directory.engine / "sockets"

    @property
    def sockets(self) -> Path:
        """Where they are. A link says where, also to whom comes later."""
        return Path(os.readlink(self._sockets)) if self._sockets.is_symlink() else self._sockets

    def anew(self) -> Scratch:
        """Make it, empty."""
        self.clear()
        self.local.parent.mkdir(0o700, exist_ok=True)  # somebody may have deleted it
        self.local.mkdir(0o700)
        if len(os.fsencode(self._sockets)) <= LONGEST:
            self._sockets.mkdir(0o700)
        else:
            self._sockets.symlink_to(tempfile.mkdtemp(prefix=self._prefix, dir=self._short()))
        return self

    def _short(self) -> Path:
        """A temporary directory in which that of the sockets may be."""
        found = next(
            (place for place in _temporary() if len(os.fsencode(place / self._prefix)) + MADE <= LONGEST), None
        )
        if found is None:
            raise StoreError(
                f"the path of {self._sockets} is too long for sockets, and those of temporary directories "
                "are, too: choose another directory with --data, or set TMPDIR to one with a short path"
            )
        return found

    def clear(self) -> None:
        """Leave nothing of it, wherever it is."""
        # The link may have been deleted.
        elsewhere = {path for place in _temporary() for path in place.glob(f"{self._prefix}*")}
        if self._sockets.is_symlink():
            elsewhere.add(self.sockets)
            self._sockets.unlink()
        for path in filter(self._is_ours, elsewhere):
            shutil.rmtree(path)
        for path in (self._sockets, self.local):
            if path.exists():
                shutil.rmtree(path)
        for path in (self.line, self.python):
            path.unlink(missing_ok=True)

    @property
    def _prefix(self) -> str:
        """How the names of directories begin that were made elsewhere for this one. A copy has another place on the
        disk, and so has what stands under the same path in another container."""
        place = self._sockets.parent.parent.stat()
        named = f"{place.st_dev} {place.st_ino} ".encode() + os.fsencode(self._sockets)
        return f"{PREFIX}{hashlib.blake2b(named, digest_size=8).hexdigest()}-"

    def _is_ours(self, path: Path) -> bool:
        return (
            path.name.startswith(self._prefix)
            and path.is_dir()
            and not path.is_symlink()
            and path.lstat().st_uid == os.geteuid()
        )


def _temporary() -> list[Path]:
    """The directories for what is temporary, that of the environment first."""
    places = dict.fromkeys(Path(place) for place in (tempfile.gettempdir(), "/tmp", "/var/tmp"))
    return [place for place in places if os.access(place, os.W_OK | os.X_OK)]
