"""The self-test: whether profiling works here, shown on a simulated training with the real environment and policy."""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from torch.nn import functional as F  # noqa: N812

from ticktree.compat.profiling import get_profiler, profile, profile_function

from .env import EnvConfig, RicochetEnv
from .networks import NetworkConfig
from .policy import ConvLstmPolicy

# Names of the timed operations.
ENVIRONMENT = (
    "env_rgb_observation_generation",
    "env_rgb_rendering",
    "env_rgb_resizing",
    "env_rgb_draw_grid",
    "env_rgb_draw_walls",
    "env_rgb_draw_robots",
    "env_rgb_draw_target",
)
MODEL = (
    "convlstm_forward_pass",
    "convlstm_boundary_padding",
    "convlstm_conv_encoder",
    "convlstm_skip_connection",
    "convlstm_layers",
    "convlstm_global_pooling",
    "convlstm_projection",
)
POLICY = (
    "recurrent_policy_forward",
    "recurrent_policy_get_hidden_states",
    "recurrent_policy_action_value",
    "recurrent_policy_action_dist",
    "recurrent_policy_action_sampling",
)
TRAINING = ("training_total",)
# Only in test_profiling.py.
SIMULATED_OPERATIONS = ("simulated_training_step", "simulated_data_collection", "simulated_model_update")


ENV = EnvConfig(size=8, picture_pixels=32)
NETWORK = NetworkConfig(channels=8, layers=1, features=16)
ROLLOUT_STEPS = 4


class Simulation:
    """A few steps of the real environment with the real policy, and one optimizer step towards a value of zero."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self._env = RicochetEnv(ENV)
        space = self._env.observation_space, self._env.action_space
        self._policy = ConvLstmPolicy(*space, lambda _: 1e-3, NETWORK)  # type: ignore[arg-type]
        self._obs, _ = self._env.reset(seed=0)
        zeros = torch.zeros(NETWORK.layers, 1, self._policy.lstm_actor.hidden_size)
        self._states = RNNStates((zeros, zeros), (zeros, zeros))

    @profile_function("simulated_training_step", track_memory=True)
    def step(self) -> None:
        """Collect, then learn from it."""
        images = self._collect()
        self._update(images)

    @profile_function("simulated_data_collection")
    def _collect(self) -> torch.Tensor:
        images = []
        for _ in range(ROLLOUT_STEPS):
            image = torch.from_numpy(self._obs).unsqueeze(0)
            images.append(image)
            with torch.no_grad():
                actions, _, _, self._states = self._policy(image, self._states, torch.zeros(1))
            self._obs, _, terminated, truncated, _ = self._env.step(int(actions))
            if terminated or truncated:
                self._obs, _ = self._env.reset()
        return torch.cat(images)

    @profile_function("simulated_model_update")
    def _update(self, images: torch.Tensor) -> None:
        actions = torch.from_numpy(np.zeros(len(images), np.int64))
        starts = torch.zeros(len(images))
        values, _, _ = self._policy.evaluate_actions(images, actions, self._states, starts)
        loss = F.mse_loss(values, torch.zeros_like(values))
        self._policy.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._policy.optimizer.step()


def simulate(steps: int) -> None:
    """Train for so many simulated steps."""
    simulation = Simulation()
    with profile("training_total", track_memory=True):
        for _ in range(steps):
            simulation.step()


FOLDER = Path("profiling_test_files")
COLUMNS = ("Operation", "Calls", "Total(s)", "Avg(s)", "Min(s)", "Max(s)", "Mem Peak(MB)", "GPU Peak(MB)")
ANALYZER = "ticktree.compat.profiling.analyzer"
STEPS = 3
SKIP_PREFIX = "not checked: "  # how the result of a skipped check begins


def main(arguments: list[str] | None = None) -> int:
    """Run and print every check; return the exit status: 1 where one failed."""
    args = _parser().parse_args(arguments)
    try:
        args.folder.mkdir(exist_ok=True)
    except OSError as error:
        print(f"test_profiling.py: {args.folder}: {error.strerror}", file=sys.stderr)
        return 2
    failures = 0
    for name, problem in _checks(args.folder):
        is_skipped = problem is not None and problem.startswith(SKIP_PREFIX)
        result = "ok" if problem is None else "skipped" if is_skipped else "FAILED"
        print(f"{result:8}{name}" + (f": {problem}" if problem else ""))
        failures += problem is not None and not is_skipped
    if args.cleanup:
        shutil.rmtree(args.folder)
        print(f"removed {args.folder}")
    else:
        print(f"files are in {args.folder}; --cleanup removes them")
    print(f"{failures} failed" if failures else "profiling works")
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="test_profiling.py",
        description="See that profiling works here: a simulated training, its summary, report and analysis.",
    )
    parser.add_argument("--cleanup", action="store_true", help="remove the files when all is done")
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="where the files are put (default: %(default)s)"
    )
    return parser


def _checks(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Run each check; yield its name, and what is wrong or None."""
    yield "nothing is recorded while profiling is off", _check_off()
    profiler = get_profiler()
    profiler.enable()
    profiler.reset()
    simulate(STEPS)
    profiler.disable()
    yield "every operation is recorded", _check_operations(profiler.summary())
    yield "the summary has all columns", _check_columns(profiler.summary())
    report = folder / "profiling_report.json"
    profiler.save_report(report)
    yield "the analyzer prints", _check_printed(report)
    yield "the analyzer writes a report", _check_written(report, "--output", folder / "analysis.txt", b"")
    yield "the analyzer draws charts", _check_charts(report, folder / "performance.png")
    yield "the analyzer writes details", _check_details(report, folder / "detailed_analysis.json")
    profiler.enable()
    profiler.reset()
    profiler.disable()
    lines = profiler.summary().splitlines()
    yield "reset forgets", None if len(lines) == 1 else f"there still is {lines[-2]!r}"


