"""The driver: the job that it connects makes its workers record, and what they recorded is gathered before it ends."""

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
from ticktree.instruments.ray.hook import hook_of
from ticktree.recorder import RUN_VARIABLE
from ticktree.recorder.site import NO_SITE

if TYPE_CHECKING:
    from ticktree.instruments.patches import Patches
    from ticktree.recorder import Recorder

_HOOK = "worker_process_setup_hook"
# Ray's own, where the program was submitted as a job: what it sets may not be set again.
_SUBMITTED = "RAY_JOB_CONFIG_JSON_ENV_VAR"
# How long the end of a program may take for what nodes have not handed over yet. One that has died is known to have
# died only after some missed heartbeats.
_FINISH_WITHIN_S = 10.0
_ANSWER_WITHIN_S = 30.0


class _Here:
    """What gathers for the job of this process; None where nothing has to."""

    gatherer: Any = None
    ends_at_exit = False


def wrap(patches: Patches, recorder: Recorder) -> None:
    """Wraps what connects a job, what ends it, and what starts Ray's own processes."""
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
        led = None if _is_not_ours(recorder, args, kwargs) else _led(recorder, kwargs)
        if led is None:
            return init(*args, **kwargs)
        word, kwargs = led
        result = connect(*args, **kwargs)
        with suppress(Exception):  # the program is connected, recorded or not
            _begin(word)
        return result

    return wrapper


def _is_not_ours(recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether this process connects no job with workers of ours: it has one, is a client, or no driver."""
    import ray

    address = args[0] if args else kwargs.get("address") or os.environ.get("RAY_ADDRESS", "")
    is_client = isinstance(address, str) and address.startswith("ray://")
    return not recorder.recording or ray.is_initialized() or is_client or bool(kwargs.get("local_mode"))


def _led(recorder: Recorder, kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """What workers are to know, and the arguments with which a job leads them; None where it cannot."""
    try:
        word = _word(recorder)
        if word is None or _HOOK in _submitted():
            return None
        config = kwargs.get("job_config")
        given = kwargs.get("runtime_env")
        if given is None and config is not None and config.runtime_env:
            config = copy.copy(config)
            config.set_runtime_env(_with_hook(config.runtime_env, word))
            return word, {**kwargs, "job_config": config}
        return word, {**kwargs, "runtime_env": _with_hook(given, word)}
    except Exception:  # what the program passes may be anything: Ray is to say so
        return None


def _with_hook(runtime_env: Any, word: dict[str, Any]) -> dict[str, Any]:
    merged = dict(runtime_env or {})
    if "env_vars" in merged:
        merged["env_vars"] = dict(merged["env_vars"])  # Ray adds to it
    merged[_HOOK] = hook_of(word, submitting.KEY, merged.get(_HOOK))
    return merged


def _submitted() -> dict[str, Any]:
    found = json.loads(os.environ.get(_SUBMITTED) or "{}").get("runtime_env")
    return found if isinstance(found, dict) else {}


def _word(recorder: Recorder) -> dict[str, Any] | None:
    """What a worker needs to record into this run, there or on another machine; None where there is no run."""
    from ticktree.fleet.node_parts import run_reference
    from ticktree.recorder.children import recording_options
    from ticktree.run.finishing import RunDirectory

    path, address = os.environ.get(RUN_VARIABLE), recorder.address()
    if not path or address is None:
        return None
    root = address.partition(":")[0] + ":0"
    return run_reference(RunDirectory.open(Path(path)), root, recording_options())


def _begin(word: dict[str, Any]) -> None:
    import ray
    from ray._private import worker

    submitting.carry(False)
    # No other node joins what the program started for itself on its own machine: there all write into the
    # run.
    if not worker._global_node.is_head():
        from ticktree.fleet.ray_transport import start_gatherer

        _Here.gatherer = start_gatherer(ray, word)
    submitting.carry(True)
    if not _Here.ends_at_exit:
        _Here.ends_at_exit = True
        atexit.register(_finish)  # after Ray's own was registered, and so before it


def _make_shutdown(recorder: Recorder, shutdown: Callable[..., Any]) -> Callable[..., Any]:
    section = recorder.timed_section("ray.shutdown", NO_SITE)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with section:
            _finish()
            return shutdown(*args, **kwargs)

    return wrapper


def _finish() -> None:
    """What the nodes have not handed over yet is gathered while they still can."""
    import ray

    gatherer, _Here.gatherer = _Here.gatherer, None
    submitting.carry(False)
    if gatherer is not None and ray.is_initialized():
        get = getattr(ray.get, "__wrapped__", ray.get)
        with suppress(Exception):  # what it has gathered so far is in the run
            get(gatherer.finish.remote(_FINISH_WITHIN_S), timeout=_ANSWER_WITHIN_S)
            ray.kill(gatherer)
