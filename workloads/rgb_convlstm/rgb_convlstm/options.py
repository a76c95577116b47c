"""What can be asked of a training on the command line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import torch

from .arguments import add_rules, check_folder, device, number, take_rules
from .environment import Rules
from .network import Shape
from .planes import CHANNELS

QUICK = {"timesteps": 512, "envs": 2, "rollout_steps": 64}
FULL = {"timesteps": 10_000, "envs": 4, "rollout_steps": 128}
REPORT = Path("profiling_report.json")
SHAPE = Shape()

HELP = {
    "convlstm": "the ConvLSTM policy; without it sb3-contrib's own, whose LSTM forgets where things were",
    "quick": f"a run of under a minute: {QUICK['timesteps']} steps",
    "timesteps": f"environment steps, rounded up to whole rollouts (default: {FULL['timesteps']})",
    "envs": f"environments that step in turn (default: {FULL['envs']})",
    "rollout_steps": f"steps of each environment between two trainings (default: {FULL['rollout_steps']})",
    "batch": "steps a minibatch (default: %(default)s)",
    "epochs": "how often a rollout is trained on (default: %(default)s)",
    "channels": "of the encoder and of each ConvLSTM layer (default: %(default)s)",
    "layers": "of the ConvLSTM (default: %(default)s)",
    "features": "that the network gives to actor and critic (default: %(default)s)",
    "learning_rate": "of Adam (default: %(default)s)",
    "threads": "torch threads; on busy cores more are slower than one (default: %(default)s)",
    "device": "cpu, cuda or cuda:N (default: %(default)s)",
    "seed": "of everything random (default: %(default)s)",
    "save": "write the trained model there at the end, for eval.py",
    "enable_profiling": "time operations, print a summary at the end and write the report",
    "profiling_report": "where the report goes (default: %(default)s)",
    "profiling_summary_freq": "print the summary every N steps too; 0 for never (default: %(default)s)",
}


class Options(NamedTuple):
    """A checked command line."""

    convlstm: bool
    timesteps: int
    envs: int
    rollout_steps: int
    batch: int
    epochs: int
    learning_rate: float
    rules: Rules
    shape: Shape
    threads: int
    device: torch.device
    seed: int
    save: Path | None
    enable_profiling: bool
    profiling_report: Path
    profiling_summary_freq: int


def parse(arguments: list[str] | None = None) -> Options:
    """Read a command line; what makes no sense ends the program with one line and exit status 2."""
    parser = _parser()
    chosen = vars(parser.parse_args(arguments))
    preset = QUICK if chosen.pop("quick") else FULL
    for name, value in preset.items():
        if chosen[name] is None:
            chosen[name] = value
    try:
        rules = take_rules(chosen)
        chosen["shape"] = Shape(*(chosen.pop(name) for name in Shape._fields))
        chosen["device"] = device(chosen["device"])
        options = Options(**chosen, rules=rules)
        _check(options)
    except ValueError as error:
        parser.error(str(error))
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="train.py",
        description="Train a policy to play a board of sliding robots, and see where the time goes.",
        epilog="Run it as `ticktree run train.py ...` to get the tree of the whole run at the end.",
    )

    def ask(name: str, least: int, default: int | None) -> None:
        number(parser, name, HELP[name], least, default)

    def switch(name: str) -> None:
        parser.add_argument("--" + name.replace("_", "-"), action="store_true", help=HELP[name])

    switch("convlstm")
    switch("quick")
    ask("timesteps", 1, None)
    ask("envs", 1, None)
    ask("rollout_steps", 2, None)
    ask("batch", 2, 128)
    ask("epochs", 1, 4)
    parser.add_argument("--learning-rate", type=float, default=3e-4, metavar="X", help=HELP["learning_rate"])
    add_rules(parser)
    for name, default in SHAPE._asdict().items():
        ask(name, 1, default)
    ask("threads", 1, 1)
    parser.add_argument("--device", default="cpu", help=HELP["device"])
    ask("seed", 0, 0)
    parser.add_argument("--save", type=Path, metavar="FILE", help=HELP["save"])
    switch("enable_profiling")
    report = HELP["profiling_report"]
    parser.add_argument("--profiling-report", type=Path, default=REPORT, metavar="FILE", help=report)
    ask("profiling_summary_freq", 0, 5000)
    return parser


def _check(options: Options) -> None:
    rules = options.rules
    side = rules.picture_pixels if rules.obs_mode == "rgb_image" else rules.size
    flag = "--picture-pixels" if rules.obs_mode == "rgb_image" else "--size"
    if options.convlstm and side % 4:
        raise ValueError(f"{flag} {side} is no multiple of 4, as --convlstm wants it")
    if not options.convlstm and rules.obs_mode == "rgb_image" and side < 36:
        raise ValueError(
            f"{flag} {side} is too little for the convolutions that there are without --convlstm"
        )
    if rules.obs_mode == "planes" and side <= CHANNELS:
        # Of three sides the library takes the shortest for the channels, and would turn the planes round.
        raise ValueError(f"--size {side} is too little for --obs-mode planes: at least {CHANNELS + 1}")
    if options.learning_rate <= 0:
        raise ValueError(f"--learning-rate {options.learning_rate} is not above 0")
    check_folder("--save", options.save)
    if options.enable_profiling:
        check_folder("--profiling-report", options.profiling_report)
