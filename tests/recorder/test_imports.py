"""Callbacks for an import: the module is imported as usual, and they run before or after it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from ticktree.recorder.imports import before_import, when_imported

NAME = "awaited_by_a_test"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes the module that is awaited; afterwards all is as it was."""
    monkeypatch.syspath_prepend(tmp_path)
    finders = list(sys.meta_path)

    def write(text):
        (tmp_path / f"{NAME}.py").write_text(text)
        importlib.invalidate_caches()

    write("here = 1\n")
    yield write
    sys.modules.pop(NAME, None)
    # Ours may have been there for what another test awaited, and goes when nothing is awaited any more.
    assert [item for item in finders if item in sys.meta_path] == sys.meta_path


def test_a_module_that_is_only_looked_for_is_awaited_still(module):
    """Many a program asks whether it can be found, and imports it later."""
    modules = []
    forget = when_imported(NAME, modules.append)
    assert importlib.util.find_spec(NAME).origin.endswith(f"{NAME}.py")
    assert not modules
    loaded = importlib.import_module(NAME)
    assert modules == [loaded]
    forget()


def test_a_module_whose_import_fails_is_awaited_still(module):
    module("1 / 0\n")
    modules = []
    forget = when_imported(NAME, modules.append)
    with pytest.raises(ZeroDivisionError):
        importlib.import_module(NAME)
    assert not modules
    module("here = 'once more'\n")
    importlib.import_module(NAME)
    assert [loaded.here for loaded in modules] == ["once more"]
    forget()


def test_a_callback_before_an_import_may_await_the_module_itself(module):
    events = []

    def begins():
        events.append(("begins", NAME in sys.modules))
        when_imported(NAME, lambda loaded: events.append(("is there", loaded.here)))

    before_import(NAME, begins)
    importlib.import_module(NAME)
    assert events == [("begins", False), ("is there", 1)]
    before_import(NAME, lambda: events.append("is there already"))
    assert events[2:] == ["is there already"]
    when_imported("ticktree.no_such_module", events.append)()  # leaves no pending callback


def test_a_cancelled_callback_is_not_called(module):
    modules = []
    forget = [when_imported(NAME, modules.append), before_import(NAME, lambda: modules.append("begins"))]
    for item in forget:
        item()
        item()
    importlib.import_module(NAME)
    assert not modules


def test_a_module_sees_its_own_loader_and_keeps_it(module):
    module("loader, its = __loader__, __spec__.loader\n")
    plain = type(importlib.util.find_spec(NAME).loader)
    forget = when_imported(NAME, lambda loaded: None)
    loaded = importlib.import_module(NAME)
    assert {
        type(item) for item in (loaded.loader, loaded.its, loaded.__loader__, loaded.__spec__.loader)
    } == {plain}
    forget()


def test_a_package_without_code_of_its_own_is_imported_as_it_is(module, tmp_path):
    (tmp_path / "only_a_folder").mkdir()
    importlib.invalidate_caches()
    events = []
    forget = [
        before_import("only_a_folder", lambda: events.append("begins")),
        when_imported("only_a_folder", events.append),
    ]
    loaded = importlib.import_module("only_a_folder")
    assert loaded.__path__
    assert events == ["begins"]  # it has no event after the import
    for item in forget:
        item()
    del sys.modules["only_a_folder"]


def test_where_nothing_is_awaited_imports_are_as_they_were():
    """In a process of its own: in this one other tests await modules."""
    program = """
import sys
from ticktree.recorder.imports import _finder, before_import, when_imported

_finder.awaited.clear()  # of what is awaited wherever ticktree is imported
sys.meta_path.remove(_finder)
before = list(sys.meta_path)
for await_it in (when_imported, before_import):
    forget = await_it("nowhere", print), await_it("nobody", print)
    assert len(sys.meta_path) == len(before) + 1
    for each in forget:
        each()
    assert sys.meta_path == before
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_finder_of_the_old_kind_is_still_used(tmp_path):
    """Where the interpreter still does so, and unchanged."""
    program = """
import sys, warnings
warnings.simplefilter("ignore")
from ticktree.recorder.imports import when_imported

class Old:
    def find_module(self, name, path=None):
        return self if name == "told_by_the_old" else None
    def load_module(self, name):
        from types import ModuleType
        return sys.modules.setdefault(name, ModuleType(name))

sys.meta_path.insert(0, Old())
when_imported("told_by_the_old", print)
when_imported("wave", lambda module: print(module.__name__))
try:
    import told_by_the_old
except ImportError:
    print("none")
else:
    print("found")
import wave
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    expected = "found\n" if sys.version_info < (3, 12) else "none\nwave\n"
    assert (result.stdout, result.stderr) == (expected, "")


def test_taking_it_back_while_python_ends_raises_nothing(monkeypatch):
    """Then `sys.meta_path` is None."""
    finders = list(sys.meta_path)
    take_back = before_import(NAME, lambda: None)
    with monkeypatch.context() as ending:
        ending.setattr(sys, "meta_path", None)
        take_back()
    before_import(NAME, lambda: None)()
    assert sys.meta_path == finders
