"""The two programs: train RecurrentPPO on the board, and evaluate a trained model or random actions."""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.env_util import make_vec_env

import ticktree
from ticktree.compat.profiling import get_profiler, profile

from .env import MODES, PLANES, ROBOTS, EnvConfig, RicochetEnv
from .networks import NetworkConfig
from .policy import ConvLstmPolicy


class Progress(BaseCallback):
    """Prints the share of solved episodes after each rollout."""

    def __init__(self) -> None:
        super().__init__()
        self.solved: list[bool] = []  # by episode, in the order in which they ended
        self.printed_episodes = 0
        self.start = time.perf_counter()

    def _on_step(self) -> bool:
        infos: list[dict[str, Any]] = self.locals["infos"]
        self.solved += [bool(info["solved"]) for info in infos if "episode" in info]
        return True

    def _on_rollout_end(self) -> None:
        outcomes = self.solved[self.printed_episodes :]
        self.printed_episodes = len(self.solved)
        summary = (
            f"{100 * sum(outcomes) / len(outcomes):.0f}% of {len(outcomes)} solved"
            if outcomes
            else "none ended"
        )
        rate = self.num_timesteps / (time.perf_counter() - self.start)
        print(f"step {self.num_timesteps}: episodes: {summary}, {rate:.1f} steps/s", flush=True)


class Summaries(BaseCallback):
    """Prints the profiling summary every `freq` steps; 0 for never."""

    def __init__(self, freq: int) -> None:
        super().__init__()
        self.freq = freq
        self.printed = 0

    def _on_step(self) -> bool:
        if self.freq and self.num_timesteps // self.freq > self.printed:
            self.printed = self.num_timesteps // self.freq
            get_profiler().print_summary()
        return True


def make_model(args: argparse.Namespace) -> RecurrentPPO:
    """Make an untrained model and its environments."""
    policy: Any = ConvLstmPolicy
    policy_kwargs: dict[str, Any] = {"network": args.network}
    if not args.convlstm:
        policy = "CnnLstmPolicy" if args.env.obs_mode == "rgb_image" else "MlpLstmPolicy"
        policy_kwargs = {"lstm_hidden_size": args.network.features}
    make_env: Any = partial(RicochetEnv, args.env)
    return RecurrentPPO(
        policy,
        make_vec_env(make_env, n_envs=args.envs, seed=args.seed),
        n_steps=args.rollout_steps,
        batch_size=args.batch,
        n_epochs=args.epochs,
        learning_rate=args.learning_rate,
        ent_coef=0.01,
        policy_kwargs=policy_kwargs,
        seed=args.seed,
        device=args.device,
    )


def main(argv: list[str] | None = None) -> int:
    """Train."""
    args = parse_train_args(argv)
    torch.set_num_threads(args.threads)
    profiler = get_profiler()
    if args.enable_profiling:
        profiler.enable()
    try:
        train(args)
    finally:  # the report is written however training ends
        if args.enable_profiling:
            profiler.print_summary()
            profiler.save_report(args.profiling_report)
            print(
                f"profiling report: {args.profiling_report}\n  python -m ticktree.compat.profiling.analyzer "
                f"--input {args.profiling_report} --output analysis.txt"
            )
    return 0


def train(args: argparse.Namespace) -> None:
    """Train and save a model."""
    model = make_model(args)
    parameters = sum(param.numel() for param in model.policy.parameters() if param.requires_grad)
    print(
        f"board of {args.env.size} x {args.env.size}, {args.env.robots} robots, seen as {args.env.obs_mode}"
        f"{', background cached' if args.env.cached_background else ''}; "
        f"{'ConvLSTM' if args.convlstm else 'LSTM'} of {parameters} parameters; {args.envs} environments, "
        f"{args.device}, torch threads {args.threads}, seed {args.seed}",
        flush=True,
    )
    progress = Progress()
    summaries = Summaries(args.profiling_summary_freq if args.enable_profiling else 0)
    start = time.perf_counter()
    with profile("training_total", track_memory=True):
        model.learn(args.timesteps, CallbackList([progress, summaries]))
    seconds = time.perf_counter() - start
    steps = model.num_timesteps
    print(f"trained: {steps} steps in {seconds:.1f} s, {steps / seconds:.1f} steps/s")
    if progress.solved:
        print(f"episodes: {len(progress.solved)}, solved {sum(progress.solved)}")
    if args.save:
        model.save(args.save)


