"""Taking in: how runs come to be remembered, each at its end or when the history is requested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ticktree.errors import TicktreeError
from ticktree.history.store import HISTORY_NAME, Store, StoreError
from ticktree.profile import Profile
from ticktree.profile.remembered import Remembered, remembered
from ticktree.run.finishing import RunDirectory

# A program that has ended waits no longer than this for another writer; its run is taken in later.
_AT_ITS_END_S = 1.0
# So many are written at once: each time waits for the disk.
_AT_ONCE = 32


@dataclass
class Taken:
    """The history of a directory.

    Attributes:
        runs: all that are remembered, and those that could not be but lie there; in no order.
        unreadable: of runs that lie there, why they cannot be read, by their directories' names.
        unwritten: why new runs could not be remembered; "" where they could.
    """

    runs: Sequence[Remembered]
    new: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)
    unwritten: str = ""


def remember(run: RunDirectory, profile: Profile) -> None:
    """Remember a run that has just ended.

    Raises:
        StoreError: It cannot be; `take_in` tries again.
    """
    store = Store(run.path.parent / HISTORY_NAME, _AT_ITS_END_S)
    store.add([_remembered(run, profile)])


def take_in(out: Path) -> Taken:
    """Return what is remembered of the runs kept in `out`; those that were not yet, are from now on.

    Raises:
        StoreError: What is remembered cannot be read.
    """
    store = Store(out / HISTORY_NAME)
    known = store.ids()
    taken = Taken(())
    kept: list[Remembered] = []
    runs, damaged = RunDirectory.list_all(out)
    taken.unreadable.update((path.name, error.reason) for path, error in damaged.items())
    left = (run for run in runs if run.id not in known and run.is_finished())
    while some := list(islice(left, _AT_ONCE)):
        new = list(_read(some, taken))
        taken.new += len(new)
        try:
            if not taken.unwritten:
                store.add(new)
                continue
        except StoreError as error:
            taken.unwritten = str(error)
        kept += new
    found = store.runs()
    ids = {run.id for run in found}
    taken.runs = [*found, *(run for run in kept if run.id not in ids)]
    return taken


def _read(runs: Sequence[RunDirectory], taken: Taken) -> Iterator[Remembered]:
    for run in runs:
        try:
            profile = run.profile()
            if profile.metadata.keys() & {"experiments", "remedies"}:  # of `ticktree whatif` and `try`
                taken.unreadable[run.path.name] = "a run with experiments is no measurement"
                continue
            yield _remembered(run, profile)
        except (TicktreeError, OSError) as error:
            taken.unreadable[run.path.name] = str(error)


def _remembered(run: RunDirectory, profile: Profile) -> Remembered:
    return remembered(profile, run.id, run.path.name, run.manifest.started_ns)
