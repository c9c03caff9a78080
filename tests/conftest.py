"""What all tests share: property tests try new examples at each run by hand, and always the same ones in continuous
integration. Nothing hangs on the shell from which they were started.

Tests that need a JVM, a browser, a broker or servers of their own are marked `machine`: `make check` leaves them out. Where
tests run side by side, at most two of them do at once: one that starts Spark, and one that does not."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from tests.examples import examples

# How long an example takes says more about what else the machine does than about what is tested.
settings.register_profile("hand", deadline=None, max_examples=examples(100))
settings.register_profile("ci", deadline=None, max_examples=examples(100), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "hand")

# What tests start inherits this: the jobs of a script in the background ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Tests say themselves what is set, but for what they are run with: all of them run in numpy where that is asked for.
for _name in [name for name in os.environ if name.startswith("CSPARQL_") and name != "CSPARQL_SPARK_KERNEL"]:
    del os.environ[_name]

# What needs the machine, by the group in which it waits for its turn: what starts Spark takes as long as all the rest. The
# groups share no port and no directory.
MACHINE = {
    "spark": (
        "spark",
        "recovery",
        "poison/test_streams.py",
        "documents/test_documents.py",
        "programs/test_programs.py",
        "store/test_kill.py",
    ),
    "servers": (
        "web",
        "cli/test_serve.py",
        "cli/test_run.py",
        "cli/test_processes.py",
        "server/test_process.py",
        "server/test_mqtt.py",
        "server/test_client_restart.py",
        "test_lifeline.py",
        "asking/guarded/test_hanging.py",
        "server/test_repeats.py",
    ),
    # All in one process: beside whatever there is.
    "": ("server/test_openapi.py", "programs", "documents"),
}
TESTS = Path(__file__).parent


def group(path: Path) -> str | None:
    """The group in which the tests of a file wait for the machine; none for those that do not need it."""
    place = path.relative_to(TESTS).as_posix()
    return next((name for name, places in MACHINE.items() if place.startswith(places)), None)


@pytest.hookimpl(tryfirst=True)  # the groups are read by a plugin
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if (name := group(item.path)) is not None:
            item.add_marker(pytest.mark.machine)
            if name:
                item.add_marker(pytest.mark.xdist_group(name))


def pytest_collection_finish() -> None:
    """The tests themselves are some hundred thousand objects that stay: the collector need not look at them again and again,
    nor after every 700 that come."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
