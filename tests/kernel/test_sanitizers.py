"""The kernel under AddressSanitizer and UndefinedBehaviorSanitizer does what it did, and neither has anything to say.

    c/*.c ── gcc -fsanitize=address,undefined ──▶ a library elsewhere ──▶ tests/kernel in a child, with libasan before all

The child has Python's own memory from malloc, so that what is read behind the end of a column is seen.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from csparql_spark.kernel import build, native

ROOT = Path(__file__).parents[2]
SANITIZED = ("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wstrict-prototypes", "-Wvla", "-Werror")
APART = (
    "test_build.py",
    "test_sanitizers.py",
    "test_room.py",
)  # they build, or count memory, which sanitizers take more of
EXAMPLES = "12"  # a twelfth of them: each takes three times as long
PATIENCE_SECONDS = 300
LOADED = """
import importlib.machinery, importlib.util, sys

def load(name, path):
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path, loader=loader))
    loader.exec_module(module)
    sys.modules[name] = module
    return module
"""


def runtime() -> str:
    """The library of AddressSanitizer, if there is a gcc that has it."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc is here, so nothing can be built with sanitizers")
    path = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not os.path.isabs(path):
        pytest.skip("this gcc has no libasan, so nothing can be built with sanitizers")
    return path


def child(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != native.CHOICE}
    environment |= {
        "LD_PRELOAD": runtime(),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps what it has until it ends
        "PYTHONMALLOC": "malloc",
        "EXAMPLES": EXAMPLES,
    }
    return subprocess.run(
        [sys.executable, "-c", LOADED + program, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


@pytest.fixture
def gcc(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime()
    monkeypatch.setenv("CC", "gcc")


def test_the_twins_and_wrong_arguments(gcc: None, tmp_path: Path) -> None:
    library = tmp_path / "_kernel.abi3.so"
    build.make(library, flags=SANITIZED)
    program = """
import pytest
load("csparql_spark.kernel._kernel", sys.argv[1])
sys.exit(pytest.main([*sys.argv[2:], "-s", "-p", "no:xdist", "-k", "not every_character"]))
"""
    paths = [str(path) for path in sorted(Path(__file__).parent.glob("test_*.py")) if path.name not in APART]
    assert len(paths) >= 3
    done = child(program, str(library), *paths)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[:3000]
    assert " passed" in done.stdout and " skipped" not in done.stdout
    assert "runtime error" not in done.stderr and "AddressSanitizer" not in done.stderr


def test_the_sanitizers_notice(gcc: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong on purpose ends the child, by its name."""
    sources = tmp_path / "c"
    sources.mkdir()
    for path in (*build.SOURCES.glob("call.*"), build.SOURCES / "python.h", Path(__file__).with_name("overrun.c")):
        shutil.copy(path, sources)
    monkeypatch.setattr(build, "SOURCES", sources)
    library = tmp_path / "overrun.abi3.so"
    build.make(library, flags=SANITIZED)
    start = "import numpy as np\nmodule = load('overrun', sys.argv[1])\n"
    for call, said in (
        ("module.sum(1, 2)", ""),
        ("module.behind_the_end(np.zeros(300, np.int64))", "heap-buffer-overflow"),
        ("module.sum((1 << 63) - 1, 1)", "signed integer overflow"),
    ):
        done = child(start + call, str(library))
        assert (done.returncode == 0) is (said == "") and said in done.stderr, done.stderr


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_nothing_to_warn_of(compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} is here to warn of anything")
    sources = [*sorted(build.SOURCES.glob("*.c")), Path(__file__).with_name("overrun.c")]
    command = [compiler, "-std=c17", "-O2", "-fsyntax-only", *STRICT, f"-I{build.SOURCES}", *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
