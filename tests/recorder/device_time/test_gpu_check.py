"""The check for machines with a GPU: its page, its status, and what of it runs without one."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def gpu():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("gpu")
    sys.modules.pop("gpu")


def with_values(gpu, monkeypatch, value):
    parts = [replace(part, measure=lambda _, lines=part.lines: [value] * len(lines)) for part in gpu.PARTS]
    monkeypatch.setattr(gpu, "PARTS", parts)
    monkeypatch.setattr(gpu, "torch_with_gpu", lambda: FakeTorch())


class FakeTorch:
    __version__ = "2"

    class cuda:  # noqa: N801
        get_device_name = staticmethod(lambda: "H100")


def rows(text: str) -> list[str]:
    return [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]


def test_the_committed_page_has_a_row_for_each_figure(gpu, tmp_path) -> None:
    blank = tmp_path / "blank.md"
    assert gpu.main(["--blank", "-o", str(blank)]) == 0
    committed = gpu.PAGE.read_text(encoding="utf-8")
    assert rows(committed) == rows(blank.read_text(encoding="utf-8"))
    assert gpu.NOT_MEASURED not in committed or committed == blank.read_text(encoding="utf-8")


def test_without_a_gpu_nothing_is_measured_and_no_page_is_written(gpu, monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.setattr(gpu, "torch_with_gpu", lambda: None)
    assert gpu.main(["-o", str(tmp_path / "page.md")]) == 2
    assert not list(tmp_path.iterdir())
    assert "nothing was measured" in capsys.readouterr().out


@pytest.mark.parametrize(("value", "status", "verdict"), [(0.0, 0, "met"), (1000.0, 1, "missed")])
def test_the_status_says_whether_every_target_is_met(
    gpu, monkeypatch, tmp_path, value, status, verdict
) -> None:
    with_values(gpu, monkeypatch, value)
    page = tmp_path / "page.md"
    assert gpu.main(["-o", str(page)]) == status
    text = page.read_text(encoding="utf-8")
    assert "H100, torch 2" in text
    assert text.count(f"| {verdict} |") == sum(
        line.target is not None for part in gpu.PARTS for line in part.lines
    )
    assert gpu.NOT_MEASURED not in text


def test_a_part_that_fails_says_why_and_the_others_are_measured(gpu, monkeypatch, tmp_path) -> None:
    with_values(gpu, monkeypatch, 0.0)

    def fail(_):
        raise RuntimeError("no such device")

    monkeypatch.setattr(gpu, "PARTS", [replace(gpu.PARTS[0], measure=fail), *gpu.PARTS[1:]])
    page = tmp_path / "page.md"
    assert gpu.main(["-o", str(page)]) == 1
    assert page.read_text(encoding="utf-8").count("failed: RuntimeError: no such device") == len(
        gpu.PARTS[0].lines
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_needs_no_gpu_runs_on_a_cpu(gpu, monkeypatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(gpu, "ROUNDS", 1)
    (percent,) = gpu.vector(torch, device="cpu", environments=16, ticks=100)
    assert isinstance(percent, float)
    assert gpu.ranks(torch, backend="gloo") == (0.0,)
