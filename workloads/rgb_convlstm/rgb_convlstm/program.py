"""The run: everything built, trained and told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from stable_baselines3.common.callbacks import CallbackList

from ticktree.compat.profiling import get_profiler, profile

from .callbacks import Progress, Summaries
from .model import make_model
from .options import Options, parse
from .policy import count_parameters


def main(arguments: list[str] | None = None) -> int:
    """Run the program with this command line and return its exit status."""
    options = parse(arguments)
    torch.set_num_threads(options.threads)
    with _profiling(options):
        model = make_model(options)
        print(_describe(options, count_parameters(model.policy)), flush=True)
        progress = Progress()
        summaries = Summaries(options.profiling_summary_freq if options.enable_profiling else 0)
        began = time.perf_counter()
        with profile("training_total", track_memory=True):
            model.learn(options.timesteps, CallbackList([progress, summaries]))
        seconds = time.perf_counter() - began
        steps = model.num_timesteps
        print(f"trained: {steps} steps in {seconds:.1f} s, {steps / seconds:.1f} steps/s")
        if progress.solved:
            print(f"episodes: {len(progress.solved)}, solved {sum(progress.solved)}")
        if options.save:
            model.save(options.save)
    return 0


@contextmanager
def _profiling(options: Options) -> Iterator[None]:
    """Time operations where that is asked for; the report is written however training ends."""
    if not options.enable_profiling:
        yield
        return
    profiler = get_profiler()
    profiler.enable()
    try:
        yield
    finally:
        profiler.print_summary()
        profiler.save_report(options.profiling_report)
        print(_what_now(options.profiling_report))


def _what_now(report: Path) -> str:
    return (
        f"profiling report: {report}\n"
        f"  python -m ticktree.compat.profiling.analyzer --input {report} --output analysis.txt"
    )


def _describe(options: Options, parameters: int) -> str:
    rules = options.rules
    network = "ConvLSTM" if options.convlstm else "LSTM"
    background = ", background cached" if rules.cached_background else ""
    return (
        f"board of {rules.size} x {rules.size}, {rules.robots} robots, seen as {rules.obs_mode}{background}; "
        f"{network} of {parameters} parameters; {options.envs} environments, {options.device}, "
        f"torch threads {options.threads}, seed {options.seed}"
    )
