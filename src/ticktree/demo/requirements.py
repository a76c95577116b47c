"""Check the requirements of a program in `workloads`: one line of text instead of a traceback from its imports."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from ticktree.errors import TicktreeError

# Modules of extras and of packages with several distributions; all others are looked up by distribution name.
_MODULES = {
    "gymnasium[box2d]": ("gymnasium", "Box2D"),
    "gymnasium[mujoco]": ("gymnasium", "mujoco"),
    "opencv-python-headless": ("cv2",),
}
_REQUIREMENT = re.compile(r"[\w.-]+(?:\[\w+\])?")
_MAX_NAMES = 6


def exit_if_missing(script: str) -> None:
    """End a workload's script, given its path, with one line if a requirement is not installed."""
    try:
        require(Path(script).parent)
    except TicktreeError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None  # as ticktree's own commands end


def require(folder: Path) -> None:
    """Check that the requirements of the workload in a folder are installed.

    Raises:
        TicktreeError: one is not; one line says which, and how to install it.
    """
    missing = [name for file in sorted(folder.glob("requirements*.txt")) for name in _missing(file)]
    if missing:
        names = ", ".join(missing[:_MAX_NAMES])
        more = f" and {len(missing) - _MAX_NAMES} more" if len(missing) > _MAX_NAMES else ""
        raise TicktreeError(
            f"{folder.resolve().name} needs {names}{more}, not installed here: {_how_to_install(folder)}"
        )


def _missing(file: Path) -> Iterator[str]:
    for line in file.read_text(encoding="utf-8").splitlines():
        name = _REQUIREMENT.match(line)
        if name is not None and not _is_installed(name[0]):  # else it is a comment, or empty
            yield name[0]


def _is_installed(name: str) -> bool:
    if name in _MODULES:
        return all(find_spec(module) is not None for module in _MODULES[name])
    package = name.partition("[")[0]
    try:
        distribution(package)
    except PackageNotFoundError:
        return find_spec(package.replace("-", "_")) is not None  # installed without metadata
    return True


def _how_to_install(folder: Path) -> str:
    if (folder / "install.sh").is_file():
        # In its own environment: it pins versions that other programs cannot use.
        name, script = folder.resolve().name, _shortest_path(folder / "install.sh")
        return f"make demo WORKLOAD={name} at the top, or {script} PYTHON"
    constraints = folder.parent.parent / "constraints.txt"
    pinned = f"-c {_shortest_path(constraints)} " if constraints.is_file() else ""
    return f"python -m pip install {pinned}-r {_shortest_path(folder / 'requirements.txt')}"


def _shortest_path(path: Path) -> str:
    relative = os.path.relpath(path)
    return min(relative, str(path.resolve()), key=len)