def evaluate(argv: list[str] | None = None) -> int:
    """Solve puzzles with a saved model, or at random."""
    args = parse_eval_args(argv)
    env = RicochetEnv(args.env)
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    moves_to_solve: list[int] = []
    for episode in range(args.episodes):
        obs, _ = env.reset(seed=args.seed + episode)
        state: tuple[NDArray[np.float32], ...] | None = None
        for move in ticktree.loop("evaluate", range(args.env.episode_moves)):
            if args.model is None:
                action = rng.integers(env.action_space.n)  # type: ignore[attr-defined]
            else:
                action, state = args.model.predict(
                    obs, state, np.array([move == 0]), deterministic=args.deterministic
                )
            obs, _, is_solved, _, _ = env.step(int(action))
            if is_solved:
                moves_to_solve.append(move + 1)
                break
    mean = f", in {np.mean(moves_to_solve):.1f} moves" if moves_to_solve else ""
    print(f"solved {len(moves_to_solve)} of {args.episodes}{mean}")
    return 0


def add_env_args(parser: argparse.ArgumentParser) -> None:
    """Add the options of the board, of torch and of randomness that both programs have."""
    add, default = parser.add_argument, EnvConfig()
    add("--obs-mode", choices=MODES, default=default.obs_mode, help="a picture of the board, or planes")
    add("--cached-background", action="store_true", help="draw grid and walls once per board")
    add("--size", type=int, default=default.size, help="cells per side (default: %(default)s)")
    add("--robots", type=int, default=default.robots, help=f"at most {len(ROBOTS)} (default: %(default)s)")
    add("--moves", type=int, default=default.moves, help="most moves to the target (default: %(default)s)")
    add("--episode-moves", type=int, default=default.episode_moves, help="per episode (default: %(default)s)")
    add(
        "--cell-pixels",
        type=int,
        default=default.cell_pixels,
        help="side of a drawn cell (default: %(default)s)",
    )
    add(
        "--picture-pixels",
        type=int,
        default=default.picture_pixels,
        help="side after resizing (default: %(default)s)",
    )
    add("--threads", type=int, default=1, help="torch threads; on busy cores one is fastest (default: 1)")
    add("--device", default="cpu", help="cpu, cuda or cuda:N (default: %(default)s)")


def check_env_args(args: argparse.Namespace) -> None:
    """Raise ValueError, in one line, where options make no sense; gather the board's options in `args.env`."""
    for name in ("robots", "moves", "episode_moves", "picture_pixels", "threads"):
        require_least(args, name, 1)
    for name in ("size", "cell_pixels"):
        require_least(args, name, 2)
    if args.robots > len(ROBOTS):
        raise ValueError(f"--robots {args.robots}: there are colours for {len(ROBOTS)}")
    if args.robots >= args.size**2:
        raise ValueError(f"--robots {args.robots} do not fit on a board of {args.size} x {args.size}")
    args.env = EnvConfig(*(getattr(args, name) for name in EnvConfig._fields))
    try:
        args.device = torch.device(args.device)
    except RuntimeError:
        raise ValueError(f"no such device: {args.device}") from None
    if args.device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("no CUDA device here")


def require_least(args: argparse.Namespace, name: str, least: int) -> None:
    """Raise ValueError where an option is too small."""
    if getattr(args, name) < least:
        raise ValueError(f"--{name.replace('_', '-')} {getattr(args, name)} is less than {least}")


