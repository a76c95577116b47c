"""torch.distributed: waits for other ranks, apart from work, and the straggler; ranks as a role.

At a collective all ranks wait for the last to arrive: each rank signals as it arrives, so on one machine the last
signal is the straggler's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, lru_cache, partial
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from ticktree.instruments.patches import Make, Patches
from ticktree.instruments.targets import Instrument
from ticktree.instruments.torch import data_parallel
from ticktree.instruments.torch.peers import Arrival, Arrivals
from ticktree.instruments.torch.sections import TESTED
from ticktree.recorder import Recorder, Wait

ROLE = "rank"
_COLLECTIVES = (
    *("all_reduce", "all_reduce_coalesced", "reduce", "broadcast", "barrier", "monitored_barrier"),
    *("all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_single"),
    "all_gather_object",
    *("gather", "gather_object", "scatter", "scatter_object_list", "broadcast_object_list"),
    *("reduce_scatter", "reduce_scatter_tensor", "reduce_scatter_single", "all_to_all", "all_to_all_single"),
)
# Functions with only two ranks, or that set up groups: they have no straggler.
_WITHOUT_STRAGGLER = ("send", "recv", "send_object_list", "recv_object_list", "new_group")

# The suffix of a work that none of these collectives started, but `isend`, or a group's own methods.
_OTHER_WORKS = " (others)"


class _Distributed:
    """The wrappers of one installation."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.arrivals = Arrivals(recorder)
        self._wait = cache(partial(Wait, self.arrivals.channel))  # by name; a job has few groups
        self._works: WeakKeyDictionary[Any, Arrival] = WeakKeyDictionary()
        self._wrappers: dict[Any, Any] = {}  # by function

    def wrap(self, patches: Patches, module: ModuleType) -> None:
        """Wrap the functions that torch.distributed.distributed_c10d defines."""
        for name in filter(vars(module).get, _COLLECTIVES):  # some versions have only some of them
            self._wrap_function(patches, module, name, self._make_collective)
        for name in _WITHOUT_STRAGGLER:
            self._wrap_function(patches, module, name, self._make_wait)
        self._wrap_function(patches, module, "init_process_group", partial(self._make_init, module))
        self._wrap_function(patches, module, "destroy_process_group", partial(self._make_destroy, module))
        patches.wrap(module, "Work.wait", self._make_work_wait)

    def wrap_names(self, patches: Patches, package: ModuleType) -> None:
        """Put the wrappers into torch.distributed, which has imported the functions: most programs call them there."""
        for name in (*_COLLECTIVES, *_WITHOUT_STRAGGLER, "init_process_group", "destroy_process_group"):
            wrapper = self._wrappers.get(vars(package).get(name))
            if wrapper is not None:
                patches.put(package, name, wrapper)

    def _wrap_function(self, patches: Patches, module: ModuleType, name: str, make: Make) -> None:
        original = vars(module).get(name)
        patches.wrap(module, name, make)
        self._wrappers[original] = vars(module)[name]

    def _make_collective(self, function: Callable[..., Any]) -> Callable[..., Any]:
        recorder, arrivals, works = self._recorder, self.arrivals, self._works
        name, get_wait = function.__name__, self._wait
        get_group, is_async = _argument(function, "group"), _argument(function, "async_op")

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if _is_compiling() or not recorder.recording:
                return function(*args, **kwargs)
            arrival = arrivals.arrive(get_group(args, kwargs))
            if arrival is None:
                return function(*args, **kwargs)
            if not is_async(args, kwargs):
                wait = get_wait(name + arrival.suffix)
                return wait.call(partial(function, **kwargs) if kwargs else function, args, arrival.key)
            work = function(*args, **kwargs)
            if work is not None:
                works[work] = arrival
            return work

        return wrapper

    def _make_wait(self, function: Callable[..., Any]) -> Callable[..., Any]:
        wait = Wait(self.arrivals.channel, function.__name__)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if _is_compiling():
                return function(*args, **kwargs)
            return wait.call(partial(function, **kwargs) if kwargs else function, args)

        return wrapper

    def _make_init(self, module: ModuleType, function: Callable[..., Any]) -> Callable[..., Any]:
        recorder, peers = self._recorder, self.arrivals.peers
        wait = Wait(self.arrivals.channel, function.__name__)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = wait.call(partial(function, **kwargs), args)
            if recorder.recording and module.get_world_size() > 1:
                peers.join(module)
                recorder.role(ROLE)
                recorder.name_process(f"{ROLE} {module.get_rank()}")
            return result

        return wrapper

    def _make_destroy(self, module: ModuleType, function: Callable[..., Any]) -> Callable[..., Any]:
        peers, get_group = self.arrivals.peers, _argument(function, "group")

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if get_group(args, kwargs) in (None, module.GroupMember.WORLD):
                peers.leave()
            return function(*args, **kwargs)

        return wrapper

    def _make_work_wait(self, function: Callable[..., Any]) -> Callable[..., Any]:
        works, get_wait = self._works, self._wait

        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if _is_compiling():
                return function(self, *args, **kwargs)
            key, suffix = works.get(self) or (None, _OTHER_WORKS)
            return get_wait(f"Work.wait{suffix}").call(partial(function, **kwargs), (self, *args), key)

        return wrapper


def _is_compiling() -> bool:
    import torch  # not at the top: this module is imported while torch is

    return bool(torch.compiler.is_compiling())


def _argument(function: Callable[..., Any], name: str) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """Return a getter of a call's argument, positional or by name; it returns None if there is no such parameter."""
    names = list(inspect.signature(function).parameters)
    if name not in names:
        return lambda *_: None
    index = names.index(name)
    return lambda args, kwargs: args[index] if len(args) > index else kwargs.get(name)


@lru_cache(maxsize=1)
def _distributed(recorder: Recorder) -> _Distributed:
    return _Distributed(recorder)


def _wrap_functions(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    _distributed(recorder).wrap(patches, module)


def _wrap_names(patches: Patches, package: ModuleType, recorder: Recorder) -> None:
    _distributed(recorder).wrap_names(patches, package)


def _wrap_data_parallel(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    data_parallel.wrap(patches, recorder, module, _distributed(recorder).arrivals)


INSTRUMENT = Instrument(
    "torch",
    tested=TESTED,
    hooks={
        "torch.distributed.distributed_c10d": _wrap_functions,
        "torch.distributed": _wrap_names,
        "torch.nn.parallel.distributed": _wrap_data_parallel,
    },
)
