"""What pyproject.toml cannot say: the native module, and the .pth file that arms a program under `ticktree run`."""

import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_py import build_py

NEWEST = (3, 15)  # core/pyframe.h has the same limit, for who compiles without this
if sys.version_info[:2] > NEWEST:
    sys.exit(
        "ticktree reads frames of CPython 3.11 to 3.15 only: use one, or a ticktree that supports this Python"
    )

NATIVE = Path("src/ticktree/recorder")
SAMPLER = Path("src/ticktree/supervisor/sampler")


class BuildWithPth(build_py):
    """Puts ticktree.pth at the root of site-packages, where the interpreter looks at start-up."""

    def run(self) -> None:
        super().run()
        self.copy_file("src/ticktree.pth", str(Path(self.build_lib) / "ticktree.pth"))

    def get_outputs(self, include_bytecode: int = 1) -> list[str]:
        return [*super().get_outputs(include_bytecode), str(Path(self.build_lib) / "ticktree.pth")]


headers = [str(path) for ending in ("h", "pxi", "pxd") for path in NATIVE.rglob(f"*.{ending}")]
compile_args = [
    "-std=gnu11",
    "-g0",  # Cython's C is long: to note what a debugger needs takes a third of the build
    "-fvisibility=hidden",
    "-Wall",
    "-Wno-unused-function",
    "-Wfatal-errors",  # an unknown Python is one line, not a thousand that follow from it
]
native = Extension(
    "ticktree.recorder._native",
    [str(NATIVE / "_native.pyx"), *sorted(str(path) for path in (NATIVE / "core").glob("*.c"))],
    depends=headers,
    include_dirs=[str(NATIVE)],
    # The accounts may not depend on who compiles: no -march, no -ffast-math.
    extra_compile_args=["-O3", "-fno-plt", "-fno-tree-slp-vectorize", *compile_args],
)
sampler = Extension(
    "ticktree.supervisor.sampler._remote",
    [str(SAMPLER / "_remote.pyx"), *sorted(str(path) for path in SAMPLER.glob("[!_]*.c"))],
    depends=[*headers, str(SAMPLER / "sampler.h")],
    include_dirs=[str(NATIVE), str(SAMPLER)],
    libraries=["m"],
    extra_compile_args=["-O2", *compile_args],
)

setup(
    # The sampler reads other processes in a way that only Linux has.
    ext_modules=cythonize(
        [native, *[sampler][: sys.platform == "linux"]], compiler_directives={"language_level": 3}
    ),
    cmdclass={"build_py": BuildWithPth},
)
