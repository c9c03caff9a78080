from __future__ import annotations

import os
import signal
import subprocess
import sys

HOLDING = """
import subprocess, sys, time
from csparql_spark import lifeline
lifeline.hold(int(sys.argv[1]))
with subprocess.Popen([sys.executable, "-c", sys.argv[2]]):
    time.sleep(30)
    print("the child has survived", flush=True)
"""
GRANDCHILD = "import time; print('begun', flush=True); time.sleep(30); print('the grandchild has survived', flush=True)"


def test_a_process_and_what_it_has_started_end_with_the_other_end() -> None:
    reading, writing = os.pipe()
    with subprocess.Popen([sys.executable, "-c", HOLDING, str(reading), GRANDCHILD], stdout=subprocess.PIPE,
                          pass_fds=(reading,), start_new_session=True) as child:
        os.close(reading)
        try:
            assert child.stdout.readline() == b"begun\n"
            assert child.poll() is None
        finally:
            os.close(writing)
        # The pipe has an end when nobody is left who could write into it.
        assert child.stdout.read() == b""
        assert child.wait() == -signal.SIGKILL


def test_a_child_that_has_ended_by_itself_was_not_killed() -> None:
    reading, writing = os.pipe()
    program = "import sys; from csparql_spark import lifeline; lifeline.hold(int(sys.argv[1])); print('done')"
    try:
        ended = subprocess.run([sys.executable, "-c", program, str(reading)], stdout=subprocess.PIPE,
                               pass_fds=(reading,), start_new_session=True)
    finally:
        os.close(reading)
        os.close(writing)
    assert (ended.returncode, ended.stdout) == (0, b"done\n")
