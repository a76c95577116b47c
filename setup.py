"""What pyproject.toml cannot say: the native module, and the .pth file that arms a program under `ticktree run`."""

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_py import build_py

NATIVE = Path("src/ticktree/recorder")


class BuildWithPth(build_py):
    """Puts ticktree.pth at the root of site-packages, where the interpreter looks at start-up."""

    def run(self) -> None:
        super().run()
        self.copy_file("src/ticktree.pth", str(Path(self.build_lib) / "ticktree.pth"))

    def get_outputs(self, include_bytecode: int = 1) -> list[str]:
        return [*super().get_outputs(include_bytecode), str(Path(self.build_lib) / "ticktree.pth")]


native = Extension(
    "ticktree.recorder._native",
    [str(NATIVE / "_native.pyx")],
    depends=[str(path) for folder in ("core", "native") for path in (NATIVE / folder).iterdir()],
    include_dirs=[str(NATIVE)],
    # The accounts may not depend on who compiles: no -march, no -ffast-math.
    extra_compile_args=[
        "-O3",
        "-std=gnu11",
        "-fvisibility=hidden",
        "-fno-plt",
        "-fno-tree-slp-vectorize",
        "-Wall",
        "-Wno-unused-function",
    ],
)

setup(
    ext_modules=cythonize([native], compiler_directives={"language_level": 3}),
    cmdclass={"build_py": BuildWithPth},
)
