"""Experiment trackers: log a profile's numbers next to the training's curves.

ticktree calls only the method of a tracker that its users call, and imports no tracker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ticktree.errors import TicktreeError

if TYPE_CHECKING:
    from ticktree.profile import Profile

_Numbers: TypeAlias = dict[str, float]

PREFIX = "ticktree/"


def log(profile: Profile, tracker: Any, step: int | None = None, *, run_id: str | None = None) -> None:
    """Log the numbers of a profile at a step of the training.

    Args:
        profile: Such as `ticktree.snapshot()`. Its numbers are of everything since the recording began, or since
            `ticktree.reset()`.
        tracker: A `SummaryWriter` of torch or tensorboardX; a run of W&B, or its module; the module `mlflow`, or its
            client; a logger of Lightning; or whatever else has one of their methods `log_metrics(numbers, step=...)`,
            `add_scalar(name, number, step)` and `log(numbers, step=...)`.
        step: Their position on the curves' axis; None to leave it to the tracker.
        run_id: The run, for a client of MLflow, which has many.

    Raises:
        TicktreeError: The tracker has none of these methods, or it is a client and `run_id` is missing.
    """
    numbers = metrics(profile)
    for method, log_with in _METHODS.items():
        if callable(getattr(tracker, method, None)):
            log_with(tracker, numbers, step, run_id)
            return
    names = ", ".join(_METHODS)
    raise TicktreeError(f"a {type(tracker).__name__} is no tracker: it has none of the methods {names}")


def metrics(profile: Profile) -> dict[str, float]:
    """Return the numbers that `log` logs, by name, for other trackers."""
    from ticktree.outputs.numbers import numbers

    return {f"{PREFIX}{name}": number for name, number in numbers(profile).items()}


def _log_all(tracker: Any, numbers: _Numbers, step: int | None, _: str | None) -> None:
    tracker.log_metrics(numbers, step=step)


def _log_scalars(tracker: Any, numbers: _Numbers, step: int | None, _: str | None) -> None:
    for name, number in numbers.items():
        tracker.add_scalar(name, number, step)


def _log_to_client(tracker: Any, numbers: _Numbers, step: int | None, run_id: str | None) -> None:
    if run_id is None:
        raise TicktreeError("a client has many runs: say which by run_id=")
    for name, number in numbers.items():
        tracker.log_metric(run_id, name, number, step=step)


def _log_row(tracker: Any, numbers: _Numbers, step: int | None, _: str | None) -> None:
    tracker.log(numbers, step=step)


# In order of preference: methods that take all numbers at once, and more specific methods, come first.
_METHODS: dict[str, Callable[[Any, _Numbers, int | None, str | None], None]] = {
    "log_metrics": _log_all,
    "add_scalar": _log_scalars,
    "log_metric": _log_to_client,
    "log": _log_row,
}
