"""What all tests share: property tests try new examples at each run by hand, and always the same ones in continuous
integration. Nothing hangs on the shell from which they were started.

Tests that need a JVM, a browser, a broker or servers of their own are marked `machine`: `make check` leaves them out, and
where tests run side by side they run one after the other."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

# What tests start inherits this: the jobs of a script in the background ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Tests say themselves what is set.
for _name in [name for name in os.environ if name.startswith("CSPARQL_")]:
    del os.environ[_name]

MACHINE = ("spark", "recovery", "web", "programs", "documents", "cli/test_serve.py", "cli/test_run.py",
           "cli/test_processes.py", "server/test_process.py", "server/test_mqtt.py", "server/test_openapi.py",
           "server/test_client_restart.py", "test_lifeline.py", "store/test_kill.py")
TESTS = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)        # the groups are read by a plugin
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.relative_to(TESTS).as_posix().startswith(MACHINE):
            item.add_marker(pytest.mark.machine)
            item.add_marker(pytest.mark.xdist_group("machine"))
