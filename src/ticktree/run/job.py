"""What a run has gathered of the other runs of its job (session/gathering.py).

ticktree-runs/RUN/job/expected          how many there are
ticktree-runs/RUN/job/*.json.gz         their profiles, those that came in time
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.run.atomic import write_atomically

if TYPE_CHECKING:
    from ticktree.run.directory import RunDirectory

JOB = "job"
_EXPECTED = "expected"


def expect(run: RunDirectory, count: int) -> None:
    """Note how many other runs there are.

    Raises:
        OSError: The directory cannot be written.
    """
    (run.path / JOB).mkdir(exist_ok=True)
    write_atomically(run.path / JOB / _EXPECTED, f"{count}\n".encode(), follow=False)


def gathered(run: Path) -> Sequence[Path]:
    """The profiles of other runs that a run's directory holds."""
    return sorted((run / JOB).glob("*.json.gz"))


def missing(run: Path) -> int:
    """How many of the other runs did not come."""
    with suppress(OSError, ValueError):
        return max(0, int((run / JOB / _EXPECTED).read_text()) - len(gathered(run)))
    return 0
