"""How each of Spark's Python workers begins on this machine: it holds the engine's lifeline, then it is what Spark
wants.

    python -m csparql_spark.spark.worker DATA/engine/line -m pyspark.daemon pyspark.worker

The JVM starts them and hands down no descriptors, so the line is found by its name. It is held in a process group of
their own, where whatever they fork is, too: all of that ends with the engine, also where it hangs.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from csparql_spark import lifeline


def main() -> None:
    _, line, option, module, *rest = sys.argv
    os.setpgid(0, 0)
    lifeline.hold(Path(line))
    if option != "-m":  # Spark asks for the version: python -c "…"
        os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
