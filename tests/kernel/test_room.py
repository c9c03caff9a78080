"""How much memory is asked for, where a limit counts it: of a process of its own, so that nothing is there already."""

from __future__ import annotations

import subprocess
import sys

import pytest

from csparql_spark.kernel import native

if native.library is None:
    pytest.skip(f"there is nothing that asks for memory: {native.missing}", allow_module_level=True)
if sys.platform != "linux":
    pytest.skip("what a process has is read from /proc", allow_module_level=True)

BEGIN = """
import resource
import numpy as np
import pyarrow as pa
from csparql_spark.kernel.compiled.sort import order_of
from csparql_spark.kernel.compiled.terms import Terms

def allow(more):
    held = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (held + more, resource.RLIM_INFINITY))

def pushed(terms, number):
    return terms.encode(pa.array([f"{number}:{place}".ljust(1 << 16, "x") for place in range(32)])).tolist()[-1]
"""
TERMS = """
terms = Terms()
for number in range(64):  # of two megabytes each
    pushed(terms, number)
allow(64 << 20)
print([pushed(terms, number) + 1 for number in (64, 65, 66, 67)], terms.decode(terms.encode(pa.array(["a", "b"]))))
"""
ORDER = """
values = np.arange(4_000_000) * 7 % 999_983
allow(20 * len(values))
rows = order_of(values)
allow(1 << 30)
print((rows == np.argsort(values, kind="stable")).all())
"""


def said(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", BEGIN + script], capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.stdout


def test_a_table_with_many_bytes_takes_a_few_more() -> None:
    """To have twice as much room for them would need more than is allowed, though little is asked for."""
    assert said(TERMS) == f"{[32 * number for number in (65, 66, 67, 68)]} ['a', 'b']\n"


def test_an_order_takes_two_numbers_for_a_value() -> None:
    """Rows that are sorted beside their values would take five."""
    assert said(ORDER) == "True\n"
