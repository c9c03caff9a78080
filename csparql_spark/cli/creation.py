"""Creation: `push --create`, which makes the stream when there is something to push, and takes it back if nothing was.

The stream is made after what comes first has been read. If the server refuses that all the same, the stream goes
again: only if this command made it, and nobody has pushed into it or reads it. One that was there before stays.

    creation = Creation(client, "doors", "event", "2s")
    creation.make()                 # once, however often it is asked for
    creation.undo()
"""

from __future__ import annotations

import contextlib

from csparql_spark.client import Client, ProblemError, Unreachable


class Creation:
    def __init__(self, client: Client, stream: str, clock: str, delay: str) -> None:
        self._client, self._stream, self._settings = client, stream, (clock, delay)
        self._made: dict[str, object] | None = None  # a stream that is ours, as the server says: only compared
        self.pending = True

    def make(self) -> None:
        if self.pending:
            stream, new = self._client.make_stream(self._stream, *self._settings)
            self.pending, self._made = False, stream if new else None

    def undo(self) -> None:
        if self._made is None:
            return
        # What fails here says that it is gone already, is read, or is not ours to take.
        with contextlib.suppress(ProblemError, Unreachable):
            now = self._client.stream(self._stream)
            untouched = not now["queries"] and now["newest"] is None
            if untouched and all(now[key] == value for key, value in self._made.items()):
                self._client.delete_stream(self._stream)
