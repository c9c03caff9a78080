"""What all tests share: property tests try new examples at each run by hand, and always the same ones in continuous
integration. Who starts the tests from the background of a script has them ignore SIGINT, and so would every process that
they start: they do not, since some are ended by it."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

settings.register_profile("ci", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
