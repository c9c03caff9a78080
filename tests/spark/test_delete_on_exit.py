from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from py4j.protocol import Py4JJavaError

from csparql_spark.spark.delete_on_exit import Closed, DeleteOnExit

# A JVM as Spark starts it, without a context. What it is asked to delete: a file, and a thousand that are gone already.
PROGRAM = """
import sys
from pyspark import SparkContext
from csparql_spark.spark.delete_on_exit import DeleteOnExit

SparkContext._ensure_initialized()
jvm, there = SparkContext._jvm, sys.argv[1]
for name in [there, *(f"{there}-{number}" for number in range(1000))]:
    jvm.java.io.File(name).deleteOnExit()
exits = DeleteOnExit(jvm)
print(exits.forget(), exits.forget())
SparkContext._gateway.shutdown()
SparkContext._gateway.proc.stdin.close()
SparkContext._gateway.proc.wait()
"""


def test_what_is_gone_is_forgotten_and_what_is_there_is_deleted_at_the_end(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.touch()
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(there)], capture_output=True, text=True, timeout=120)
    forgotten, again = done.stdout.split() or [done.stderr, ""]
    assert int(forgotten) >= 1000 and again == "0"
    assert not there.exists()


def test_a_jvm_that_does_not_tell_is_named() -> None:
    jvm = mock.MagicMock()
    loaded = jvm.org.codehaus.janino.SimpleCompiler().getClassLoader().loadClass().newInstance()
    error = Py4JJavaError("An error occurred", mock.MagicMock(_target_id="o1"))
    error.java_exception = "java.lang.reflect.InaccessibleObjectException: java.io is not open"
    loaded.forget.side_effect = error
    with pytest.raises(Closed, match="InaccessibleObjectException: java.io is not open"):
        DeleteOnExit(jvm).forget()
