"""`ticktree demo`: an example run, for those who have no program to record yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import click

import ticktree
from ticktree.cli import options
from ticktree.cli.recording import RecordingOptions
from ticktree.cli.run import run_program
from ticktree.cli.screen import note
from ticktree.demo.requirements import require
from ticktree.errors import TicktreeError
from ticktree.run.directory import DEFAULT_OUT
from ticktree.supervisor.program import Program


@dataclass(frozen=True)
class _Shown:
    """How a workload runs without arguments: for about a minute."""

    # The first of these that its folder has.
    scripts: tuple[str, ...] = ("train.py", "eval.py", "eval_with_robot.py", "ppo.py")
    arguments: tuple[str, ...] = ("--quick",)
    recording: RecordingOptions = field(default_factory=RecordingOptions)


_SHOWN = {
    "ppo_single_file": _Shown(arguments=("--total-timesteps", "100000")),
    "rest_racing": _Shown(
        ("eval.py",),
        recording=RecordingOptions(instrument="default,-torch", focus=("Driver.step",), warmup=100),
    ),
    "rgb_convlstm": _Shown(arguments=("--obs-mode", "rgb_image", "--convlstm", "--quick")),
    "visual_sac": _Shown(arguments=("--fill", "300", "--updates", "23")),
}


@click.command(
    "demo",
    short_help="Run a demonstration under ticktree.",
    context_settings=options.PROGRAM_LAST,
)
@click.argument("workload", required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]...")
def command(workload: str | None, args: tuple[str, ...]) -> None:
    """Run a demonstration under ticktree and print where its time went.

    Without WORKLOAD: ten seconds of a simulated robot's control loop, which needs nothing but ticktree. With WORKLOAD:
    a program of the folder `workloads` in a checkout of ticktree, for about a minute, or with ARGS.
    """
    example = _SHOWN.get(workload or "", _Shown())
    if workload is None:
        program = Program("ticktree.demo.control_loop", True, ())
        about = "a robot's control loop for ten seconds, with a slow section, a stall and a second thread."
    else:
        program = _workload(workload, args or example.arguments)
        about = " ".join(program.arguments)
    note(f"Running {program.target}: {about}")
    name = f"demo-{workload or 'control_loop'}"
    run_program(program, name, DEFAULT_OUT, quiet=False, recording_options=example.recording)


def _workload(name: str, args: tuple[str, ...]) -> Program:
    places = _places()
    for place in places:
        script = _script(place / name)
        if script is not None:
            require(place / name)
            target = script.relative_to(Path.cwd()) if script.is_relative_to(Path.cwd()) else script
            return Program(str(target), False, args)
    names = sorted({folder.name for place in places for folder in place.iterdir() if _script(folder)})
    if not names:
        raise TicktreeError(
            f"no workload {name!r}: workloads are in a checkout of ticktree, and there is none here"
        )
    raise TicktreeError(f"no workload {name!r} here; there are: {', '.join(names)}")


def _script(folder: Path) -> Path | None:
    scripts = (folder / name for name in _SHOWN.get(folder.name, _Shown()).scripts)
    return next((script for script in scripts if script.is_file()), None)


def _places() -> list[Path]:
    """Return the folders of workloads: in and above the working directory, and in the checkout of this ticktree."""
    cwd = Path.cwd()
    source = Path(ticktree.__file__).resolve().parents[2]
    candidates = [above / "workloads" for above in (cwd, *cwd.parents, source)]
    return [place for place in candidates if place.is_dir()]
