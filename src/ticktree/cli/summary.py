"""What is printed when a program has ended: its tree, or why there is none."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from ticktree.cli.diagnosis import why_empty
from ticktree.cli.files import named
from ticktree.cli.judging import settings_or_defaults
from ticktree.cli.screen import note, show, view_options
from ticktree.outputs import OUTPUTS
from ticktree.profile import Profile
from ticktree.run.naming import as_typed


def print_summary(profile: Profile, path: Path) -> None:
    """Print a finished run's profile on standard error, and where the run is."""
    reason = why_empty(profile)
    if reason is None:
        view = replace(view_options(sys.stderr), run=named(path), settings=settings_or_defaults())
        show(OUTPUTS["terminal"].render(profile, view), sys.stderr)
    else:
        note(f"Nothing was recorded: {reason}.")
    note("")
    note(f"Run {as_typed(path)}")
