"""The driver: the job that it connects makes its workers record; their records are gathered before the job ends."""

from __future__ import annotations

import atexit
import copy
import json
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticktree.instruments.ray import submitting
from ticktree.instruments.ray.hook import make_hook
from ticktree.recorder import RUN_VARIABLE
from ticktree.recorder.site import NO_SITE

if TYPE_CHECKING:
    from ticktree.instruments.patches import Patches
    from ticktree.recorder import Recorder

_HOOK = "worker_process_setup_hook"
# Ray sets it if the program was submitted as a reference: a program may not set its values again.
_JOB_CONFIG_VARIABLE = "RAY_JOB_CONFIG_JSON_ENV_VAR"
# How long a program's end may wait for nodes that have not handed over everything. A dead node is detected only after
# some missed heartbeats.
_FINISH_TIMEOUT_S = 10.0
_ANSWER_TIMEOUT_S = 30.0


class _DriverState:
    """The actor that gathers for the job of this process, if one is needed."""

    gatherer: Any = None
    finishes_at_exit = False


def wrap(patches: Patches, recorder: Recorder) -> None:
    """Wrap the functions that connect a reference, end it, and start Ray's own processes."""
    import ray
    from ray._private import services, worker

    for module in (ray, worker):
        patches.wrap(module, "init", partial(_make_init, recorder))
        patches.wrap(module, "shutdown", partial(_make_shutdown, recorder))
    patches.wrap(services, "start_ray_process", _make_start)


def _make_start(start: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, env_updates: Any = None, **kwargs: Any) -> Any:
        # Its daemons are not the program's processes; its workers learn the run from their job.
        return start(*args, env_updates={**(env_updates or {}), RUN_VARIABLE: ""}, **kwargs)

    return wrapper


def _make_init(recorder: Recorder, init: Callable[..., Any]) -> Callable[..., Any]:
    section = recorder.timed_section("ray.init", NO_SITE)

    def connect(*args: Any, **kwargs: Any) -> Any:
        with section:
            return init(*args, **kwargs)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        prepared = _prepare_job(recorder, kwargs) if _connects_job(recorder, args, kwargs) else None
        if prepared is None:
            return init(*args, **kwargs)
        reference, kwargs = prepared
        result = connect(*args, **kwargs)
        with suppress(Exception):  # the program is connected, recorded or not
            _begin(reference)
        return result

    return wrapper


def _connects_job(recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether this process connects a job that we record: not if it has one, is a client, or no driver."""
    import ray

    address = args[0] if args else kwargs.get("address") or os.environ.get("RAY_ADDRESS", "")
    is_client = isinstance(address, str) and address.startswith("ray://")
    return not (not recorder.recording or ray.is_initialized() or is_client or kwargs.get("local_mode"))


def _prepare_job(recorder: Recorder, kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the reference to the run, and arguments that pass it to workers; None if there is none or it fails."""
    try:
        reference = _reference_to_run(recorder)
        if reference is None or _HOOK in _submitted_runtime_env():
            return None
        config = kwargs.get("job_config")
        runtime_env = kwargs.get("runtime_env")
        if runtime_env is None and config is not None and config.runtime_env:
            config = copy.copy(config)
            config.set_runtime_env(_with_hook(config.runtime_env, reference))
            return reference, {**kwargs, "job_config": config}
        return reference, {**kwargs, "runtime_env": _with_hook(runtime_env, reference)}
    except Exception:  # the program may pass anything: Ray reports the error
        return None


def _with_hook(runtime_env: Any, reference: dict[str, Any]) -> dict[str, Any]:
    merged = dict(runtime_env or {})
    if "env_vars" in merged:
        merged["env_vars"] = dict(merged["env_vars"])  # Ray adds to it
    merged[_HOOK] = make_hook(reference, submitting.KEY, merged.get(_HOOK))
    return merged


def _submitted_runtime_env() -> dict[str, Any]:
    runtime_env = json.loads(os.environ.get(_JOB_CONFIG_VARIABLE) or "{}").get("runtime_env")
    return runtime_env if isinstance(runtime_env, dict) else {}


def _reference_to_run(recorder: Recorder) -> dict[str, Any] | None:
    """Return what a worker needs to record into this run, here or on another machine; None if there is no run."""
    from ticktree.fleet.node_parts import run_reference
    from ticktree.recorder.children import recording_options
    from ticktree.run.finishing import RunDirectory

    path, address = os.environ.get(RUN_VARIABLE), recorder.address()
    if not path or address is None:
        return None
    root = address.partition(":")[0] + ":0"
    return run_reference(RunDirectory.open(Path(path)), root, recording_options())


def _begin(reference: dict[str, Any]) -> None:
    import ray
    from ray._private import worker

    submitting.carry(False)
    # No other node joins a cluster that the program started for itself: there all workers write into the run.
    if not worker._global_node.is_head():
        from ticktree.fleet.ray_transport import start_gatherer

        _DriverState.gatherer = start_gatherer(ray, reference)
    submitting.carry(True)
    if not _DriverState.finishes_at_exit:
        _DriverState.finishes_at_exit = True
        atexit.register(_finish)  # registered after Ray's own function, and so called before it


def _make_shutdown(recorder: Recorder, shutdown: Callable[..., Any]) -> Callable[..., Any]:
    section = recorder.timed_section("ray.shutdown", NO_SITE)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with section:
            _finish()
            return shutdown(*args, **kwargs)

    return wrapper


def _finish() -> None:
    """Gather what the nodes have not handed over yet, while they still can."""
    import ray

    gatherer, _DriverState.gatherer = _DriverState.gatherer, None
    submitting.carry(False)
    if gatherer is not None and ray.is_initialized():
        get = getattr(ray.get, "__wrapped__", ray.get)
        with suppress(Exception):  # everything that it has gathered before is in the run
            get(gatherer.finish.remote(_FINISH_TIMEOUT_S), timeout=_ANSWER_TIMEOUT_S)
            ray.kill(gatherer)