def parse_train_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read train.py's command line."""
    parser = argparse.ArgumentParser(
        prog="train.py",
        description="Train a policy to play a board of sliding robots, and see where the time goes.",
        epilog="Run it as `ticktree run train.py ...` to get the tree of the whole run at the end.",
    )
    add, network = parser.add_argument, NetworkConfig()
    add("--convlstm", action="store_true", help="the ConvLSTM policy (default: sb3-contrib's own LSTM)")
    add("--quick", action="store_true", help="a run of under a minute: 512 steps of 2 environments")
    add("--timesteps", type=int, help="environment steps, rounded up to whole rollouts (default: 10000)")
    add("--envs", type=int, help="environments that step in turn (default: 4)")
    add("--rollout-steps", type=int, help="steps per environment and rollout (default: 128)")
    add("--batch", type=int, default=128, help="steps per minibatch (default: %(default)s)")
    add("--epochs", type=int, default=4, help="per rollout (default: %(default)s)")
    add("--learning-rate", type=float, default=3e-4, help="of Adam (default: %(default)s)")
    add(
        "--channels",
        type=int,
        default=network.channels,
        help="of encoder and ConvLSTM (default: %(default)s)",
    )
    add("--layers", type=int, default=network.layers, help="of the ConvLSTM (default: %(default)s)")
    add("--features", type=int, default=network.features, help="for actor and critic (default: %(default)s)")
    add_env_args(parser)
    add("--seed", type=int, default=0, help="(default: %(default)s)")
    add("--save", type=Path, metavar="FILE", help="write the trained model there at the end, for eval.py")
    add("--enable-profiling", action="store_true", help="time operations, print a summary, write the report")
    add(
        "--profiling-report",
        type=Path,
        default=Path("profiling_report.json"),
        metavar="FILE",
        help="where the report is written (default: %(default)s)",
    )
    add("--profiling-summary-freq", type=int, default=5000, help="print it every N steps too; 0 for never")
    args = parser.parse_args(argv)
    quick, full = (512, 2, 64), (10_000, 4, 128)
    for name, value in zip(
        ("timesteps", "envs", "rollout_steps"), quick if args.quick else full, strict=True
    ):
        if getattr(args, name) is None:
            setattr(args, name, value)
    try:
        check_env_args(args)
        check_train_args(args)
    except ValueError as error:
        parser.error(str(error))
    args.network = NetworkConfig(args.channels, args.layers, args.features)
    return args


def check_train_args(args: argparse.Namespace) -> None:
    """Raise ValueError, in one line, where options of a training make no sense."""
    for name in ("timesteps", "envs", "epochs", "channels", "layers", "features"):
        require_least(args, name, 1)
    for name in ("rollout_steps", "batch"):
        require_least(args, name, 2)
    is_image = args.obs_mode == "rgb_image"
    side, option = (args.picture_pixels, "--picture-pixels") if is_image else (args.size, "--size")
    if args.convlstm and side % 4:
        raise ValueError(f"{option} {side} is no multiple of 4, as --convlstm wants it")
    if not args.convlstm and is_image and side < 36:
        raise ValueError(
            f"{option} {side} is too little for the convolutions that there are without --convlstm"
        )
    if not is_image and side <= PLANES:
        # The library takes the shortest of three sides for the channels, and would transpose the planes.
        raise ValueError(f"--size {side} is too little for --obs-mode planes: at least {PLANES + 1}")
    if args.learning_rate <= 0:
        raise ValueError(f"--learning-rate {args.learning_rate} is not above 0")
    for option, path in (
        ("--save", args.save),
        ("--profiling-report", args.profiling_report if args.enable_profiling else None),
    ):
        if path and not path.absolute().parent.is_dir():
            raise ValueError(f"{option} {path}: there is no such directory")


def parse_eval_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read eval.py's command line, and load its model."""
    parser = argparse.ArgumentParser(
        prog="eval.py",
        description="Let a model that train.py saved solve puzzles, and see how fast it moves.",
    )
    add = parser.add_argument
    add("model", type=Path, nargs="?", metavar="MODEL", help="what train.py --save wrote")
    add("--random", action="store_true", help="play at random, without a model")
    add("--episodes", type=int, default=20, help="puzzles (default: %(default)s)")
    add("--deterministic", action="store_true", help="take the likeliest action instead of drawing one")
    add_env_args(parser)
    add("--seed", type=int, default=10_000, help="of the first puzzle and of actions (default: %(default)s)")
    args = parser.parse_args(argv)
    try:
        check_env_args(args)
        require_least(args, "episodes", 1)
        if args.model is None and not args.random:
            raise ValueError("either a MODEL or --random")
        if args.model is not None:
            args.model = load_model(args)
    except ValueError as error:
        parser.error(str(error))
    return args


def load_model(args: argparse.Namespace) -> RecurrentPPO:
    """Load a trained model; ValueError where there is none, or it was trained on another board."""
    if not args.model.is_file():
        raise ValueError(f"{args.model}: there is no such file")
    model = RecurrentPPO.load(args.model, device=args.device)
    env = RicochetEnv(args.env)
    if (env.observation_space, env.action_space) != (model.observation_space, model.action_space):
        raise ValueError("the model was trained on another board: give its --size, --robots and so on")
    return model
