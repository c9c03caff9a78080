"""A bell: a hint from one process to another that something new is in the store.

Ringing never blocks and may be lost; the listener looks at the store at least every `timeout` anyway. A bell is a named
pipe, so a ring wakes the listener at once and an idle listener costs nothing. Rings before a `wait` are not missed, and
many rings are one.

    Bell(directory.bell("log")).ring()                      # the writer, after a commit
    bell = Bell(directory.bell("log")); bell.wait(0.5)      # the reader, then looks
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
from pathlib import Path


class Bell:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._listening: int | None = None

    def ring(self) -> None:
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno in (errno.ENXIO, errno.ENOENT, errno.EMFILE, errno.ENFILE):
                return  # nobody listens, or there is no descriptor left to ring with
            raise
        try:
            os.write(descriptor, b"!")
        except (BlockingIOError, BrokenPipeError):
            return  # it rings already, or the listener has just gone
        finally:
            os.close(descriptor)

    def wait(self, timeout: float) -> bool:
        """Sleep until rung, at most `timeout` seconds; true if it rang."""
        if self._listening is None:
            if not self.path.exists():
                with contextlib.suppress(FileExistsError):  # another listener was quicker
                    os.mkfifo(self.path, 0o600)
            # Opened for both directions, so that the pipe never reports end-of-file when a ringer closes it.
            self._listening = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        looking = select.poll()  # select() takes no descriptor above 1023, and a web process has more than that
        looking.register(self._listening, select.POLLIN)
        if not looking.poll(1000 * timeout):
            return False
        try:
            os.read(self._listening, 65536)
        except BlockingIOError:
            return False  # another listener of the same bell took it
        return True

    def close(self) -> None:
        if self._listening is not None:
            os.close(self._listening)
            self._listening = None
