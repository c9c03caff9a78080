"""Compiles `c` into the library that `native` loads, where a tree or a wheel is built.

    make(LIBRARY)                                   # raises NotCompiled, with a sentence; nothing else is broken then
    make(path, machine="aarch64")                   # for another machine: then the compiler is ziglang
    python -m csparql_spark.kernel.build            # beside this module, if what is there is older than its sources

The compiler is what `CC` names, or else `cc`. Where there is none it is PyPI's `ziglang`, which is fetched into a
directory that goes away again: so a machine that has Python and nothing else compiles, too. What is made needs no
other processor than numpy does, which is older than fifteen years, and a Python from 3.11 on: `c/python.h` declares
what is used of it, so its headers need not be there.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOM = Path(__file__).parent
SOURCES = ROOM / "c"
LIBRARY = ROOM / "_kernel.abi3.so"
ZIGLANG = "ziglang==0.17.0"
GLIBC = "2.28"  # for wheels, and where ziglang compiles: of 2018
# Comparisons of eight bytes side by side: numpy's packages need as much (x86-64-v2), and refuse what is older.
PROCESSOR = {"x86_64": ["-msse4.2"]}
FLAGS = ("-std=c17", "-O3", "-fPIC", "-shared", "-fvisibility=hidden")
INSTEAD = (
    "The functions in numpy do the same work, more slowly. To have it compiled: install a C compiler, run `make "
    "install` again, and start the server anew."
)
_FAR = ("connection", "retry", "timed out", "name resolution", "network", "proxyerror", "max retries")  # what pip says
PATIENCE_SECONDS = 900


class NotCompiled(Exception):
    """Why there is no library, as a sentence."""


def make(library: Path, machine: str = "", flags: Sequence[str] = ()) -> None:
    """Compiles all of `c` into a library: it is there whole, or what was there stays. `machine`: x86_64 or aarch64, if
    not for this system."""
    with tempfile.TemporaryDirectory(prefix="csparql-kernel-") as scratch:
        made = Path(scratch, library.name)
        sources = sorted(str(path) for path in SOURCES.glob("*.c"))
        given = [
            *FLAGS,
            *PROCESSOR.get(machine or platform.machine(), []),
            *(["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []),
            *flags,
        ]
        compiler = None if machine else present()
        if compiler is None:
            compiler = _fetched(Path(scratch), machine or platform.machine())
        _run([*compiler, *given, *sources, "-o", str(made)], Path(scratch))
        library.parent.mkdir(parents=True, exist_ok=True)
        arrived = library.with_suffix(".new")
        shutil.copyfile(made, arrived)
        # Whoever runs has mapped the old one: it is replaced, and not written into.
        arrived.replace(library)


def present() -> list[str] | None:
    """The compiler that is on this machine, as the beginning of a command; none if there is none."""
    named = shlex.split(os.environ.get("CC", "")) or ["cc"]
    return named if shutil.which(named[0]) else None


def no_compiler() -> str:
    """That there is none, as half a sentence."""
    named = os.environ.get("CC", "").strip()
    return f"CC names {named!r}, and no such program is there" if named else "There is no C compiler (`cc`)"


def fresh(library: Path = LIBRARY) -> bool:
    """Whether the library is there, and no older than what it is made of."""
    made_of = [*SOURCES.iterdir(), Path(__file__)]
    return library.exists() and library.stat().st_mtime >= max(path.stat().st_mtime for path in made_of)


def _fetched(scratch: Path, machine: str) -> list[str]:
    """A compiler from PyPI. Without a target it would compile for just the processor that it runs on."""
    if not sys.platform.startswith("linux"):
        raise NotCompiled(f"{no_compiler()}.")
    why = no_compiler() if present() is None else ""  # for another machine that of this one does not count
    libc = f"gnu.{GLIBC}" if platform.libc_ver()[0] == "glibc" else "musl"
    target = ["cc", "-target", f"{machine}-linux-{libc}", "-s"]
    if importlib.util.find_spec("ziglang") is not None:
        if why:
            print(f"{why}: ziglang, which is installed, compiles instead.", file=sys.stderr, flush=True)
        return [sys.executable, "-m", "ziglang", *target]
    place = scratch / "ziglang"
    pip = ["pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--no-deps", "--target"]
    said = f"{why}: " if why else ""
    print(f"{said}{ZIGLANG} is fetched from PyPI to compile, about 100 MB …", file=sys.stderr, flush=True)
    try:
        # A build of pip's hides pip itself from the search path: without PYTHONPATH it is there.
        _run([sys.executable, "-I", "-m", *pip, str(place), ZIGLANG], scratch)
    except NotCompiled as reason:
        raise NotCompiled(f"{f'{why}, and ' if why else ''}{_unfetched(str(reason))}") from reason
    return [str(place / "ziglang" / "zig"), *target]


def _unfetched(reason: str) -> str:
    """Why there is no compiler from PyPI either, as half a sentence: of a network pip tells its inner life."""
    if any(word in reason.lower() for word in _FAR):
        return f"PyPI, which has one ({ZIGLANG}), could not be reached."
    return f"{ZIGLANG} is not to be had: {re.sub(r'^[^ ]+ says: (ERROR: )?', 'pip says: ', reason)}"


def _run(command: list[str], scratch: Path) -> None:
    caches = {f"ZIG_{which}_CACHE_DIR": str(scratch / "cache") for which in ("GLOBAL", "LOCAL")}
    try:
        done = subprocess.run(
            command, env={**os.environ, **caches}, capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotCompiled(f"{command[0]} does not run ({error}).") from error
    if done.returncode:
        errors = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line.lower()]
        raise NotCompiled(f"{Path(command[0]).name} says: {(errors or [f'exit code {done.returncode}'])[0].strip()}.")


def main() -> int:
    if fresh():
        return 0
    try:
        make(LIBRARY)
    except NotCompiled as reason:
        LIBRARY.unlink(missing_ok=True)  # it is of other sources
        print(f"The kernel was not compiled. {reason} {INSTEAD}", file=sys.stderr)
        return 1
    print("Compiled.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
