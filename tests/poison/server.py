"""A whole server, watched: the memory of all its processes together, at every quarter of a second; what takes too much of it is
killed before the machine is in need. And how much of the processors other programs leave it, which is what says how late is
late.

    with WatchedServer(data, log) as server:
        server.memory(), server.peak()              # MiB: now, and the most since this was asked
        begun = server.processors
        server.left(begun)                          # 0.6: what others left of the processors since then
        server.killed                               # a sentence, if it had to be
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

from bench.server import Server

LIMITS = ("--time-limit", "2s", "--state-limit", "256MB", "--question-memory", "256MB")
# Without these the log would grow through the list, and what is held for it.
FORGET = ("--keep-log", "1m", "--forget-seconds", "5")
MOST_MEGABYTES = 6 * 1024
EVERY_SECONDS = 0.25
BUSY = 0.9  # of a processor, through the whole of the time that it is looked at
TICKS = os.sysconf("SC_CLK_TCK")


class WatchedServer:
    def __init__(self, data: Path, log: Path) -> None:
        self._data, self._log = data, log.open("a")
        self._over, self._peak = threading.Event(), 0.0
        self.processors = (0, 0)  # ticks: that there were, and that others took
        self.killed = ""
        self.server = self._start("0")
        self.url = f"http://127.0.0.1:{self.server.port}"
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _start(self, port: str) -> Server:
        return Server(*LIMITS, *FORGET, "--port", port, data=str(self._data), log=self._log)

    def __enter__(self) -> WatchedServer:
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()
        self.server.__exit__(*exception)
        self._log.close()

    def again(self) -> None:
        """Stopped, if it is there, and started on the same directory and port."""
        if self.server.process.poll() is None:
            self.server.process.send_signal(signal.SIGTERM)
        self.server.process.wait()
        self.server.process.stdout.close()
        self.server = self._start(str(self.server.port))
        self.killed = ""

    def memory(self) -> float:
        """MiB of all processes together: the pages that they share count once."""
        return sum(map(_pages, self.server.processes())) / 1024

    def peak(self) -> float:
        """The most since this was asked."""
        peak, self._peak = self._peak, 0.0
        return peak

    def left(self, begun: tuple[int, int]) -> float:
        """The share of the processors that was free, or the server's, since then; a tenth at least."""
        capacity, others = (now - before for now, before in zip(self.processors, begun, strict=True))
        return max(0.1, 1 - others / capacity) if capacity else 1.0

    def _watch(self) -> None:
        before, own = _processors(), self._ticks()
        while not self._over.wait(EVERY_SECONDS):
            after, own_after = _processors(), self._ticks()
            used_by_own = sum(ticks - own.get(process, 0) for process, ticks in own_after.items())
            others = max(0, after[1] - before[1] - used_by_own)
            self.processors = self.processors[0] + after[0] - before[0], self.processors[1] + others
            before, own = after, own_after
            used = self.memory()
            self._peak = max(self._peak, used)
            if used > MOST_MEGABYTES:
                self.killed = f"its processes had {used:,.0f} MiB, and were killed"
                for process in self.server.processes():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)

    def busy(self, seconds: float = 0.5) -> list[int]:
        """The processes, but for the JVM, that do nothing else for so long."""
        before, begun = self._ticks("java"), time.monotonic()
        self._over.wait(seconds)
        passed = time.monotonic() - begun
        after = self._ticks("java")
        return [one for one in after if one in before and after[one] - before[one] > BUSY * passed * TICKS]

    def _ticks(self, but: str = "") -> dict[int, int]:
        """The processor time of each process so far."""
        found = {}
        for process, name in self.server.processes().items():
            with contextlib.suppress(OSError, IndexError):
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                if name != but:
                    found[process] = int(fields[11]) + int(fields[12])
        return found


def _processors() -> tuple[int, int]:
    """Ticks of all processors so far: those that there were, and those in which they were not idle."""
    ticks = [int(field) for field in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    idle = ticks[3] + ticks[4]
    return sum(ticks), sum(ticks) - idle


def _pages(process: int) -> int:
    """KiB; 0 for one that has ended meanwhile."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)
