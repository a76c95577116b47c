"""The house's own rules: imports flow one way and in no circle, and nothing grows beyond reading."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "ticktree"
ROOT = SOURCE.parents[1]
NATIVE = SOURCE / "recorder"
LINES_AT_MOST = 500
A_SCREEN = 50

# What Cython writes.
GENERATED = {"_native.c", "_remote.c"}
# What each room may import of ticktree, beside itself and `errors`. Arrows never run back.
MAY_IMPORT = {
    "errors": set(),
    "entry_points": set(),
    "display": set(),
    "recorder": set(),
    "profile": {"display"},
    "files": set(),
    "machine": {"files", "profile"},
    "run": {"files", "machine", "recorder", "profile"},
    "importers": {"files", "run", "profile"},
    "loading": {"files", "run", "importers", "profile"},
    "history": {"files", "run", "profile"},
    "fleet": {"files", "machine", "run", "loading", "profile"},
    "supervisor": {"files", "machine", "run", "profile"},
    "analysis": {"entry_points", "profile"},
    "outputs": {"profile", "analysis"},
    "configuration": {"files", "analysis"},
    "live": {"run", "loading", "profile", "analysis", "outputs"},
    "remote": {"recorder"},
    "instruments": {"entry_points", "recorder", "remote", "run", "fleet"},
    "session": {
        *("files", "recorder", "run", "fleet", "profile", "outputs", "instruments", "supervisor"),
        *("display", "live"),
    },
    "compat": {"", "files", "session", "recorder", "run", "loading", "profile", "outputs"},
    "demo": {""},
    "publishing": {"", "machine", "run", "profile", "analysis", "outputs"},
    "trackers": {"profile", "outputs"},
    "cli": {
        *("", "recorder", "run", "profile", "analysis", "outputs", "live", "session", "demo", "instruments"),
        *("files", "machine", "loading", "history", "fleet", "supervisor", "importers"),
        "publishing",
        "configuration",
    },
    "testing": {
        "files",
        "recorder",
        "run",
        "loading",
        "profile",
        "analysis",
        "outputs",
        "session",
        "configuration",
    },
    "__main__": {"cli"},
    "__init__": {"session", "profile", "loading", "run", "instruments"},
}


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_rooms(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
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


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def when_imported(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """What a module imports as it is imported itself: not later in a function, and not for types alone."""
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement
        elif isinstance(statement, ast.Try):
            yield from when_imported(
                [*statement.body, *(each for one in statement.handlers for each in one.body)]
            )
        elif isinstance(statement, ast.If):
            is_for_types = ast.unparse(statement.test) == "TYPE_CHECKING"
            yield from when_imported(statement.orelse if is_for_types else statement.body + statement.orelse)


def test_no_file_imports_itself_by_way_of_others() -> None:
    files = {module_of(path): path for path in SOURCE.rglob("*.py*") if path.suffix in (".py", ".pyi")}
    graph: dict[str, set[str]] = {}
    for module, path in files.items():
        graph[module] = set()
        for statement in when_imported(parsed(path).body):
            for alias in statement.names:
                origin = statement.module if isinstance(statement, ast.ImportFrom) else alias.name
                inner = f"{origin}.{alias.name}"
                graph[module].add(inner if inner in files else str(origin))
    # Raises a CycleError that names the circle.
    assert set(TopologicalSorter(graph).static_order()) >= files.keys()


# `Profile.to_json()` is what users expect of it.
ITS_OWN_CODEC = ("ticktree.profile.profile", "ticktree.profile.codec")


def test_no_file_imports_itself_by_way_of_imports_in_functions() -> None:
    files = {module_of(path): path for path in SOURCE.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for module, path in files.items():
        if path.name == "__init__.py":
            continue  # a package's face imports what it shows
        graph[module] = set()
        for statement in imports_but_those_for_types(parsed(path)):
            for alias in statement.names:
                origin = statement.module if isinstance(statement, ast.ImportFrom) else alias.name
                inner = f"{origin}.{alias.name}"
                found = inner if inner in files else str(origin)
                if (module, found) != ITS_OWN_CODEC:
                    graph[module].add(found)
    # Raises a CycleError that names the circle.
    assert set(TopologicalSorter(graph).static_order()) >= graph.keys()


def imports_but_those_for_types(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from imports_but_those_for_types(child)


# A section that is unpickled is the section of that name in the program's own recorder.
OWN_NAME_OF = {"section.pxi": {""}}


def test_the_native_module_imports_what_the_recorder_may() -> None:
    imported = re.compile(r"^\s*(?:from|import|cimport)\s+ticktree(?:\.(\w+))?", re.MULTILINE)
    for path in (SOURCE / "recorder").rglob("*.p[yx][xid]"):
        rooms = {match[1] or "" for match in imported.finditer(path.read_text(encoding="utf-8"))}
        assert rooms <= MAY_IMPORT["recorder"] | {"recorder", "errors"} | OWN_NAME_OF.get(path.name, set()), (
            path
        )


# -- the recorder's C ------------------------------------------------------------------------------------------------

CORE = NATIVE / "core"
# What the folders beside core/ may include of each other; of core/ its public headers alone.
MAY_INCLUDE = {
    "core": set(),
    "experiments": {"core"},
    "native": {
        "core",
        "critical_path",
        "experiments",
        "memory_sampling",
        "remote_parent",
    },  # host.h: all of it
    "critical_path": {"core", "experiments"},
    "device_time": {"core"},
    "focus": {"core", "native"},
    "memory_sampling": {"core"},
    "remote_parent": {"core", "critical_path"},
    "wrapping": {"core", "critical_path", "native"},
}
PUBLIC = {"core.h", "hot.h"}
FROM_AN_ENTRY_AT_MOST = 8  # files of core/ that entering a section may lead to


def c_sources(folder: Path = NATIVE) -> list[Path]:
    return sorted(path for path in folder.rglob("*.[ch]") if path.name not in GENERATED)


def included(path: Path) -> set[Path]:
    """The project's own headers that a C file includes."""
    names = re.findall(r'^#include "(?!internal/)([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
    return {NATIVE / name if "/" in name else path.with_name(name) for name in names}


def code_of(path: Path) -> str:
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', '""', path.read_text(encoding="utf-8"), flags=re.DOTALL)


def c_functions(path: Path) -> dict[str, str]:
    """The functions that a C file defines, each with its text; comments are blank."""
    text = re.sub(
        r"/\*.*?\*/",
        lambda found: "\n" * found[0].count("\n"),
        path.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    head = re.compile(r"^(?!typedef|struct|enum|#)[\w*][^;={}#]*?\b(tt_\w+)\([^;{}]*\)\s*\{", re.MULTILINE)
    return {
        found[1]: text[found.start() : text.index("\n", end_of_block(text, found.end()))]
        for found in head.finditer(text)
    }


def end_of_block(text: str, at: int) -> int:
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def test_no_c_file_includes_itself_by_way_of_others() -> None:
    graph = {path: included(path) for path in c_sources()}
    assert set().union(*graph.values()) <= graph.keys()
    # Raises a CycleError that names the circle.
    assert set(TopologicalSorter(graph).static_order()) == graph.keys()


def test_the_core_knows_nothing_of_what_is_around_it_and_shows_two_headers() -> None:
    for path in c_sources():
        folder = path.relative_to(NATIVE).parts[0]
        for header in included(path):
            other = header.relative_to(NATIVE).parts[0]
            assert other == folder or other in MAY_INCLUDE[folder], f"{path} includes {header}"
            if other == "core" and folder not in ("core", "native"):
                assert header.name in PUBLIC, f"{path} includes {header}"


def test_entering_a_section_leads_to_few_files() -> None:
    """Every function of the core that `tt_enter` may call, and what these may call."""
    functions = {name: (path, text) for path in c_sources(CORE) for name, text in c_functions(path).items()}
    reached, ahead = set(), ["tt_enter"]
    while ahead:
        name = ahead.pop()
        if name not in reached and name in functions:
            reached.add(name)
            ahead += re.findall(r"\b(tt_\w+)\b", functions[name][1])
    files = {functions[name][0].name for name in reached}
    assert {"tt_push_as", "tt_node_make", "tt_thread_make", "tt_close", "tt_tick_end"} <= reached
    assert len(files) <= FROM_AN_ENTRY_AT_MOST, sorted(files)


def test_there_is_one_hash_table() -> None:
    """`% slots` and `& (slots - 1)` are how the others began."""
    probing = re.compile(r"& \([\w.>-]+ - 1\)")
    found = {path.relative_to(NATIVE).as_posix() for path in c_sources() if probing.search(code_of(path))}
    assert found == {"core/memory.c"}


def functions_of(path: Path) -> Iterator[tuple[str, int]]:
    """Each function of a file, and how many lines it has beside its docstring."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            said = (ast.get_docstring(node, clean=False) or "").splitlines()
            yield node.name, (node.end_lineno or 0) - node.lineno + 1 - len(said)


def test_no_function_is_longer_than_a_screen() -> None:
    lengths = {(path, name): n for path in SOURCE.rglob("*.py") for name, n in functions_of(path)}
    assert lengths, "nothing was found"
    assert {f"{path.name}: {name}": n for (path, name), n in lengths.items() if n > A_SCREEN} == {}


def test_no_c_function_is_longer_than_a_screen() -> None:
    sources = [*c_sources(), *c_sources(ROOT / "tests" / "recorder" / "core")]
    lengths = {
        (path.name, name): text.count("\n") + 1
        for path in sources
        for name, text in c_functions(path).items()
    }
    assert len(lengths) > 300, "nothing was found"
    assert {key: n for key, n in lengths.items() if n > A_SCREEN} == {}


def source_files() -> list[Path]:
    folders = ("src", "tests", "benchmarks", "workloads")
    endings = {".py", ".pyx", ".pxi", ".pxd", ".pyi", ".h", ".c"}
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in endings and path.name not in GENERATED
    )


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


def test_no_two_classes_share_a_name() -> None:
    """One noun per concept: where two rooms need the same one, one of them has the wrong one."""
    found: dict[str, list[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(path.relative_to(SOURCE).as_posix())
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_no_two_test_files_share_a_name() -> None:
    """Pytest imports them by their names alone."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


# -- the tests -------------------------------------------------------------------------------------------------------

TESTS = ROOT / "tests"
# Folders of tests whose subject is no single room, each with its subject.
WITHOUT_A_ROOM = {
    "browser": "the pages of report-ui/, in a browser",
    "endings": "programs that crash, are killed, or run out of memory",
    "processes": "programs of several processes",
    "support": "what several test modules use",
    "viewers": "other projects' viewers of exported files",
    "workloads": "the programs in workloads/",
}
FILES_OF_TESTS = {"fixtures", "golden", "programs", "snapshots"}  # data, and programs that tests run


def test_tests_mirror_the_source() -> None:
    folders = {
        folder.relative_to(TESTS)
        for path in TESTS.rglob("*.py")
        for folder in path.parents
        if folder.is_relative_to(TESTS) and folder != TESTS and folder.name not in FILES_OF_TESTS
    }
    of_rooms = {folder for folder in folders if folder.parts[0] not in WITHOUT_A_ROOM}
    assert {str(folder) for folder in of_rooms if not (SOURCE / folder).is_dir()} == set()
    rooms = {path.parent.relative_to(SOURCE) for path in SOURCE.glob("*/__init__.py")}
    assert rooms <= folders


def test_a_folder_of_tests_holds_tests_and_support_holds_their_helpers() -> None:
    helpers = {
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("*.py")
        if not path.name.startswith("test_") and path.name != "conftest.py" and path.parent.name != "programs"
    }
    assert {path for path in helpers if not path.startswith("support/")} == set()


@pytest.mark.parametrize(
    "path", sorted(TESTS.rglob("*.py")), ids=lambda path: path.relative_to(TESTS).as_posix()
)
def test_no_test_edits_the_import_path(path: Path) -> None:
    """`pythonpath` in pyproject.toml is where tests import from. Programs in strings have a path of their own."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            assert ast.unparse(node.func.value) != "sys.path", f"line {node.lineno}"
        elif isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            assert all(not ast.unparse(target).startswith("sys.path") for target in targets), (
                f"line {node.lineno}"
            )
