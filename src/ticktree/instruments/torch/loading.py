"""`DataLoader`: what a training loop waits for its next batch, and what the workers do meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.recorder import Recorder, TimedFunction
from ticktree.recorder.site import site_of


def wrap(patches: Patches, recorder: Recorder, module: ModuleType) -> None:
    """Wraps the loaders' iterators."""

    def section(name: str, function: Any, *, wait: bool = False) -> Any:
        return recorder.timed_section(name, site_of(function), wait=wait)

    def make_next(method: Callable[..., Any]) -> Callable[..., Any]:
        # Without workers the batch is made here and now: that is work.
        waiting, loading = section("DataLoader wait", method, wait=True), section("DataLoader load", method)

        def __next__(self: Any) -> Any:  # noqa: N807 (what it is)
            with waiting if self._num_workers else loading:
                return method(self)

        return __next__

    patches.wrap(module._BaseDataLoaderIter, "__next__", make_next)
    # Once an epoch: it starts the workers, or has those that persist begin again.
    patches.wrap(
        module.DataLoader,
        "__iter__",
        lambda method: TimedFunction(method, section("DataLoader start", method)),
    )


def wrap_fetchers(
    patches: Patches, recorder: Recorder, module: ModuleType, get_worker_info: Callable[[], Any]
) -> None:
    """Wraps what makes a batch of the dataset's items. In the loop's own process it is what `DataLoader load` is."""
    section = recorder.section("fetch batch")

    def make(method: Callable[..., Any]) -> Callable[..., Any]:
        def fetch(self: Any, possibly_batched_index: Any) -> Any:
            if get_worker_info() is None:
                return method(self, possibly_batched_index)
            with section:
                return method(self, possibly_batched_index)

        return fetch

    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        patches.wrap(module, f"{name}.fetch", make)
