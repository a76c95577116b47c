"""A recorder that is separate from the program's own."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ticktree import recorder as native
from ticktree.session.showing import new_id, print_profile, profile_of, timeline_of

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.profile.timeline import Timeline


class Recorder(native.Recorder):
    """A recorder separate from the program's own, in private memory, for tests and libraries. It records at once.

    Args:
        virtual_clock: Whether time advances only by `advance(ns)`.
        timeline: How many completed calls to keep with start and end; the last ones are kept.
    """

    def __init__(self, *, virtual_clock: bool = False, timeline: int = 0) -> None:  # noqa: ARG002 - taken by __cinit__
        self.enable()

    @cached_property
    def _id(self) -> str:
        return new_id("recorder")

    def timed(
        self,
        target: Any = None,
        /,
        *,
        name: str | None = None,
        wait: bool = False,
        memory: bool = False,
        cpu: bool = False,
        device: str | None = None,
    ) -> Any:
        """Make a function a section of this recorder; see `ticktree.timed`."""
        return native.timed(self, target, name=name, wait=wait, memory=memory, cpu=cpu, device=device)

    def enable(self) -> None:
        """Start or continue recording."""
        super().enable()
        native.install(self)

    def disable(self) -> None:
        """Stop recording; calls that are open end now, and do not count as completed."""
        native.poll()
        super().disable()
        native.uninstall(self)

    def snapshot(self) -> Profile:
        """Return the profile of everything recorded so far."""
        return profile_of(self, self._id)

    def timeline(self) -> Timeline | None:
        """Return the completed calls that are kept; None if no timeline was requested."""
        return timeline_of(self)

    def summary(self) -> None:
        """Print the tree to standard error."""
        print_profile(self.snapshot())
