"""A data directory: everything a server must not lose, in one place.

    data/store.db        the database (log, answers, and how far who has come)
    data/engine/         what Spark keeps: checkpoint and state
    data/*.bell          named pipes, hints only
    data/server.lock     held by the running server

What is in it is for the eyes of the user who runs the server: directories are made 0700 and files 0600, and one that
was made with wider modes is narrowed when a server starts.

A directory belongs to one server at a time: `lock()` fails with a sentence when another one holds it. The lock is the
kernel's (`flock`), so it is gone when its holder is, however it ended.

    directory = DataDirectory("data").create()
    with private(), directory.lock():
        directory.narrow()
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from csparql_spark.disk.errors import StoreError

PRIVATE = 0o077  # as a umask: what others may not do
# All that a server makes there. `lost+found` is there where a file system begins.
OURS = re.compile(
    r"store\.db(-wal|-shm|-journal)?|engine|.*\.bell|server\.lock"
    r"|(settings|tokens|sessions)\.(json|new|lock)|\.writable|lost\+found"
)


class DataDirectory:
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()

    @property
    def database(self) -> Path:
        return self.path / "store.db"

    @property
    def engine(self) -> Path:
        return self.path / "engine"

    @property
    def checkpoint(self) -> Path:
        # The name carries the version of what the checkpoint's state means: another meaning is another directory.
        return self.engine / "checkpoint-1"

    @property
    def closed(self) -> Path:
        """Backgrounds that were closed beside the groups that ask for them; nobody needs them when the engine ends."""
        return self.engine / "closed"

    def bell(self, name: str) -> Path:
        return self.path / f"{name}.bell"

    def create(self) -> DataDirectory:
        try:
            for made in (self.path, self.engine):
                made.mkdir(0o700, parents=True, exist_ok=True)
            probe = self.path / ".writable"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise StoreError(
                f"the data directory {self.path} cannot be written ({error.strerror}): choose another one with --data"
            ) from error
        return self

    def narrow(self) -> bool:
        """Let nobody else read what is there, if it belongs to us; whether somebody could read a database. To be called
        with the lock held. A directory in which others keep things, too, stays as it is, and what is ours in it is
        narrowed."""
        names = os.listdir(self.path)
        ours = [self.path / name for name in names if OURS.fullmatch(name)]
        found = [path for top in ours for path in (top, *(top.rglob("*") if top.is_dir() else ()))]
        if len(ours) == len(names):
            found.append(self.path)
        wide = [path for path in found if _is_wide(path)]
        for path in wide:
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~PRIVATE)
        return bool(wide) and self.database.exists()

    @contextlib.contextmanager
    def usable(self) -> Iterator[None]:
        """What the disk, or who owns what is there, does not let us do meanwhile is a `StoreError`."""
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"{error.filename or self.path} cannot be used ({error.strerror or error}): make room if "
                f"the disk is full, let {self.path} belong to the user who runs the server, with all "
                "that is in it, or choose another directory with --data"
            ) from error

    @contextlib.contextmanager
    def lock(self) -> Iterator[int]:
        """Hold the directory. Yields the lock's descriptor: processes that inherit it hold the directory too."""
        with self.usable():
            descriptor = os.open(self.path / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(descriptor, 32).decode("ascii", "replace").strip()
                raise StoreError(
                    f"the data directory {self.path} is in use by another server"
                    f"{f' (process {holder})' if holder else ''}: "
                    "stop that one, or choose another directory with --data"
                ) from None
            os.ftruncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
            yield descriptor
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def private() -> Iterator[None]:
    """What is made meanwhile, by this process and by those that it starts, is its owner's alone."""
    before = os.umask(PRIVATE)
    try:
        yield
    finally:
        os.umask(before)


def _is_wide(path: Path) -> bool:
    """Whether others may do something with a file or directory of ours."""
    try:
        found = path.lstat()
    except FileNotFoundError:  # somebody has just put a file of tokens in the place of another one
        return False
    return not stat.S_ISLNK(found.st_mode) and found.st_uid == os.geteuid() and bool(found.st_mode & PRIVATE)
