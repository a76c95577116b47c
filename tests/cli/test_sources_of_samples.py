"""Whose source `ticktree run` reads after a run: the program's, not that of the packages that it imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticktree.cli.sampling import _often, _own_source
from ticktree.profile import CodeLine, SampledStack, Weight


@pytest.mark.parametrize(
    ("folder", "is_own"),
    [(".", True), ("venv/lib/python3.11/site-packages/torch", False), ("lib/python3/dist-packages", False)],
)
def test_packages_are_not_the_programs_wherever_they_are(tmp_path: Path, folder: str, is_own: bool) -> None:
    file = tmp_path / folder / "train.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("x = 1\n")
    assert (_own_source(str(file)) is not None) == is_own


def test_files_with_hardly_any_samples_are_left_out() -> None:
    def stack(*files: str) -> SampledStack:
        return SampledStack("", "", "running", tuple(CodeLine("f", file, 1) for file in files))

    stacks = [(stack("train.py", "step.py"), Weight(995, 995)), (stack("train.py", "rare.py"), Weight(5, 5))]
    assert _often(stacks) == {"train.py", "step.py"}
