"""About: what the runs on one side of a comparison are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ticktree.profile import Profile
from ticktree.profile.metadata import Metadata, merged, ordered


@dataclass(frozen=True, slots=True)
class About:
    """The runs on one side.

    Attributes:
        runs: how many.
        metadata: what is known of them, of all together.
    """

    runs: int = 0
    metadata: Metadata = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """What they are called."""
        return [str(name) for name in ordered(self.metadata.get("name", ()))]

    def to_dict(self) -> dict[str, Any]:
        """Return it as `compare --format json` gives it."""
        return {"names": self.names, "runs": self.runs}


def about(runs: Sequence[Profile]) -> About:
    """Return what `runs` are."""
    return About(len(runs), merged(*(run.metadata for run in runs)))
