"""The libraries that ticktree knows: one entry each, in the order in which they are installed.

To add one: write its module with an `Instrument` (targets.py) next to this file, and its entry here. Other
distributions bring theirs by entry point (third_parties.py).
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple, Protocol, cast

from ticktree.recorder import Recorder


class Installable(Protocol):
    """What wraps a library: an `Instrument`, or a module with two functions."""

    def install(self, recorder: Recorder) -> None:
        """Wraps the library's functions: now, or when it is imported."""

    def uninstall(self) -> None:
        """Puts them back."""


class Library(NamedTuple):
    """A library that can be instrumented.

    Attributes:
        name: what it is called in `--instrument`.
        module: what has its `install` and `uninstall`; `MODULE:ATTRIBUTE` where a third party keeps them elsewhere.
        adds: the rows that it adds, in one sentence.
        packages: what programs import of it, one of these or another; none where that is always there.
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
        """Return what wraps it. A third party's may raise anything, or not be one."""
        module, _, attribute = self.module.partition(":")
        found: object = import_module(module)
        for name in filter(None, attribute.split(".")):
            found = getattr(found, name)
        for needed in ("install", "uninstall"):
            if not callable(getattr(found, needed, None)):
                raise TypeError(f"{self.module} has no {needed}()")
        return cast("Installable", found)


