from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.otlp_collector import Collector


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent to this machine needs no proxy."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[CommandLine]:
    line = CommandLine(tmp_path)
    for name in [name for name in line.env if name.startswith("OTEL_") or name.lower().endswith("_proxy")]:
        del line.env[name]
    return line


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector
