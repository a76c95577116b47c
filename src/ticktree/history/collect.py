"""Add runs to the history: each at its end, or when the history is requested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ticktree.errors import TicktreeError
from ticktree.history.store import HISTORY_NAME, Store, StoreError
from ticktree.profile import Profile
from ticktree.profile.run_summary import RunSummary, summarize_run
from ticktree.run.finishing import RunDirectory

# A program that has ended waits no longer than this for another writer; its run is added later.
_END_PATIENCE_S = 1.0
# The number of runs per transaction: each transaction waits for the disk.
_BATCH = 32


@dataclass
class StoredHistory:
    """The history of a directory.

    Attributes:
        runs: All stored runs, and those that could not be stored but still have a directory; in no order.
        new: Number of runs that were not stored before.
        unreadable: Why runs cannot be read, by the names of their directories.
        unwritten: Why new runs could not be stored; "" if they could.
    """

    runs: Sequence[RunSummary]
    new: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)
    unwritten: str = ""


def store_run(run: RunDirectory, profile: Profile) -> None:
    """Store a run that has just ended.

    Raises:
        StoreError: It cannot be stored; `update_history` tries again.
    """
    Store(run.path.parent / HISTORY_NAME, _END_PATIENCE_S).add([_summarize(run, profile)])


def update_history(out: Path) -> StoredHistory:
    """Store the finished runs in `out` that are not stored yet, and return the history.

    Raises:
        StoreError: The stored runs cannot be read.
    """
    store = Store(out / HISTORY_NAME)
    stored_ids = store.ids()
    history = StoredHistory(())
    unstored: list[RunSummary] = []
    runs, damaged = RunDirectory.list_all(out)
    history.unreadable.update((path.name, error.reason) for path, error in damaged.items())
    pending = (run for run in runs if run.id not in stored_ids and run.is_finished())
    while batch := list(islice(pending, _BATCH)):
        new = list(_read(batch, history))
        history.new += len(new)
        if not history.unwritten:
            try:
                store.add(new)
                continue
            except StoreError as error:
                history.unwritten = str(error)
        unstored += new
    stored = store.runs()
    ids = {run.id for run in stored}
    history.runs = [*stored, *(run for run in unstored if run.id not in ids)]
    return history


def _read(runs: Sequence[RunDirectory], history: StoredHistory) -> Iterator[RunSummary]:
    for run in runs:
        try:
            profile = run.profile()
            if profile.metadata.keys() & {"experiments", "remedies"}:  # of `ticktree whatif` and `try`
                history.unreadable[run.path.name] = "a run with experiments is no measurement"
                continue
            yield _summarize(run, profile)
        except (TicktreeError, OSError) as error:
            history.unreadable[run.path.name] = str(error)


def _summarize(run: RunDirectory, profile: Profile) -> RunSummary:
    return summarize_run(profile, run.id, run.path.name, run.manifest.started_ns)
