"""Whether a face records: as its program says by the face's own functions, else as the session does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticktree.recorder import OFF_FOR_GOOD
from ticktree.session import current

if TYPE_CHECKING:
    from ticktree.recorder import Recorder


class Switch:
    """What a face's functions for enabling and disabling act on.

    Until the program uses one of them, the face records whenever the session does: under `ticktree run` the program
    shows what its author marked without being told to.
    """

    def __init__(self) -> None:
        self._said: bool | None = None

    @property
    def recorder(self) -> Recorder | None:
        """What records now; None where nothing does."""
        on = current.recorder.recording if self._said is None else self._said
        return current.recorder if on else None

    def turn_on(self) -> None:
        """Record from now on; in memory only, unless there is a run."""
        if OFF_FOR_GOOD:
            return
        current.resume()
        self._said = True

    def turn_off(self) -> None:
        """Record nothing of this face from now on; what else the program records goes on."""
        self._said = False
