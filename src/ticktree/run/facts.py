"""Facts about the machine and the program, without which two profiles cannot be compared."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ticktree.machine import git, processor
from ticktree.machine.ceilings import ceiling_facts
from ticktree.recorder import OFF_VARIABLE, gil

# Packages whose versions change the cost of a loop.
_PACKAGES = (
    *("ticktree", "numpy", "scipy", "numba", "torch", "torchvision", "jax", "jaxlib", "tensorflow"),
    *("gymnasium", "gym", "pettingzoo", "mujoco", "dm-control", "pybullet", "isaacsim", "pygame"),
    *("stable-baselines3", "sb3-contrib", "sbx-rl", "torchrl", "tensordict", "pufferlib", "tianshou", "ray"),
    *("skrl", "rsl-rl-lib", "d3rlpy", "optuna", "isaaclab", "mani-skill", "genesis-world"),
    *("lightning", "pytorch-lightning", "lerobot", "transformers", "diffusers", "accelerate"),
    *("mlagents", "mlagents-envs", "grpcio", "aiohttp", "uvloop"),
    *("opencv-python", "opencv-python-headless", "pillow", "av", "pygame-ce"),
)

# "The recording of installed projects", packaging.python.org: NAME-VERSION.dist-info, with no other hyphen.
_DISTRIBUTION = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(-py[0-9.]+)?\.(dist|egg)-info")

# Variables that determine the number of threads, their devices, and how they wait.
_VARIABLES = re.compile(
    r"(OMP|GOMP|KMP|MKL|OPENBLAS|NUMEXPR|VECLIB|BLIS|NUMBA)_.*"
    r"|(CUDA|HIP|ROCR)_VISIBLE_DEVICES|CUDA_LAUNCH_BLOCKING|PYTORCH_.*ALLOC_CONF|TORCH_.*THREADS|XLA_FLAGS"
    r"|THP_MEM_ALLOC_ENABLE|MALLOC_ARENA_MAX|LD_PRELOAD|MUJOCO_GL|SDL_VIDEODRIVER"
    rf"|PYTHONASYNCIODEBUG|PYTHONDEVMODE|{OFF_VARIABLE}"
)

Value = str | int | float | bool


def describe_program(argv: Sequence[str] | None = None, folder: Path | None = None) -> dict[str, Value]:
    """Return the facts that are available outside the program, or inside it once it has ended.

    Args:
        argv: The program's command line; by default this process's own.
        folder: The directory of its source, whose commit is recorded.
    """
    argv = sys.argv if argv is None else argv
    folder = Path(argv[0] if argv else "").absolute().parent if folder is None else folder
    return dict([*_machine(), *_python(argv), *_version(folder), *_environment()])


def _machine() -> Iterator[tuple[str, Value]]:
    yield "host", platform.node()
    yield "system", platform.platform()
    yield "cpu", processor.model()
    yield "cores", os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        yield "cores_usable", processor.usable_cores()
    memory_bytes = processor.memory_bytes()
    if memory_bytes is not None:
        yield "memory_bytes", memory_bytes
    gpus = processor.gpu_count()
    if gpus:
        yield "gpus", gpus
        model = processor.gpu_model()
        if model:
            yield "gpu", model
    yield from ceiling_facts()


def _python(argv: Sequence[str]) -> Iterator[tuple[str, Value]]:
    yield "python", platform.python_version()
    yield "implementation", platform.python_implementation()
    if sys.flags.optimize:
        yield "python.optimize", sys.flags.optimize
    if gil.is_gil_disabled():
        yield "python.gil", "off"
    yield "command", shlex.join(argv)
    installed = _installed()
    for name in _PACKAGES:
        if name in installed:
            yield f"version.{name}", installed[name]


def _installed() -> dict[str, str]:
    """Return the versions of installed packages by normalized name, from the names of their folders.

    importlib.metadata opens a file of each package: 75 ms for these, which is a third of a short run's cost.
    """
    versions: dict[str, str] = {}
    for folder in sys.path:
        with suppress(OSError):
            for entry in Path(folder).iterdir():
                match = _DISTRIBUTION.fullmatch(entry.name)
                if match is not None:  # the first folder in the path is the one that is imported
                    versions.setdefault(re.sub(r"[-_.]+", "-", match["name"]).lower(), match["version"])
    return versions


def _version(folder: Path) -> Iterator[tuple[str, Value]]:
    """Yield the commit of the program's source, and whether the source differs from it."""
    commit = git.run_git(folder, "rev-parse", "HEAD")
    if commit is None:
        return
    yield "git.commit", commit.strip()
    changes = git.run_git(folder, "status", "--porcelain", "--untracked-files=no")
    if changes is not None:
        yield "git.dirty", bool(changes)


def _environment() -> Iterator[tuple[str, Value]]:
    return ((f"env.{name}", value) for name, value in os.environ.items() if _VARIABLES.fullmatch(name))
