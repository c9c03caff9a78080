"""How Python workers begin: as what Spark wants, and tied to the engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from csparql_spark import lifeline
from csparql_spark.lifeline import Lifeline

MODULE = """
import os, sys
if __name__ == "__main__":
    sys.stdout.write(repr((sys.argv[1:], os.getpgrp() == os.getpid())) + chr(10))
    sys.stdout.flush()
    if os.fork() == 0:
        import re
        re.match("(a+)+$", "a" * 80 + "b")        # hangs, and lets no other thread run
    os.wait()
"""


def test_a_worker_is_what_spark_wants_and_ends_with_the_engine(tmp_path: Path) -> None:
    (tmp_path / "daemonic.py").write_text(MODULE)
    line = Lifeline(tmp_path / "line")
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "csparql_spark.spark.worker",
            str(tmp_path / "line"),
            "-m",
            "daemonic",
            "pyspark.worker",
        ],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    ) as worker:
        try:
            assert worker.stdout.readline() == b"(['pyspark.worker'], True)\n"
            line.cut()
            if lifeline.F_SETSIG is None:
                pytest.skip("only Linux's kernel ends what hangs")
            assert worker.stdout.read() == b"" and worker.wait() == -signal.SIGKILL
        finally:
            worker.kill()
    os.close(line.reading)


def test_what_spark_asks_of_its_python_is_answered(tmp_path: Path) -> None:
    """Before it starts workers, it asks for the version."""
    line = Lifeline(tmp_path / "line")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "csparql_spark.spark.worker",
            str(tmp_path / "line"),
            "-c",
            "import sys; print(sys.argv, sys.version_info[:2] == (3, 0))",
            "more",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "['-c', 'more'] False\n", "")
    line.cut()
    os.close(line.reading)


def test_a_worker_without_an_engine_does_not_begin(tmp_path: Path) -> None:
    line = Lifeline(tmp_path / "line")
    line.cut()
    done = subprocess.run(
        [sys.executable, "-m", "csparql_spark.spark.worker", str(tmp_path / "line"), "-m", "this"],
        stdout=subprocess.PIPE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")
    os.close(line.reading)
