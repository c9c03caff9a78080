"""What `setup.cfg` cannot say: the kernel is compiled, and a wheel that carries it is one of a platform.

    pip wheel .                                                                                      of this machine
    pip wheel . --config-settings=--build-option=--plat-name=manylinux_2_28_aarch64                  of another one

Where it cannot be compiled, or `CSPARQL_SPARK_KERNEL=numpy` asks for none, the wheel is one of any platform, in which
the functions in numpy run; so it is where Python has no stable ABI.
"""

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).parent))

from csparql_spark.kernel.build import GLIBC, INSTEAD, NotCompiled, make

NAME = "csparql_spark.kernel._kernel"
MANYLINUX = f"manylinux_{GLIBC.replace('.', '_')}_"


class Kernel(build_ext):
    def run(self) -> None:
        wheel = self.distribution.get_command_obj("bdist_wheel")
        platform = str(wheel.plat_name or "") if wheel.plat_name_supplied else ""
        if platform and not platform.startswith(MANYLINUX):
            raise SystemExit(f"There are wheels of {MANYLINUX}x86_64 and {MANYLINUX}aarch64, and not of {platform}.")
        try:
            self.machine = platform.removeprefix(MANYLINUX)
            super().run()
        except NotCompiled as reason:
            if platform:
                raise SystemExit(f"The kernel was not compiled. {reason}") from reason
            print(f"The kernel was not compiled. {reason} {INSTEAD}", file=sys.stderr)
            self.extensions = self.distribution.ext_modules = []
            wheel.root_is_pure = True

    def build_extension(self, extension: Extension) -> None:
        make(Path(self.get_ext_fullpath(extension.name)), self.machine)


without = os.environ.get("CSPARQL_SPARK_KERNEL") == "numpy" or ".abi3.so" not in EXTENSION_SUFFIXES
setup(
    ext_modules=[] if without else [Extension(NAME, [], py_limited_api=True)],
    cmdclass={"build_ext": Kernel},
    options={} if without else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