BUILT_IN: tuple[Library, ...] = (
    # First: what the others make are sections that it marks.
    Library(
        "nvtx",
        "ticktree.instruments.nvtx",
        "No row: each section as an NVTX range, for Nsight Systems.",
        on_demand=True,
    ),
    Library(
        "waits",
        "ticktree.instruments.waits:INSTRUMENT",
        "A row for each wait at a queue, pipe, lock, thread, process, program or future, and what woke it.",
    ),
    Library(
        "pools",
        "ticktree.instruments.pools:INSTRUMENT",
        "A row for each function that workers of multiprocessing.Pool and concurrent.futures are given to call.",
    ),
    Library(
        "joblib",
        "ticktree.instruments.joblib:INSTRUMENT",
        "A row for each function that joblib's worker processes are given to call.",
        packages=("joblib",),
    ),
    Library(
        "gc", "ticktree.instruments.gc:INSTRUMENT", "A row for each full collection of the garbage collector."
    ),
    Library(
        "disk",
        "ticktree.instruments.disk:INSTRUMENT",
        "A row for each os.fsync, os.fdatasync and os.sync: writes that wait for the disk.",
    ),
    Library(
        "gymnasium",
        "ticktree.instruments.gymnasium:INSTRUMENT",
        "reset, step, render and close of the outermost env and of vectors of envs, sending to workers apart from "
        "waiting for them; steps as ticks.",
        packages=("gymnasium",),
    ),
    Library(
        "pacing",
        "ticktree.instruments.sleep:INSTRUMENT",
        "A row for each time.sleep, asyncio.sleep and select.select in a tick, outside its sections, as a wait: loops "
        "hold their rate by them.",
    ),
    # On demand, because in many programs a sleep in a section simulates work, as of a slow sensor.
    Library(
        "sleep",
        "ticktree.instruments.sleep:EVERYWHERE",
        "A row for each time.sleep, in sections too, as a wait.",
        on_demand=True,
    ),
    Library(
        "gymnasium-wrappers",
        "ticktree.instruments.gymnasium:WRAPPERS",
        "A row for each wrapper of an env, called after its class, with its own share.",
        packages=("gymnasium",),
        on_demand=True,
    ),
    Library(
        "numpy",
        "ticktree.instruments.numpy:INSTRUMENT",
        "A row for each call of a function that makes or moves whole arrays, with the bytes it wrote.",
        packages=("numpy",),
        on_demand=True,
    ),
    Library(
        "opencv",
        "ticktree.instruments.opencv:INSTRUMENT",
        "A row for each call of a function on images, with the bytes of what it gave.",
        packages=("cv2",),
        on_demand=True,
    ),
    Library(
        "torch",
        "ticktree.instruments.torch:INSTRUMENT",
        "Forward and backward passes, optimizers, data loaders; gradients that are thrown away.",
        packages=("torch",),
    ),
    Library(
        "torch-compile",
        "ticktree.instruments.torch.compiling:INSTRUMENT",
        "A row for each compilation, where it happens; sections in compiled code leave its graph whole.",
        packages=("torch",),
    ),
    Library(
        "torch-distributed",
        "ticktree.instruments.torch.distributed:INSTRUMENT",
        "A row for each wait for other ranks, at a collective or for gradients, and the straggler; ranks as a role.",
        packages=("torch",),
    ),
    Library(
        "jax",
        "ticktree.instruments.jax:INSTRUMENT",
        "Calls of jitted functions, their compilations and executions; waits, copies to the host, callbacks.",
        packages=("jax",),
    ),
    Library(
        "stable-baselines3",
        "ticktree.instruments.stable_baselines3:INSTRUMENT",
        "`learn`, its iterations as ticks, rollouts, training, policy, VecEnv, buffers, callbacks; sb3-contrib too.",
        packages=("stable_baselines3", "sb3_contrib"),
    ),
    Library(
        "lightning",
        "ticktree.instruments.lightning:INSTRUMENT",
        "The phases of a Trainer without a profiler, under the names that it tells profilers.",
        packages=("lightning", "pytorch_lightning"),
    ),
    Library(
        "accelerate",
        "ticktree.instruments.accelerate:INSTRUMENT",
        "What an Accelerator prepares, gathers, saves and waits for.",
        packages=("accelerate",),
    ),
    Library(
        "torchrl",
        "ticktree.instruments.torchrl:INSTRUMENT",
        "The names given to `timeit`; collectors, environments, replay buffers.",
        packages=("torchrl",),
    ),
    Library(
        "skrl",
        "ticktree.instruments.skrl:INSTRUMENT",
        "`train`, its iterations as ticks; agents, envs, memories, updates; `eval` apart.",
        packages=("skrl",),
    ),
    Library(
        "rsl-rl",
        "ticktree.instruments.rsl_rl:INSTRUMENT",
        "`learn`, its iterations as ticks: acting, VecEnv, returns, updates, logging.",
        packages=("rsl_rl",),
    ),
    Library(
        "tianshou",
        "ticktree.instruments.tianshou:INSTRUMENT",
        "`run`, its training steps as ticks: collection, updates, vectors of envs, buffers; evaluation apart.",
        packages=("tianshou",),
    ),
    Library(
        "transformers",
        "ticktree.instruments.transformers:INSTRUMENT",
        "A Trainer's `train`, its steps as ticks: batches, losses, callbacks, evaluation, saving.",
        packages=("transformers",),
    ),
    Library(
        "optuna",
        "ticktree.instruments.optuna:INSTRUMENT",
        "`study.optimize`, its trials as ticks; the choice of parameters, pruning.",
        packages=("optuna",),
    ),
    Library(
        "d3rlpy",
        "ticktree.instruments.d3rlpy:INSTRUMENT",
        "`fit` and `fit_online`, their gradient steps as ticks: buffers, updates, acting; evaluators apart.",
        packages=("d3rlpy",),
    ),
    Library(
        "pufferlib",
        "ticktree.instruments.pufferlib:INSTRUMENT",
        "PuffeRL's epochs as ticks: rollouts, training, vectors of envs and the wait for their workers.",
        packages=("pufferlib",),
    ),
    Library(
        "isaaclab",
        "ticktree.instruments.isaaclab:INSTRUMENT",
        "In an env's step each manager and each of its terms; the simulation and the scene.",
        packages=("isaaclab",),
    ),
    Library(
        "mani-skill",
        "ticktree.instruments.mani_skill:INSTRUMENT",
        "In an env's step: control, simulation, rendering, observations, rewards.",
        packages=("mani_skill",),
    ),
    Library(
        "genesis",
        "ticktree.instruments.genesis:INSTRUMENT",
        "A scene's step, simulator, visualizer and cameras; steps as ticks.",
        packages=("genesis",),
    ),
    Library(
        "lerobot",
        "ticktree.instruments.lerobot:INSTRUMENT",
        "Robots, cameras, policies, the action queue and latencies of real-time chunking, CycleTimer.",
        packages=("lerobot",),
    ),
    Library(
        "rclpy",
        "ticktree.instruments.rclpy:INSTRUMENT",
        "Timers of ROS 2 nodes as loops, with how late they are; callbacks, ages of messages; the executor's wait.",
        packages=("rclpy",),
    ),
    Library(
        "requests",
        "ticktree.instruments.requests:INSTRUMENT",
        "Each exchange with a server, and the time that the server reports.",
        packages=("requests",),
    ),
    Library(
        "httpx",
        "ticktree.instruments.httpx:INSTRUMENT",
        "Each request, redirects included, and the time that the servers report.",
        packages=("httpx",),
    ),
    Library(
        "aiohttp",
        "ticktree.instruments.aiohttp:INSTRUMENT",
        "The client's requests, and the time that the servers report; reading of bodies has its own row.",
        packages=("aiohttp",),
    ),
    Library(
        "grpc",
        "ticktree.instruments.grpc:INSTRUMENT",
        "Each call that waits for a response, and the time that the server reports.",
        packages=("grpc",),
    ),
    Library(
        "ray",
        "ticktree.instruments.ray:INSTRUMENT",
        "Tasks and actors, on every node of a cluster, below what called them; waiting for their results.",
        packages=("ray",),
    ),
    Library(
        "rllib",
        "ticktree.instruments.rllib:INSTRUMENT",
        "Training steps as ticks; what env runners and learners do, each a role.",
        packages=("ray.rllib",),
    ),
    Library(
        "torch-layers",
        "ticktree.instruments.torch.forward:LAYERS",
        "A row for every layer of a forward pass.",
        packages=("torch",),
        on_demand=True,
    ),
    Library(
        "torch-flops",
        "ticktree.instruments.torch.flops:INSTRUMENT",
        "Floating-point operations of forward and backward passes, by torch's own counter.",
        packages=("torch",),
        on_demand=True,
    ),
    Library(
        "trace-context",
        "ticktree.instruments.trace_context",
        "Nothing: gives each of these calls that carries no trace the run's W3C traceparent.",
        on_demand=True,
    ),
)
