"""The rendered views, in files for people to read.

`PYTHONPATH=tests python -m support.golden_views` writes the files again.
"""

from __future__ import annotations

from pathlib import Path

from support.example_profiles import control, robot, training
from support.example_trainers import crowded_trainer, straggling_trainer
from ticktree.outputs import OUTPUTS, ViewOptions

FOLDER = Path(__file__).parents[1] / "outputs" / "golden"

CASES = {
    "training-60.txt": (training, "terminal", ViewOptions(width=60)),
    "training-100.txt": (training, "terminal", ViewOptions(width=100)),
    "training-200-all.txt": (training, "terminal", ViewOptions(width=200, all=True, call_sites=True)),
    "training-80.txt": (training, "terminal", ViewOptions(width=80, run="")),
    "training.md": (training, "markdown", ViewOptions()),
    "control-60.txt": (control, "terminal", ViewOptions(width=60)),
    "control-100.txt": (control, "terminal", ViewOptions(width=100)),
    "control-100-color.txt": (control, "terminal", ViewOptions(width=100, color=True)),
    "control.md": (control, "markdown", ViewOptions()),
    "robot-60.txt": (robot, "terminal", ViewOptions(width=60)),
    "robot-100.txt": (robot, "terminal", ViewOptions(width=100)),
    "robot.md": (robot, "markdown", ViewOptions()),
    "trainer-60.txt": (straggling_trainer, "terminal", ViewOptions(width=60)),
    "trainer-100.txt": (straggling_trainer, "terminal", ViewOptions(width=100)),
    "trainer-100-color.txt": (straggling_trainer, "terminal", ViewOptions(width=100, color=True)),
    "trainer-by-process-60.txt": (straggling_trainer, "terminal", ViewOptions(width=60, by="process")),
    "trainer-by-process-100.txt": (straggling_trainer, "terminal", ViewOptions(width=100, by="process")),
    "trainer-by-process-200.txt": (straggling_trainer, "terminal", ViewOptions(width=200, by="process")),
    "trainer-by-role-100.txt": (straggling_trainer, "terminal", ViewOptions(width=100, by="role")),
    "trainer-by-process.md": (straggling_trainer, "markdown", ViewOptions(by="process")),
    "crowd-by-thread-100.txt": (crowded_trainer, "terminal", ViewOptions(width=100, by="thread")),
    "training-text.txt": (training, "text", ViewOptions()),
    "control-text.txt": (control, "text", ViewOptions(all=True)),
    "crowd-by-process.md": (crowded_trainer, "markdown", ViewOptions(by="process")),
}


def rendered(name: str) -> bytes:
    """Return what the file `name` should hold."""
    profile, output, options = CASES[name]
    return OUTPUTS[output].render(profile(), options)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for case in CASES:
        (FOLDER / case).write_bytes(rendered(case))
