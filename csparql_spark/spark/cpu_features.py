"""CPU features: which instructions numpy had better not use on this machine's processor.

Most of what a worker does is sorting integers. Where there is AVX-512, numpy sorts with it, and with instructions that
AMD's processors of the fourth generation (family 25) have in microcode only: they take three to five times as long as
sorting with AVX2. What numpy may use it is told by its environment, before it is imported.

    slow("AuthenticAMD", 25, {"avx2", "avx512f"})      # True
    unwanted()                                         # {"NPY_DISABLE_CPU_FEATURES": "X86_V4"}, on such a machine
"""

from __future__ import annotations

import os
from collections.abc import Collection
from importlib.metadata import version
from pathlib import Path

VARIABLE = "NPY_DISABLE_CPU_FEATURES"
CPUINFO = Path("/proc/cpuinfo")
FAMILY = 25


def slow(vendor: str, family: int, flags: Collection[str]) -> bool:
    """Whether sorting with AVX-512 is slower than without."""
    return vendor == "AuthenticAMD" and family == FAMILY and "avx512f" in flags


def unwanted(cpuinfo: Path = CPUINFO) -> dict[str, str]:
    """What to add to the environment of a process that sorts; nothing where somebody has decided already, or where
    nothing is known of the processor."""
    if VARIABLE in os.environ or not cpuinfo.is_file():
        return {}
    first = cpuinfo.read_text().partition("\n\n")[0]
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first.splitlines())}
    family = fields.get("cpu family", "")
    if not family.isdigit() or not slow(fields.get("vendor_id", ""), int(family), fields.get("flags", "").split()):
        return {}
    return {VARIABLE: _name(version("numpy"))}


def _name(numpy: str) -> str:
    """What numpy calls the instructions of its sort."""
    major, minor = (int(part) for part in numpy.split(".")[:2])
    return "X86_V4" if (major, minor) >= (2, 4) else "AVX512_SKX"
