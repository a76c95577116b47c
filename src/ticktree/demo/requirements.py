"""What a program of `workloads` needs and may lack: one line, before its imports end in a traceback."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from ticktree.errors import TicktreeError

# What an extra brings, and what several packages provide; all others are looked up among the installed ones.
_MODULES = {
    "gymnasium[box2d]": ("gymnasium", "Box2D"),
    "gymnasium[mujoco]": ("gymnasium", "mujoco"),
    "opencv-python-headless": ("cv2",),
}
_REQUIREMENT = re.compile(r"[\w.-]+(?:\[\w+\])?")
_NAMED_AT_MOST = 6


def need(script: str) -> None:
    """End a workload's script, by its path, in one line if something is not installed that it imports."""
    try:
        require(Path(script).parent)
    except TicktreeError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None  # as ticktree's own commands end


def require(folder: Path) -> None:
    """See that what the workload in a folder asks for is installed here.

    Raises:
        TicktreeError: something is not; in one line what, and how to install it.
    """
    lacking = [name for file in sorted(folder.glob("requirements*.txt")) for name in _lacking(file)]
    if lacking:
        named = ", ".join(lacking[:_NAMED_AT_MOST])
        more = f" and {len(lacking) - _NAMED_AT_MOST} more" if len(lacking) > _NAMED_AT_MOST else ""
        raise TicktreeError(
            f"{folder.resolve().name} needs {named}{more}, not installed here: {_how_to_install(folder)}"
        )


def _lacking(file: Path) -> Iterator[str]:
    for line in file.read_text(encoding="utf-8").splitlines():
        name = _REQUIREMENT.match(line)
        if name is not None and not _is_there(name[0]):  # else it is a comment, or nothing
            yield name[0]


def _is_there(name: str) -> bool:
    if name in _MODULES:
        return all(find_spec(module) is not None for module in _MODULES[name])
    plain = name.partition("[")[0]
    try:
        distribution(plain)
    except PackageNotFoundError:
        return find_spec(plain.replace("-", "_")) is not None  # put there by other means
    return True


def _how_to_install(folder: Path) -> str:
    if (folder / "install.sh").is_file():
        # In its own environment: it pins versions that other programs cannot use.
        return f"make demo WORKLOAD={folder.resolve().name} at the top, or {_shown(folder / 'install.sh')} PYTHON"
    constraints = folder.parent.parent / "constraints.txt"
    pinned = f"-c {_shown(constraints)} " if constraints.is_file() else ""
    return f"python -m pip install {pinned}-r {_shown(folder / 'requirements.txt')}"


def _shown(path: Path) -> str:
    relative = os.path.relpath(path)
    return min(relative, str(path.resolve()), key=len)
