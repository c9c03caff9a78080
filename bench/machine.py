"""The machine a number was measured on: what it is, what ran on it, and how busy it was.

A number says little without it. Each run of a benchmark writes one line for the machine, and each of its lines says how
busy the machine was before and after: times that were taken while others worked are times of others, too.

    shape()      # {"cores": 2, "model": "AMD EPYC", "memory_gb": 23.4, "kernel": "6.1.0", "java": "17.0.13", …}
    load()       # 0.31: the load average of the last minute
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

TREE = Path(__file__).parent.parent
PACKAGES = ("pyspark", "numpy", "pyarrow", "pyoxigraph")


def load() -> float:
    return round(os.getloadavg()[0], 2)


def shape() -> dict[str, object]:
    return {
        "cores": os.cpu_count(),
        "model": _model(),
        "memory_gb": _memory_gb(),
        "kernel": platform.release(),
        "system": _system(),
        "python": platform.python_version(),
        "java": _java(),
        "node": _said(["node", "-v"], "v(.+)"),
        **{name: _version(name) for name in PACKAGES},
        "commit": _commit(),
    }


def _model() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", _text("/proc/cpuinfo"), re.MULTILINE)
    return " ".join(found[1].split()) if found else platform.machine()


def _memory_gb() -> float:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)


def _system() -> str:
    found = re.search(r'^PRETTY_NAME="(.+)"$', _text("/etc/os-release"), re.MULTILINE)
    return found[1] if found else platform.system()


def _java(environment: Mapping[str, str] = os.environ) -> str | None:
    home = environment.get("JAVA_HOME")
    return _said([os.path.join(home, "bin", "java") if home else "java", "-version"], 'version "([^"]+)"')


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Of the tree; with a plus when what ran is not quite what was committed."""
    commit = _said(["git", "-C", str(TREE), "rev-parse", "--short", "HEAD"], "(.+)")
    # docs and results are what a run writes: they do not make the code another.
    changed = _said(
        [
            "git",
            "-C",
            str(TREE),
            "status",
            "--porcelain",
            "--untracked-files=no",
            "--",
            ".",
            ":!docs",
            ":!bench/results",
        ],
        "(.+)",
    )
    return commit and commit + ("+" if changed else "")


def _said(command: list[str], pattern: str) -> str | None:
    """What a program says of itself; nothing if there is no such program."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (FileNotFoundError, PermissionError, NotADirectoryError, subprocess.TimeoutExpired):
        return None
    found = re.search(pattern, done.stdout + done.stderr) if done.returncode == 0 else None
    return found[1].strip() if found else None


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
