"""Modules made on the spot, whose calls a recorder on a clock of its own keeps in focus."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ticktree.profile import Node
from ticktree.recorder.focus import end_focus
from ticktree.session import Recorder

Sample = Callable[[str], ModuleType]


def fixtures(name: str, head: str = "") -> tuple[Any, Any]:
    """The fixtures `recorder`, and `sample`, which imports a module of that name and of a given source.

    In the module, behind `head`, `advance(ns)` moves the recorder's clock.
    """

    @pytest.fixture(name="recorder")
    def _recorder() -> Iterator[Recorder]:
        yield Recorder(virtual_clock=True)
        end_focus()

    @pytest.fixture(name="sample")
    def _sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorder: Recorder) -> Iterator[Sample]:
        monkeypatch.syspath_prepend(str(tmp_path))

        def made(source: str) -> ModuleType:
            text = f"from focus_clock import advance\n{head}{textwrap.dedent(source)}"
            (tmp_path / f"{name}.py").write_text(text)
            return importlib.import_module(name)

        clock = ModuleType("focus_clock")
        clock.advance = recorder.advance  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "focus_clock", clock)
        yield made
        sys.modules.pop(name, None)

    return _recorder, _sample


def below(node: Node) -> dict[str, Any]:
    return {name: (child.count, child.total_ns, below(child)) for name, child in node.children.items()}
