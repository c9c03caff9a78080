"""A data directory: everything a server must not lose, in one place.

    data/store.db        the database (log, answers, positions)
    data/engine/         what Spark keeps: checkpoint and state
    data/*.bell          named pipes, hints only
    data/server.lock     held by the running server

A directory belongs to one server at a time: `lock()` fails with a sentence when another one holds it. The lock is the
kernel's (`flock`), so it is gone when its holder is, however it ended.

    directory = DataDirectory("data").create()
    with directory.lock():
        ...
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


class StoreError(Exception):
    """The store cannot be used; the text says why and what to do."""


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

    def bell(self, name: str) -> Path:
        return self.path / f"{name}.bell"

    def create(self) -> DataDirectory:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.engine.mkdir(exist_ok=True)
            probe = self.path / ".writable"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise StoreError(f"the data directory {self.path} cannot be written ({error.strerror}): "
                             "choose another one with --data") from error
        return self

    @contextlib.contextmanager
    def lock(self) -> Iterator[int]:
        """Hold the directory. Yields the lock's descriptor: processes that inherit it hold the directory too."""
        descriptor = os.open(self.path / "server.lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(descriptor, 32).decode("ascii", "replace").strip()
                raise StoreError(f"the data directory {self.path} is in use by another server"
                                 f"{f' (process {holder})' if holder else ''}: "
                                 "stop that one, or choose another directory with --data") from None
            os.ftruncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
            yield descriptor
        finally:
            os.close(descriptor)
