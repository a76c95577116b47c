"""What a run has gathered of the other runs of its job (session/gathering.py).

ticktree-runs/RUN/job/expected          how many there are
ticktree-runs/RUN/job/ID.json.gz        their profiles, by the ids of their runs, those that came in time
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.run.atomic import write_atomically
from ticktree.run.naming import clean_name

if TYPE_CHECKING:
    from ticktree.run.directory import RunDirectory

JOB = "job"
_EXPECTED = "expected"
_ENDING = ".json.gz"


def expect(run: RunDirectory, count: int) -> None:
    """Note how many other runs there are.

    Raises:
        OSError: The directory cannot be written.
    """
    (run.path / JOB).mkdir(exist_ok=True)
    write_atomically(run.path / JOB / _EXPECTED, f"{count}\n".encode(), follow=False)


def gathered(run: Path) -> Sequence[Path]:
    """The profiles of other runs that a run's directory holds."""
    return sorted((run / JOB).glob(f"*{_ENDING}"))


def keep(run: RunDirectory, run_id: str, profile: bytes) -> None:
    """Keep the profile of another run, as gzipped JSON.

    Raises:
        OSError: The directory cannot be written.
    """
    write_atomically(run.path / JOB / f"{clean_name(run_id)}{_ENDING}", profile, follow=False)


def copied_run(path: Path) -> str | None:
    """The id of the run that a file is a gathered copy of; None where it is none."""
    is_copy = path.parent.name == JOB and path.name.endswith(_ENDING)
    return path.name.removesuffix(_ENDING) if is_copy else None


def missing(run: Path) -> int:
    """How many of the other runs did not come."""
    with suppress(OSError, ValueError):
        return max(0, int((run / JOB / _EXPECTED).read_text()) - len(gathered(run)))
    return 0