def _check_off() -> str | None:
    profiler = get_profiler()
    profiler.disable()
    before = profiler.summary()
    simulate(1)
    return None if profiler.summary() == before else "something was"


def _check_operations(summary: str) -> str | None:
    calls = {line.split()[0]: int(line.split()[1]) for line in summary.splitlines()[4:-1]}
    operations = (*ENVIRONMENT, *MODEL, *POLICY, *TRAINING, *SIMULATED_OPERATIONS)
    missing = [name for name in operations if not calls.get(name)]
    if missing:
        return f"not {', '.join(missing)}"
    steps = calls["simulated_training_step"]
    return None if steps == STEPS else f"{steps} simulated steps instead of {STEPS}"


def _check_columns(summary: str) -> str | None:
    heads = summary.splitlines()[2]
    missing = [column for column in COLUMNS if column not in heads]
    return f"not {', '.join(missing)}" if missing else None


def _check_printed(report: Path) -> str | None:
    done = _analyze(report)
    if done.returncode:
        return done.stderr.strip()
    missing = [head for head in ("SUMMARY", "WHERE THE RUN GOES", "BY CATEGORY") if head not in done.stdout]
    return f"no {', '.join(missing)}" if missing else None


def _check_charts(report: Path, path: Path) -> str | None:
    if importlib.util.find_spec("matplotlib") is None:
        return f"{SKIP_PREFIX}matplotlib is not installed"
    return _check_written(report, "--charts", path, b"\x89PNG")


def _check_details(report: Path, path: Path) -> str | None:
    problem = _check_written(report, "--detailed", path, b"{")
    if problem:
        return problem
    details = json.loads(path.read_text(encoding="utf-8"))
    missing = [key for key in ("operations", "bottlenecks", "categories") if not details.get(key)]
    return f"no {', '.join(missing)}" if missing else None


def _check_written(report: Path, option: str, path: Path, start: bytes) -> str | None:
    done = _analyze(report, option, str(path))
    if done.returncode:
        return done.stderr.strip()
    content = path.read_bytes()
    return None if content and content.startswith(start) else f"{path} is not what it should be"


def _analyze(report: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", ANALYZER, "--input", str(report), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)
