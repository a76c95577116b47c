"""What one look at a run found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ticktree.profile import Profile

State: TypeAlias = Literal["running", "ended", "finished", "saved", "lost"]
"""Running; ended while it was watched; ended before; a profile saved as a file; not to be read any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A run at one moment.

    Attributes:
        name: what the run is called; not yet safe to show.
        state: what has become of it.
        at_ns: when this was, on a clock that never goes back.
        took_ns: how long reading took.
        profile: what was recorded so far; None where it could not be read.
        running_ns: how long the run had been going on; None where that is not known.
        exit_status: of the program as Python has it, negative for a signal; None where it is not known.
        trouble: why something could not be read, or is missing; "" where nothing is wrong.
    """

    name: str
    state: State
    at_ns: int
    took_ns: int
    profile: Profile | None = None
    running_ns: int | None = None
    exit_status: int | None = None
    trouble: str = ""

    @property
    def is_last(self) -> bool:
        """Whether nothing can change any more."""
        return self.state in ("ended", "finished", "saved")
