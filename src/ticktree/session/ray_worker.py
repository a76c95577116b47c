"""A Ray worker that records into its job's run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ticktree.recorder import IS_OFF, MEMORY_VARIABLE, RUN_VARIABLE, TIMELINE_VARIABLE
from ticktree.session.session import current

if TYPE_CHECKING:
    from ticktree.run.finishing import RunDirectory


def begin(reference: Mapping[str, Any]) -> bool:
    """Set up recording in a starting worker: its calls are recorded from the first one on.

    Args:
        reference: The result of `run_reference`.

    Returns:
        Whether the worker removes the data that calls carry. Never raises.
    """
    if IS_OFF:
        return False
    try:
        from ticktree.instruments.ray.executing import WorkerCalls

        worker = _Worker(reference)
        WorkerCalls(current.recorder, worker.is_ready).wrap()
    except Exception:
        return False
    return True


class _Worker:
    """This process, from its first call until the job's end."""

    def __init__(self, reference: Mapping[str, Any]) -> None:
        self._reference = reference
        self._run: RunDirectory | None = None
        self._has_begun = False

    def is_ready(self, kind: str) -> bool:
        """Return whether to record the current call."""
        if not self._has_begun:
            self._has_begun = True
            try:
                self._begin(kind)
            except Exception:  # the call continues, and is not recorded
                self._run = None
        if self._run is not None and self._run.is_finished():
            # The job is over, and this actor outlives it.
            self._run = None
            current.disable()
        return self._run is not None and current.recorder.recording

    def _begin(self, kind: str) -> None:
        import ray

        from ticktree.fleet.node_parts import local_run
        from ticktree.instruments import install_from_environment
        from ticktree.instruments.ray.executing import TASKS

        os.environ.update(self._reference["environment"])
        run = local_run(self._reference)
        parent = str(self._reference["parent"])
        if run is None:
            run, parent = self._join_part()
            # A timeline would stay on this machine.
            os.environ.pop(TIMELINE_VARIABLE, None)
        current.armed = True
        if os.environ.get(MEMORY_VARIABLE):
            current.recorder.measure_all()
        os.environ.pop(RUN_VARIABLE, None)  # empty if a recorded program started Ray
        current.enable(run, parent)
        name = ray.get_runtime_context().get_actor_name() if kind else None
        current.recorder.name_process(name or kind or TASKS)
        current.recorder.role(kind or TASKS)
        install_from_environment()
        self._carry_call_data()
        self._run = run

    def _join_part(self) -> tuple[RunDirectory, str]:
        """Return this node's part of the run, and the parent of its processes: the part's root."""
        import ray

        from ticktree.fleet.node_parts import join_part
        from ticktree.fleet.ray_transport import elapsed_by_gatherer

        node = ray.get_runtime_context().get_node_id()
        part = join_part(self._reference, node, lambda: elapsed_by_gatherer(self._reference))
        owner = part.manifest.owner
        return part, f"{owner.pid}-{owner.started}-1:0"

    @staticmethod
    def _carry_call_data() -> None:
        from ticktree.instruments import installed_names
        from ticktree.instruments.ray.submitting import carry

        carry("ray" in installed_names())
