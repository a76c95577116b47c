"""The libraries that ticktree knows: one line per library, in the order in which they are installed.

To add one, write its module with an `Instrument` (targets.py) next to this file, and its line in `_ADDS`. Other
distributions add theirs by entry point (third_parties.py).
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple, Protocol, cast

from ticktree.recorder import Recorder


class Installable(Protocol):
    """What wraps a library: an `Instrument`, or a module with two functions."""

    def install(self, recorder: Recorder) -> None:
        """Wrap the library's functions: now, or when it is imported."""

    def uninstall(self) -> None:
        """Restore them."""


class Library(NamedTuple):
    """A library that can be instrumented.

    Attributes:
        name: its name in `--instrument`.
        module: the module with its `install` and `uninstall`; `MODULE:ATTRIBUTE` if an object in it has them.
        adds: the rows that it adds, in one sentence.
        packages: the packages, any one of which programs import; none if the library is always loaded.
        on_demand: whether it is recorded only when requested by name.
        distribution: the package that has it; "" for ticktree itself.
    """

    name: str
    module: str
    adds: str
    packages: tuple[str, ...] = ()
    on_demand: bool = False
    distribution: str = ""

    def instrument(self) -> Installable:
        """Return the object that wraps it. A third party's may raise anything, or have no such methods."""
        module, _, attribute = self.module.partition(":")
        instrument: object = import_module(module)
        for name in filter(None, attribute.split(".")):
            instrument = getattr(instrument, name)
        for method in ("install", "uninstall"):
            if not callable(getattr(instrument, method, None)):
                raise TypeError(f"{self.module} has no {method}()")
        return cast("Installable", instrument)


