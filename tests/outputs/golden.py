"""What the views look like, kept in files to be read; `python tests/outputs/golden.py` writes them anew."""

from __future__ import annotations

from pathlib import Path

from invented_profiles import control, training

from ticktree.outputs import OUTPUTS, ViewOptions

FOLDER = Path(__file__).parent / "golden"

CASES = {
    "training-60.txt": (training, "terminal", ViewOptions(width=60)),
    "training-100.txt": (training, "terminal", ViewOptions(width=100)),
    "training-200-all.txt": (training, "terminal", ViewOptions(width=200, all=True, call_sites=True)),
    "training-warmup.txt": (training, "terminal", ViewOptions(width=100, phase="warmup")),
    "control-60.txt": (control, "terminal", ViewOptions(width=60)),
    "control-100.txt": (control, "terminal", ViewOptions(width=100)),
    "control-100-color.txt": (control, "terminal", ViewOptions(width=100, color=True)),
    "control.md": (control, "markdown", ViewOptions()),
}


def rendered(name: str) -> bytes:
    """Return what the file `name` should hold."""
    profile, output, options = CASES[name]
    return OUTPUTS[output].render(profile(), options)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for case in CASES:
        (FOLDER / case).write_bytes(rendered(case))
