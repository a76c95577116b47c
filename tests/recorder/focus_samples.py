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
from ticktree.session import Recorder

Sample = Callable[[str], ModuleType]


def samples(
    name: str, head: str, folder: Path, monkeypatch: pytest.MonkeyPatch, recorder: Recorder
) -> Iterator[Sample]:
    """What imports a module of that name and of a given source, in which `advance(ns)` moves the clock."""
    monkeypatch.syspath_prepend(str(folder))

    def made(source: str) -> ModuleType:
        (folder / f"{name}.py").write_text(
            f"from focus_clock import advance\n{head}{textwrap.dedent(source)}"
        )
        return importlib.import_module(name)

    clock = ModuleType("focus_clock")
    clock.advance = recorder.advance  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "focus_clock", clock)
    yield made
    sys.modules.pop(name, None)


def below(node: Node) -> dict[str, Any]:
    return {name: (child.count, child.total_ns, below(child)) for name, child in node.children.items()}
