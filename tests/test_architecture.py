"""The house's own rules: imports flow one way, and no file grows beyond reading."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "ticktree"
ROOT = SOURCE.parents[1]
LINES_AT_MOST = 500

# What each room may import of ticktree, beside itself and `errors`. Arrows never run back.
MAY_IMPORT = {
    "errors": set(),
    "recorder": set(),
    "profile": set(),
    "run": {"recorder", "profile"},
    "analysis": {"profile"},
    "outputs": {"profile", "analysis"},
    "configuration": {"analysis"},
    "live": {"run", "profile", "analysis", "outputs"},
    "remote": {"recorder"},
    "instrument": {"recorder", "remote", "run"},
    "session": {"recorder", "run", "profile", "outputs", "instrument"},
    "compat": {"", "session", "recorder", "run", "profile", "outputs"},
    "demo": {""},
    "trackers": {"profile", "outputs"},
    "cli": {
        *("", "recorder", "run", "profile", "analysis", "outputs", "live", "session", "demo", "instrument"),
        "configuration",
    },
    "testing": {"recorder", "run", "profile", "analysis", "outputs", "session", "configuration"},
    "__main__": {"cli"},
    "__init__": {"session", "profile", "run", "instrument"},
}


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


def imported_rooms(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where an arrow leads"
            modules = [node.module or ""]
            if modules == ["ticktree"]:  # `from ticktree import recorder`
                modules = [
                    f"ticktree.{alias.name}"
                    if (SOURCE / alias.name).is_dir() or (SOURCE / f"{alias.name}.py").exists()
                    else "ticktree"
                    for alias in node.names
                ]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        for module in modules:
            if module == "ticktree" or module.startswith("ticktree."):
                yield ([*module.split("."), ""])[1]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_flow_one_way(path: Path) -> None:
    room = room_of(path)
    assert room in MAY_IMPORT, f"{room} is no room of the house: say here what it may import"
    allowed = MAY_IMPORT[room] | {room, "errors"}
    assert set(imported_rooms(path)) <= allowed


def test_every_room_that_is_named_may_only_be_a_room_of_the_plan() -> None:
    for room, allowed in MAY_IMPORT.items():
        assert room not in allowed or room == ""
        assert allowed - {""} <= MAY_IMPORT.keys()


def source_files() -> list[Path]:
    folders = ("src", "tests", "benchmarks", "workloads")
    endings = {".py", ".pyx", ".pxi", ".pxd", ".pyi", ".h"}
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in endings)


def test_no_source_file_is_longer_than_one_sitting() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in source_files()}
    assert lengths, "nothing was found"
    assert {str(path.relative_to(ROOT)): n for path, n in lengths.items() if n > LINES_AT_MOST} == {}


def test_importing_ticktree_imports_nothing_slow_and_starts_nothing() -> None:
    import subprocess
    import sys

    program = (
        "import sys, threading; import ticktree;"
        "slow = {'numpy', 'rich', 'click', 'psutil', 'asyncio', 'ticktree.profile'} & set(sys.modules);"
        "print(sorted(slow), threading.active_count(), ticktree.snapshot().root.count)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "1", "0"]


def test_no_two_test_files_share_a_name() -> None:
    """Pytest imports them by their names alone."""
    names = [path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py"]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
