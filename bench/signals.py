"""Signals: a program that is asked to end ends as by ctrl-c, and tidies up what it has started.

For example:

    if __name__ == "__main__":
        heeded()
        sys.exit(main())
"""

from __future__ import annotations

import signal
import sys


def heeded() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background would ignore
