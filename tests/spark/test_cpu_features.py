from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from csparql_spark.spark.cpu_features import VARIABLE, slow, unwanted

ZEN4 = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
flags\t\t: fpu avx2 avx512f avx512vl

processor\t: 1
vendor_id\t: GenuineIntel
"""


@pytest.fixture(autouse=True)
def undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def told(path: Path, text: str) -> dict[str, str]:
    path.write_text(text)
    return unwanted(path)


def test_only_where_it_is_slow() -> None:
    assert slow("AuthenticAMD", 25, {"avx2", "avx512f"})
    assert not slow("AuthenticAMD", 25, {"avx2"})
    assert not slow("AuthenticAMD", 26, {"avx2", "avx512f"})
    assert not slow("GenuineIntel", 25, {"avx2", "avx512f"})


def test_the_first_processor_tells(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    assert told(path, ZEN4).keys() == {VARIABLE}
    assert told(path, ZEN4.replace("avx512f", "")) == {}
    assert told(path, ZEN4.replace("AuthenticAMD", "GenuineIntel")) == {}
    assert told(path, "CPU implementer : 0x41\n") == {}
    assert told(path, "") == {}
    assert unwanted(tmp_path / "none") == {}


def test_who_has_decided_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    assert told(tmp_path / "cpuinfo", ZEN4) == {}


def test_numpy_knows_the_name(tmp_path: Path) -> None:
    name = told(tmp_path / "cpuinfo", ZEN4)[VARIABLE]
    script = (
        "import sys; from numpy._core._multiarray_umath import __cpu_dispatch__ as known; "
        "sys.exit(sys.argv[1] not in known)"
    )
    assert subprocess.run([sys.executable, "-c", script, name], env=os.environ, check=False).returncode == 0
