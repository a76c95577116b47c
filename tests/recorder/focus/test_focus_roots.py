"""Functions that can be in focus, and their names."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ticktree.errors import TicktreeError
from ticktree.recorder.focus import begin_focus, check_names, end_focus
from ticktree.session import Recorder

KINDS = """
    import functools

    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)
        return wrapper

    def bare(function):
        def wrapper(*args):
            return function(*args)
        return wrapper

    def below():
        return 1

    class Base:
        def inherited(self):
            return below()

    class Kinds(Base):
        def method(self):
            return below()

        @property
        def value(self):
            return below()

        @staticmethod
        def static():
            return below()

        @classmethod
        def of_class(cls):
            return below()

        @logged
        def wrapped(self):
            return below()

        @bare
        def decorated(self):
            return below()

        @functools.lru_cache(maxsize=None)
        def cached(self):
            return below()

        class Inner:
            def method(self):
                return below()

    def outer():
        def nested():
            return below()
        return nested()

    shortcut = lambda: below()
    alias = below
    kinds = Kinds()
"""

CALLS: dict[str, Callable[[Any], Any]] = {
    "Kinds.method": lambda module: module.kinds.method(),
    "Kinds.value": lambda module: module.kinds.value,
    "Kinds.static": lambda module: module.Kinds.static(),
    "Kinds.of_class": lambda module: module.Kinds.of_class(),
    "Kinds.wrapped": lambda module: module.kinds.wrapped(),
    "Kinds.decorated": lambda module: module.kinds.decorated(),
    "Kinds.cached": lambda module: module.kinds.cached(),
    "Kinds.Inner.method": lambda module: module.Kinds.Inner().method(),
    "Kinds.inherited": lambda module: module.kinds.inherited(),
    "outer.nested": lambda module: module.outer(),
    "outer.<locals>.nested": lambda module: module.outer(),
    "shortcut": lambda module: module.shortcut(),
}


@pytest.fixture(name="kinds")
def _kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "focus_kinds.py").write_text(textwrap.dedent(KINDS))
    yield importlib.import_module("focus_kinds")
    end_focus()
    sys.modules.pop("focus_kinds", None)


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_every_kind_are_found_by_their_names(name: str, kinds: ModuleType) -> None:
    recorder = Recorder()
    begin_focus(recorder, [f"focus_kinds.{name}"])
    calls = 1 if name == "Kinds.cached" else 3
    for _ in range(3):
        assert CALLS[name](kinds) == 1
    end_focus()
    ((shown, root),) = recorder.snapshot().root.children.items()
    assert shown.startswith(f"{name} : focus_kinds.py @ L")
    assert root.count == calls
    assert [child.count for child in root.children.values()] == [calls]


def test_a_function_with_other_references_is_found_for_all_callers(kinds: ModuleType) -> None:
    recorder = Recorder()
    method = kinds.kinds.method
    begin_focus(recorder, ["focus_kinds.Kinds.method"])
    for _ in range(3):
        kinds.kinds.method()
        method()
    end_focus()
    assert [node.count for node in recorder.snapshot().root.children.values()] == [6]


def test_signatures_and_names_do_not_change(kinds: ModuleType) -> None:
    import inspect

    signature = inspect.signature(kinds.Kinds.method)
    begin_focus(Recorder(), ["focus_kinds.Kinds.method"])
    kinds.kinds.method()
    assert inspect.signature(kinds.Kinds.method) == signature
    assert kinds.Kinds.method.__qualname__ == "Kinds.method"


def test_a_name_without_a_function_changes_nothing(kinds: ModuleType) -> None:
    recorder = Recorder()
    begin_focus(recorder, ["focus_kinds.Kinds.nothing", "no.such.module"])
    kinds.kinds.method()
    end_focus()
    assert recorder.snapshot().root.children == {}


@pytest.mark.parametrize("name", ["", "a..b", "a b", "a.1", "a/b"])
def test_a_malformed_name_is_refused(name: str) -> None:
    with pytest.raises(TicktreeError, match="names no function"):
        check_names([name])


def test_too_many_functions_are_refused() -> None:
    with pytest.raises(TicktreeError, match="at most 32"):
        check_names([f"f{at}" for at in range(33)])
    assert check_names(["f", "f"]) == ("f",)


def test_no_function_and_too_deep_are_refused() -> None:
    for names, depth in (((), 3), (("f",), -1), (("f",), 1000)):
        with pytest.raises(TicktreeError):
            begin_focus(Recorder(), names, depth)
