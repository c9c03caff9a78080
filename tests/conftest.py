"""What all tests share: property tests try new examples at each run by hand, and always the same ones in continuous
integration. Nothing hangs on the shell from which they were started."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

settings.register_profile("ci", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

# What tests start inherits this: the jobs of a script in the background ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Tests say themselves what is set.
for _name in [name for name in os.environ if name.startswith("CSPARQL_")]:
    del os.environ[_name]
