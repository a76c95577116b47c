"""Nothing is imported for a library before the program imports the library."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys

import pytest

import ticktree
from ticktree import instruments as instrument
from ticktree.instruments.registry import Library

# What programs that do nothing have no use for: each takes milliseconds.
HEAVY = {
    *(
        "ast",
        "csv",
        "ctypes",
        "dataclasses",
        "dis",
        "email",
        "importlib.metadata",
        "inspect",
        "linecache",
        "socket",
    ),
    *("subprocess", "tempfile", "tokenize", "uuid", "zipfile", "numpy", "rich", "click", "psutil", "asyncio"),
}
if sys.version_info >= (3, 14):
    HEAVY -= {"ast"}  # typing.NamedTuple itself imports it there, in 1 to 2 ms


def loaded_by(program, **environment):
    """The modules that a process has at its end."""
    program += "\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def without():
    return loaded_by("import typing, re, threading, contextlib, pathlib, json, importlib.machinery")


def test_arming_imports_no_instrument_of_a_library_that_is_not_imported(without):
    loaded = loaded_by("import ticktree; ticktree.instrument()") - without
    ours = {name for name in loaded if name.startswith("ticktree.")}
    of_libraries, of_python = (
        {
            library.module.partition(":")[0]
            for library in instrument.BUILT_IN
            if bool(library.packages) is is_one
        }
        for is_one in (True, False)
    )
    # That of joblib's workers is in one of Python's own.
    packages = of_libraries - of_python
    assert not {name for name in ours for package in packages if name.startswith(package)}
    assert not {name for name in ours if name.startswith("ticktree.remote")}
    assert {name for name in ours if name.startswith("ticktree.instruments.waits.")} == {
        "ticktree.instruments.waits.threads"
    }
    assert not loaded & HEAVY


def test_a_process_of_a_run_imports_no_more_than_it_takes_to_record(without, tmp_path):
    from ticktree.run.finishing import RunDirectory

    run = RunDirectory.create("lazy", tmp_path, supervised=True)
    try:
        auto = instrument.as_environment(instrument.select_libraries(["default"]))
        loaded = loaded_by(
            "import ticktree.session as session; session.arm(); assert session.current.armed",
            TICKTREE_RUN=str(run.path),
            TICKTREE_INSTRUMENT=auto,
        )
    finally:
        run.finish()
    assert "ticktree.instruments" in loaded
    assert not (loaded - without) & HEAVY


def made_up(folder, source):
    """A library and its instrument; the latter is called in the environment as a third party's would be."""
    package = folder / "slowlib"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from slowlib.parts import work as held\nfrom slowlib import parts\n"
    )
    (package / "parts.py").write_text("def work():\n    return 'done'\n")
    (folder / "slowlib_instrument.py").write_text(source)
    importlib.invalidate_caches()
    return Library("slowlib", "slowlib_instrument", "Its work.", packages=("slowlib", "slowlib_too"))


INSTRUMENT = """
from ticktree.instruments import Patches

patches = Patches()

def install(recorder):
    patches.watch("slowlib.parts", lambda patches, module: patches.wrap(module, "work", lambda _: lambda: "wrapped"))

def uninstall():
    patches.undo()
"""


@pytest.fixture
def library(tmp_path, monkeypatch, request):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(instrument.INSTRUMENT_VARIABLE, "")
    yield lambda source: made_up(tmp_path, source)
    instrument.uninstall()
    for name in ("slowlib", "slowlib.parts", "slowlib_instrument"):
        sys.modules.pop(name, None)


def test_an_instrument_comes_with_its_library_and_before_anybody_holds_what_it_wraps(library):
    instrument._install([library(INSTRUMENT)])
    assert instrument.installed_names() == ("slowlib",)
    assert "slowlib_instrument" not in sys.modules
    slowlib = importlib.import_module("slowlib")
    assert (slowlib.held(), slowlib.parts.work()) == ("wrapped", "wrapped")
    ticktree.uninstrument()
    assert slowlib.parts.work() == "done"
    assert os.environ[instrument.INSTRUMENT_VARIABLE] == ""


def test_of_a_library_that_is_imported_already_the_instrument_comes_at_once(library):
    made = library(INSTRUMENT)
    slowlib = importlib.import_module("slowlib")
    instrument._install([made])
    assert slowlib.parts.work() == "wrapped"


def test_one_that_is_taken_back_before_does_not_come(library):
    instrument._install([library(INSTRUMENT)])
    ticktree.uninstrument("slowlib")
    slowlib = importlib.import_module("slowlib")
    assert slowlib.parts.work() == "done"
    assert "slowlib_instrument" not in sys.modules


def test_one_that_fails_as_its_library_is_imported_is_named_and_left_out(library, capsys):
    instrument._install([library("def install(recorder): 1 / 0\ndef uninstall(): pass\n")])
    assert os.environ[instrument.INSTRUMENT_VARIABLE] == "slowlib"
    assert importlib.import_module("slowlib").parts.work() == "done"
    said = "ticktree: cannot instrument slowlib: ZeroDivisionError: division by zero\n"
    assert capsys.readouterr() == ("", said)
    assert instrument.installed_names() == ()
    assert os.environ[instrument.INSTRUMENT_VARIABLE] == ""


def test_off_for_good_nothing_is_wrapped_in_a_process_of_a_run(tmp_path):
    from ticktree.run.finishing import RunDirectory

    run = RunDirectory.create("off", tmp_path, supervised=True)
    try:
        program = "import ticktree.session as session; session.arm(); assert session.current.armed"
        loaded = loaded_by(
            program, TICKTREE_RUN=str(run.path), TICKTREE_INSTRUMENT="waits,gc", TICKTREE_OFF="1"
        )
    finally:
        run.finish()
    assert "ticktree.instruments" not in loaded
