"""The library that was compiled from `c`: whether it is there, and why not.

It is made when the package is built (see `build`), for any processor of the last fifteen years, and for every Python
from 3.11 on. Where there is none, or where `CSPARQL_SPARK_KERNEL=numpy` asks for it, the twins in numpy run: all
answers are the same, later.

    native.library          # the module, or None
    native.missing          # why there is none, as a sentence; "" where there is one
    native.runs()           # "compiled", or "numpy"
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType

CHOICE = "CSPARQL_SPARK_KERNEL"  # "numpy": the twins run, though the library is there
VERSION = 8  # of what it is called with: a library of another version is not used


def _loaded() -> tuple[ModuleType | None, str]:
    if os.environ.get(CHOICE) == "numpy":
        return None, f"{CHOICE}=numpy asks for the functions in numpy."
    again = (
        "numpy does the same work, more slowly. To have it compiled: install a C compiler if there is none, run "
        "`make install` again (or `python -m csparql_spark.kernel.build`, where it was installed otherwise), and start "
        "the server anew."
    )
    try:
        library = importlib.import_module("csparql_spark.kernel._kernel")
    except ModuleNotFoundError:
        return None, f"There is no compiled kernel: {again}"
    except ImportError as error:
        return None, f"The compiled kernel cannot be loaded ({error}): {again}"
    if library.version() != VERSION:
        return None, f"The compiled kernel is of another version: {again}"
    return library, ""


def runs() -> str:
    """What runs in this process, in a word."""
    return "numpy" if library is None else "compiled"


library, missing = _loaded()
