"""Installs the peers into the environment that runs this, one by one: failures are reported and skipped.

The benchmarks then report such a peer as absent, with the reason.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements-peers.txt"
CONSTRAINTS = HERE.parent / "constraints.txt"


def requirements() -> list[list[str]]:
    """The arguments of `pip install`, a list a line."""
    lines = (line.strip() for line in REQUIREMENTS.read_text().splitlines())
    return [shlex.split(line) for line in lines if line and not line.startswith("#")]


def install(arguments: list[str]) -> bool:
    """Whether pip could."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--constraint", str(CONSTRAINTS)]
    return subprocess.run([*pip, *arguments], check=False).returncode == 0


def main() -> None:
    for arguments in requirements():
        print("ready" if install(arguments) else "will be absent", arguments[-1], sep=": ", flush=True)


if __name__ == "__main__":
    main()
