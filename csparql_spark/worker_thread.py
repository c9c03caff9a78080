"""A worker thread: it sleeps until somebody wakes it or a time has come, works, and sleeps again.

    asleep ──wake(), or pause() is over──▶ work(woken) ──▶ asleep
                                             │ raises one of the errors that pass
                                             └─▶ says so once, waits, and works again as if it were woken

Whoever has news writes it down first and wakes the worker then: wakes are hints, and many are one. What is written down
before a wake is seen by the work that follows it.

Invariants: work is never done twice at once; what keeps failing in the same way is said once, and again only after it
has worked; after `stop` has returned no work is done, and none of its waits outlasts it.

    worker = WorkerThread("relay", look, Trouble((StoreError,), "derived streams wait, the store fails"))
    worker.start(); worker.wake(); worker.stop()
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Trouble:
    """Errors that pass: which they are, what is said of them, and after how many seconds the work is tried again."""

    errors: tuple[type[Exception], ...]
    sentence: str
    seconds: float = 1.0


class WorkerThread:
    def __init__(
        self,
        name: str,
        work: Callable[[bool], None],
        trouble: Trouble,
        *,
        pause: Callable[[], float | None] = lambda: None,
    ) -> None:
        """`work` is told whether it was woken, or only the time has come; `pause` says in how many seconds that will
        be, None: not before somebody wakes it."""
        self._work, self._trouble, self._pause = work, trouble, pause
        self._change = threading.Condition()
        self._woken = False
        self._reported: str | None = None
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        with self._change:
            self._woken = True
            self._change.notify()

    def stop(self) -> None:
        """End it, when the work that it is at is done."""
        self.stopped.set()
        with self._change:
            self._change.notify()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._change:
                if not self._woken and not self.stopped.is_set():
                    self._change.wait(self._pause())
                if self.stopped.is_set():
                    return
                woken, self._woken = self._woken, False
            try:
                self._work(woken)
                self._reported = None
            except self._trouble.errors as error:
                self._report(f"csparql-spark: {self._trouble.sentence}: {error}")
                self.stopped.wait(self._trouble.seconds)
                self._woken = True

    def _report(self, sentence: str) -> None:
        if sentence != self._reported:
            print(sentence, file=sys.stderr, flush=True)
        self._reported = sentence
