"""torch.distributed: waiting for the other ranks, apart from work, and for which of them; ranks as a role.

At a collective all ranks wait for the last to arrive: each rank signals as it arrives, so that on one machine
the last signal is the straggler's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache, partial
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
# What only two take part in, or what sets up groups: no straggler is named.
_OTHERS = ("send", "recv", "send_object_list", "recv_object_list", "new_group")

# Of a work that was not started by one of these collectives: of an `isend`, or by a group's own methods.
_OF_ANY = " (others)"


class _Distributed:
    """The wrappers of one installation."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.arrivals = Arrivals(recorder)
        self._waits: dict[str, Wait] = {}
        self._works: WeakKeyDictionary[Any, Arrival] = WeakKeyDictionary()
        self._instead: dict[Any, Any] = {}

    def wrap(self, patches: Patches, module: ModuleType) -> None:
        """Wraps what is defined in torch.distributed.distributed_c10d."""
        for name in filter(vars(module).get, _COLLECTIVES):  # some are of some versions only
            self._wrap_function(patches, module, name, self._collective)
        for name in _OTHERS:
            self._wrap_function(patches, module, name, self._other)
        self._wrap_function(patches, module, "init_process_group", partial(self._initializer, module))
        self._wrap_function(patches, module, "destroy_process_group", partial(self._destroyer, module))
        patches.wrap(module, "Work.wait", self._work)

    def wrap_names(self, patches: Patches, package: ModuleType) -> None:
        """Puts the same into torch.distributed, where it was imported before: most programs call it there."""
        for name in (*_COLLECTIVES, *_OTHERS, "init_process_group", "destroy_process_group"):
            ours = self._instead.get(vars(package).get(name))
            if ours is not None:
                patches.put(package, name, ours)

    def _wait(self, name: str) -> Wait:
        """The wait of a row; those of the groups of a job are few."""
        wait = self._waits.get(name)
        if wait is None:
            wait = self._waits[name] = Wait(self.arrivals.channel, name)
        return wait

    def _wrap_function(self, patches: Patches, module: ModuleType, name: str, make: Make) -> None:
        original = vars(module).get(name)
        patches.wrap(module, name, make)
        self._instead[original] = vars(module)[name]

    def _collective(self, function: Callable[..., Any]) -> Callable[..., Any]:
        recorder, arrivals, works = self._recorder, self.arrivals, self._works
        name, wait_of = function.__name__, self._wait
        group_of, is_async = _argument(function, "group"), _argument(function, "async_op")

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if _is_compiling() or not recorder.recording:
                return function(*args, **kwargs)
            arrival = arrivals.arrive(group_of(args, kwargs))
            if arrival is None:
                return function(*args, **kwargs)
            if not is_async(args, kwargs):
                waiting = wait_of(name + arrival.of)
                return waiting.call(partial(function, **kwargs) if kwargs else function, args, arrival.key)
            work = function(*args, **kwargs)
            if work is not None:
                works[work] = arrival
            return work

        return wrapper

    def _other(self, function: Callable[..., Any]) -> Callable[..., Any]:
        waiting = Wait(self.arrivals.channel, function.__name__)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if _is_compiling():
                return function(*args, **kwargs)
            return waiting.call(partial(function, **kwargs) if kwargs else function, args)

        return wrapper

    def _initializer(self, module: ModuleType, function: Callable[..., Any]) -> Callable[..., Any]:
        recorder, peers = self._recorder, self.arrivals.peers
        waiting = Wait(self.arrivals.channel, function.__name__)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = waiting.call(partial(function, **kwargs), args)
            if recorder.recording and module.get_world_size() > 1:
                peers.greet(module)
                recorder.role(ROLE)
                recorder.name_process(f"{ROLE} {module.get_rank()}")
            return result

        return wrapper

    def _destroyer(self, module: ModuleType, function: Callable[..., Any]) -> Callable[..., Any]:
        peers, group_of = self.arrivals.peers, _argument(function, "group")

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if group_of(args, kwargs) in (None, module.GroupMember.WORLD):
                peers.leave()
            return function(*args, **kwargs)

        return wrapper

    def _work(self, function: Callable[..., Any]) -> Callable[..., Any]:
        works, wait_of = self._works, self._wait

        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if _is_compiling():
                return function(self, *args, **kwargs)
            key, of = works.get(self) or (None, _OF_ANY)
            return wait_of(f"Work.wait{of}").call(partial(function, **kwargs), (self, *args), key)

        return wrapper


def _is_compiling() -> bool:
    import torch  # Not with this module: it is imported while torch is.

    return bool(torch.compiler.is_compiling())


def _argument(function: Callable[..., Any], name: str) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """What gives an argument of a call, however it was given; None where the function has none of that name."""
    names = list(inspect.signature(function).parameters)
    if name not in names:
        return lambda *_: None
    at = names.index(name)
    return lambda args, kwargs: args[at] if len(args) > at else kwargs.get(name)


@lru_cache(maxsize=1)
def _distributed(recorder: Recorder) -> _Distributed:
    return _Distributed(recorder)


def _wrap_data_parallel(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    data_parallel.wrap(patches, recorder, module, _distributed(recorder).arrivals)


INSTRUMENT = Instrument(
    "torch",
    tested=TESTED,
    hooks={
        "torch.distributed.distributed_c10d": lambda patches, module, recorder: _distributed(recorder).wrap(
            patches, module
        ),
        "torch.distributed": lambda patches, module, recorder: _distributed(recorder).wrap_names(
            patches, module
        ),
        "torch.nn.parallel.distributed": _wrap_data_parallel,
    },
)
