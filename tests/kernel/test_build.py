"""The library is compiled where that is possible, and where it is not, that is said and nothing breaks."""

from __future__ import annotations

import configparser
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace

import pytest

from csparql_spark.kernel import build, native

ROOT = Path(__file__).parents[2]
PROGRAM = "from csparql_spark.kernel import merge, native, probe, sort\nprint(native.runs(), merge.merge.__module__)"


def compiler(directory: Path, does: str) -> Path:
    program = directory / "mycc"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def old(tmp_path: Path) -> Path:
    library = tmp_path / "room" / "_kernel.abi3.so"
    library.parent.mkdir()
    library.write_bytes(b"old")
    return library


def test_it_is_compiled_whole_or_not_at_all(tmp_path: Path, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The last word of the command is where the library goes.
    monkeypatch.setenv("CC", str(compiler(tmp_path, 'for last; do :; done; printf half > "$last"; exit 3')))
    with pytest.raises(build.NotCompiled, match="^mycc says: exit code 3.$"):
        build.make(old)
    assert old.read_bytes() == b"old"
    monkeypatch.setenv("CC", f"{compiler(tmp_path, 'echo sort.c:3: error: no bits >&2; exit 1')} -m64")
    with pytest.raises(build.NotCompiled, match="^mycc says: sort.c:3: error: no bits.$"):
        build.make(old)
    monkeypatch.setenv("CC", str(compiler(tmp_path, 'for last; do :; done; echo "$*" > "$last"')))
    build.make(old, flags=["-g"])
    assert os.listdir(old.parent) == [old.name]
    said = old.read_text().split()
    assert {*build.FLAGS, "-g"} < set(said)
    assert [word for word in said if word.startswith(("-march", "-mcpu"))] == []
    assert [word for word in said if word.endswith(".c")] == sorted(map(str, build.SOURCES.glob("*.c")))


def test_without_a_compiler_and_without_pypi(
    tmp_path: Path, old: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "LIBRARY", old)
    monkeypatch.setattr(build, "fresh", lambda: False)
    monkeypatch.setenv("CC", str(tmp_path / "nix"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    assert build.main() == 1
    told = capfd.readouterr()
    assert told.out == "" and "Traceback" not in told.err
    why = f"CC names '{tmp_path / 'nix'}', and no such program is there"
    fetching, failed = told.err.splitlines()
    assert fetching == f"{why}: {build.ZIGLANG} is fetched from PyPI to compile, about 100 MB …"
    assert failed.startswith(
        f"The kernel was not compiled. {why}, and {build.ZIGLANG} is not to be had: pip says: Could not"
    )
    assert failed.endswith(f" {build.INSTEAD}")
    assert not old.exists()  # what was made of other sources does not run in its place


def test_a_network_that_is_not_there_is_told_as_that(
    tmp_path: Path, old: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """pip tells of its attempts, and of the classes of its errors."""
    monkeypatch.setattr(build, "LIBRARY", old)
    monkeypatch.setattr(build, "fresh", lambda: False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for name in [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    assert build.main() == 1
    assert capfd.readouterr().err.splitlines()[1:] == [
        f"The kernel was not compiled. There is no C compiler (`cc`), and PyPI, which has one ({build.ZIGLANG}), could "
        f"not be reached. {build.INSTEAD}"
    ]
    assert "install a C compiler, run `make install` again, and start the server anew" in build.INSTEAD


def test_that_it_is_compiled_is_said(
    tmp_path: Path, old: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "LIBRARY", old)
    monkeypatch.setattr(build, "fresh", lambda: False)
    monkeypatch.setenv("CC", str(compiler(tmp_path, 'for last; do :; done; echo made > "$last"')))
    assert build.main() == 0 and tuple(capfd.readouterr()) == ("Compiled.\n", "")


def test_what_is_fresh_is_not_compiled_again(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newest = max(path.stat().st_mtime for path in build.SOURCES.iterdir())
    os.utime(old, (newest - 1, newest - 1))
    assert not build.fresh(old)
    later = max(newest, Path(build.__file__).stat().st_mtime)
    os.utime(old, (later, later))
    assert build.fresh(old)
    assert not build.fresh(old.with_name("nix"))


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is here")
def test_what_it_tells_and_what_it_needs(tmp_path: Path) -> None:
    """One name is exported, and of Python nothing but what is declared in `python.h` is used."""
    library = tmp_path / "made" / "_kernel.abi3.so"
    build.make(library)
    if (nm := shutil.which("nm")) is None:
        pytest.skip("no nm is here to read symbols")
    listed = subprocess.run([nm, "-D", str(library)], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in listed.splitlines()]
    told = [line.split()[-1] for line in listed.splitlines() if " T " in line]
    assert told == ["PyInit__kernel"]
    declared = (build.SOURCES / "python.h").read_text(encoding="utf-8")
    used = [name for name in names if name.startswith("Py") and name not in told]
    assert used and [name for name in used if name not in declared] == []


def test_the_compiler_has_an_exact_version() -> None:
    assert build.ZIGLANG in (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    assert f"| ziglang {build.ZIGLANG.partition('==')[2]} (MIT)" in (ROOT / "docs" / "dependencies.md").read_text(
        "utf-8"
    )


def test_the_sources_are_shipped() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    patterns = [pattern.strip() for pattern in config["options.package_data"]["csparql_spark.kernel"].split(",")]
    paths = [path.relative_to(build.ROOM).as_posix() for path in build.SOURCES.iterdir()]
    assert [path for path in paths if not any(fnmatch(path, pattern) for pattern in patterns)] == []


def raises(error: Exception) -> Callable[[str], object]:
    def load(name: str) -> object:
        raise error

    return load


@pytest.mark.parametrize(
    "load, said",
    [
        (raises(ModuleNotFoundError("no")), "There is no compiled kernel: "),
        (raises(ImportError("bad ELF")), "The compiled kernel cannot be loaded (bad ELF): "),
        (lambda name: SimpleNamespace(version=lambda: 0), "The compiled kernel is of another version: "),
    ],
)
def test_why_there_is_none(load: Callable[[str], object], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(native.CHOICE, raising=False)
    monkeypatch.setattr(importlib, "import_module", load)
    library, missing = native._loaded()
    assert library is None and missing.startswith(said)
    assert missing.endswith(", and start the server anew.") and "numpy does the same work, more slowly" in missing
    assert missing.index("install a C compiler") < missing.index("run `make install` again")


def test_numpy_is_asked_for() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, native.CHOICE: "numpy"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "numpy csparql_spark.kernel.twin.merge\n"


def test_what_runs_here() -> None:
    where = {"compiled": "csparql_spark.kernel.compiled.merge", "numpy": "csparql_spark.kernel.twin.merge"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == f"{native.runs()} {where[native.runs()]}\n"
    assert (native.runs() == "numpy") is bool(native.missing)