# The rows that each adds. nvtx is first, because it marks the sections that the others make.
_ADDS = {
    "nvtx": "No row: each section as an NVTX range, for Nsight Systems.",
    "waits": "A row for each wait at a queue, pipe, lock, thread, process, program or future, and what woke it.",
    "pools": "A row for each function that workers of multiprocessing.Pool and concurrent.futures are given to call.",
    "joblib": "A row for each function that joblib's worker processes are given to call.",
    "gc": "A row for each full collection of the garbage collector.",
    "disk": "A row for each os.fsync, os.fdatasync and os.sync: writes that wait for the disk.",
    "gymnasium": "reset, step, render and close of the outermost env and of vectors of envs, sending to "
    "workers apart from waiting for them; steps as ticks.",
    "pacing": "A row for each time.sleep, asyncio.sleep and select.select in a tick, outside its sections, "
    "as a wait: loops hold their rate by them.",
    # On demand, because in many programs a sleep in a section simulates work, such as a slow sensor's.
    "sleep": "A row for each time.sleep, in sections too, as a wait.",
    "gymnasium-wrappers": "A row for each wrapper of an env, called after its class, with its own share.",
    "numpy": "A row for each call of a function that makes or moves whole arrays, with the bytes it wrote.",
    "opencv": "A row for each call of a function on images, with the bytes of what it gave.",
    "torch": "Forward and backward passes, optimizers, data loaders; gradients that are thrown away.",
    "torch-compile": "A row for each compilation, where it happens; sections in compiled code leave its graph whole.",
    "torch-distributed": "A row for each wait for other ranks, at a collective or for gradients, and the "
    "straggler; ranks as a role.",
    "jax": "Calls of jitted functions, their compilations and executions; waits, copies to the host, callbacks.",
    "stable-baselines3": "`learn`, its iterations as ticks, rollouts, training, policy, VecEnv, buffers, "
    "callbacks; sb3-contrib too.",
    "lightning": "The phases of a Trainer without a profiler, under the names that it tells profilers.",
    "accelerate": "What an Accelerator prepares, gathers, saves and waits for.",
    "torchrl": "The names given to `timeit`; collectors, environments, replay buffers.",
    "skrl": "`train`, its iterations as ticks; agents, envs, memories, updates; `eval` apart.",
    "rsl-rl": "`learn`, its iterations as ticks: acting, VecEnv, returns, updates, logging.",
    "tianshou": "`run`, its training steps as ticks: collection, updates, vectors of envs, buffers; evaluation apart.",
    "transformers": "A Trainer's `train`, its steps as ticks: batches, losses, callbacks, evaluation, saving.",
    "optuna": "`study.optimize`, its trials as ticks; the choice of parameters, pruning.",
    "d3rlpy": "`fit` and `fit_online`, their gradient steps as ticks: buffers, updates, acting; evaluators apart.",
    "pufferlib": "PuffeRL's epochs as ticks: rollouts, training, vectors of envs and the wait for their workers.",
    "isaaclab": "In an env's step each manager and each of its terms; the simulation and the scene.",
    "mani-skill": "In an env's step: control, simulation, rendering, observations, rewards.",
    "genesis": "A scene's step, simulator, visualizer and cameras; steps as ticks.",
    "lerobot": "Robots, cameras, policies, the action queue and latencies of real-time chunking, CycleTimer.",
    "rclpy": "Timers of ROS 2 nodes as loops, with how late they are; callbacks, ages of messages; the "
    "executor's wait.",
    "requests": "Each exchange with a server, and the time that the server reports.",
    "httpx": "Each request, redirects included, and the time that the servers report.",
    "aiohttp": "The client's requests, and the time that the servers report; reading of bodies has its own row.",
    "grpc": "Each call that waits for a response, and the time that the server reports.",
    "ray": "Tasks and actors, on every node of a cluster, below what called them; waiting for their results.",
    "rllib": "Training steps as ticks; what env runners and learners do, each a role.",
    "torch-layers": "A row for every layer of a forward pass.",
    "torch-flops": "Floating-point operations of forward and backward passes, by torch's own counter.",
    "trace-context": "Nothing: gives each of these calls that carries no trace the run's W3C traceparent.",
}
# Instruments that are not the INSTRUMENT of the module with the library's name.
_LOCATIONS = {
    "nvtx": "nvtx",
    "joblib": "pools:JOBLIB",
    "gc": "pauses:GC",
    "disk": "pauses:DISK",
    "pacing": "pauses:PACING",
    "sleep": "pauses:SLEEP",
    "gymnasium-wrappers": "gymnasium:WRAPPERS",
    "numpy": "arrays:NUMPY",
    "opencv": "arrays:OPENCV",
    "torch-compile": "torch.compiling:INSTRUMENT",
    "torch-distributed": "torch.distributed:INSTRUMENT",
    "torch-layers": "torch.forward:LAYERS",
    "torch-flops": "torch.flops:INSTRUMENT",
    "accelerate": "hugging_face:ACCELERATE",
    "transformers": "hugging_face:TRANSFORMERS",
    "isaaclab": "simulators:ISAACLAB",
    "mani-skill": "simulators:MANI_SKILL",
    "genesis": "simulators:GENESIS",
    "requests": "http_clients:REQUESTS",
    "httpx": "http_clients:HTTPX",
    "aiohttp": "http_clients:AIOHTTP",
    "trace-context": "trace_context",
}
# The packages of libraries that are not imported by their name; none if they are always loaded.
_PACKAGES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("nvtx", "waits", "pools", "gc", "disk", "pacing", "sleep", "trace-context"), ()),
    **dict.fromkeys(("torch-compile", "torch-distributed", "torch-layers", "torch-flops"), ("torch",)),
    "gymnasium-wrappers": ("gymnasium",),
    "opencv": ("cv2",),
    "stable-baselines3": ("stable_baselines3", "sb3_contrib"),
    "lightning": ("lightning", "pytorch_lightning"),
    "rllib": ("ray.rllib",),
}
_ON_DEMAND = frozenset(
    ("nvtx", "sleep", "gymnasium-wrappers", "numpy", "opencv", "torch-layers", "torch-flops", "trace-context")
)


def _built_in(name: str, adds: str) -> Library:
    package = name.replace("-", "_")
    location = _LOCATIONS.get(name, f"{package}:INSTRUMENT")
    packages = _PACKAGES.get(name, (package,))
    return Library(name, f"ticktree.instruments.{location}", adds, packages, on_demand=name in _ON_DEMAND)


BUILT_IN: tuple[Library, ...] = tuple(_built_in(name, adds) for name, adds in _ADDS.items())
