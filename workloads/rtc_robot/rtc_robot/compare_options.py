"""The options of `compare_rtc.py`."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from .arguments import device, whole_number
from .policy import CHUNK

ITERATIONS, QUICK_ITERATIONS = 50, 12
WARMUP, QUICK_WARMUP = 5, 2

HELP = {
    "num_iterations": f"chunks predicted in each way (default: {ITERATIONS})",
    "warmup": f"chunks predicted before those, in each way (default: {WARMUP})",
    "quick": f"a run of under a minute: {QUICK_ITERATIONS} chunks after {QUICK_WARMUP}",
    "execution_horizon": "actions of the old chunk that guide the new one, and that are executed of each "
    "(default: %(default)s)",
    "device": "where the policy runs: cpu, cuda, mps (default: %(default)s)",
    "enable_detailed_profiling": "also time the methods within the policy",
    "use_torch_compile": "remedy: compile the policy's denoising step, in both ways",
    "freeze": "remedy: no gradients of the policy's parameters, which guidance computes and are never used",
    "threads": "torch threads; on busy cores more are slower than one (default: %(default)s)",
    "seed": "of weights, noise and the picture (default: %(default)s)",
}


class CompareOptions(NamedTuple):
    """A checked command line."""

    num_iterations: int
    warmup: int
    execution_horizon: int
    device: str
    enable_detailed_profiling: bool
    use_torch_compile: bool
    freeze: bool
    threads: int
    seed: int


def parse(arguments: list[str] | None = None) -> CompareOptions:
    """Read a command line; what makes no sense ends the program with one line and exit status 2."""
    parser = _parser()
    chosen = vars(parser.parse_args(arguments))
    quick = chosen.pop("quick")
    for name, short, long in (
        ("num_iterations", QUICK_ITERATIONS, ITERATIONS),
        ("warmup", QUICK_WARMUP, WARMUP),
    ):
        if chosen[name] is None:
            chosen[name] = short if quick else long
    options = CompareOptions(**chosen)
    if options.execution_horizon > CHUNK:
        parser.error(f"--execution_horizon {options.execution_horizon} is more than a chunk of {CHUNK}")
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="compare_rtc.py",
        description="Compare inference with and without real-time chunking, chunk by chunk in turn, without a robot.",
        epilog="Run it as `ticktree run compare_rtc.py ...` to get the tree of the whole run at the end.",
    )

    def number(name: str, least: int, default: int | None) -> None:
        parser.add_argument(
            f"--{name}", type=whole_number(least), default=default, metavar="N", help=HELP[name]
        )

    def switch(name: str) -> None:
        parser.add_argument(f"--{name}", action="store_true", help=HELP[name])

    number("num_iterations", 1, None)
    number("warmup", 0, None)
    switch("quick")
    number("execution_horizon", 1, 20)
    parser.add_argument("--device", type=device, default="cpu", help=HELP["device"])
    switch("enable_detailed_profiling")
    switch("use_torch_compile")
    switch("freeze")
    number("threads", 1, 1)
    number("seed", 0, 0)
    return parser
