"""The machine in a few words: whose its cores were while the program ran, in the median second."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.analysis.machine import Machine
from ticktree.outputs.writing import formatting
from ticktree.profile import Profile

# What others take of a core, the hypervisor of all, and what was waited for one: below this nobody would notice.
WORTH_SAYING = 0.05


def machine_pieces(profile: Profile) -> Iterator[str]:
    """Yield who used the cores and what was waited for one; nothing where nobody watched the machine."""
    machine = Machine(profile)
    used, others = machine.typical("used"), machine.typical("others")
    if used is not None:
        of = f" of {machine.cores:g} cores" if machine.cores is not None else " cores"
        yield f"{used:.1f}{of} used"
    if others is not None and others >= WORTH_SAYING:
        yield f"{others:.1f} by others"
    steal, waiting = machine.typical("steal"), machine.typical("waiting")
    if steal is not None and steal >= WORTH_SAYING:
        yield f"{formatting.share(steal)} taken by the hypervisor"
    if waiting is not None and waiting >= WORTH_SAYING:
        yield f"waiting for one {formatting.share(waiting)} of the time it could run"
