"""What a workload says where something is not installed that it needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ticktree.demo.requirements import require
from ticktree.errors import TicktreeError

ROOT = Path(__file__).parents[2]
WORKLOADS = sorted(path for path in (ROOT / "workloads").iterdir() if path.is_dir())
# Those that need nothing to print their usage, the other side of mlagents_trainer, which runs where it does, and the
# program that does not know ticktree.
EXEMPT = (
    "ppo_single_file/ppo.py",
    "mlagents_trainer/train.py",
    "mlagents_trainer/player.py",
    "rgb_convlstm/test_profiling.py",
)
SCRIPTS = [
    script
    for workload in WORKLOADS
    for script in sorted(workload.glob("*.py"))
    if f"{workload.name}/{script.name}" not in EXEMPT
]


def bare(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python, with what ticktree needs and not one library of a workload."""
    hide = (
        "import importlib.metadata as m, importlib.util as u\n"
        "found, spec = m.distribution, u.find_spec\n"
        "hidden = ('torch', 'lerobot', 'cv2', 'mlagents')\n"
        "def distribution(name):\n"
        "    if name in hidden: raise m.PackageNotFoundError(name)\n"
        "    return found(name)\n"
        "m.distribution = distribution\n"
        "u.find_spec = lambda name, *rest: None if name in hidden else spec(name, *rest)\n"
    )
    (folder / "sitecustomize.py").write_text(hide, encoding="utf-8")
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TICKTREE")}
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**variables, "PYTHONPATH": path, "TICKTREE_MEMORY_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=500,
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_script_without_its_libraries_ends_in_one_line_that_says_how_to_install_them(script, tmp_path):
    done = bare(tmp_path, str(script))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith(f"{script.parent.name} needs ")
    assert "requirements.txt" in done.stderr or "install.sh" in done.stderr


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda path: path.name)
def test_so_does_the_demo_before_anything_is_recorded(workload, tmp_path):
    done = bare(tmp_path, "-c", DEMO.format(ROOT / "workloads", workload.name))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"ticktree: {workload.name} needs ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "ticktree-runs").exists()


# As from a checkout, wherever ticktree is installed.
DEMO = """
import sys
from pathlib import Path
import ticktree.cli.demo as demo
demo._places = lambda: [Path({!r})]
sys.argv[1:] = ["demo", {!r}]
from ticktree.cli import main
main()
""".replace("{!r}", "'{}'")


def test_what_is_provided_by_another_package_or_asked_for_in_a_comment_is_not_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("ticktree.demo.requirements._MODULES", {"opencv-python-headless": ("json",)})
    file = tmp_path / "requirements.txt"
    file.write_text("# no-such-thing\n\nopencv-python-headless>=4\nnumpy[all]>=1\nclick\n", encoding="utf-8")
    require(tmp_path)
    file.write_text("click\nno-such-thing==3\n", encoding="utf-8")
    with pytest.raises(
        TicktreeError, match=r"needs no-such-thing, not installed here: python -m pip install -r "
    ):
        require(tmp_path)
