"""`ticktree attach`: record a running program.

It is sampled from outside, which changes nothing in it. From Python 3.14 on, which can run a script in a running
process (PEP 768), the recorder and the instruments are installed in it as well, and removed at the end.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ticktree.cli import options
from ticktree.cli.sampling import facts_of
from ticktree.cli.screen import complain
from ticktree.errors import TicktreeError
from ticktree.instruments import DEFAULT, as_environment, select_libraries
from ticktree.run.finishing import RunDirectory
from ticktree.run.parts import write_part
from ticktree.supervisor.program import command_name

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.run.observations import StackSamples
    from ticktree.supervisor.sampler.sampling import Sampling

_LOOK_EVERY_S = 0.5
_KEEP_EVERY = 4  # looks
# The main thread runs the script between two instructions of Python code, so not while it runs C code or waits.
_ANSWER_WITHIN_S = 5.0
_REMOTE_EXEC = "remote_exec"  # from 3.14 on
_PACKAGES = Path(__file__).parents[2]

# What the program runs. The first to rename the file decides: the program, which runs it, or ticktree, which cancels
# it.
_SCRIPT = """
def begin():
    import json, os, sys, time
    began, error = time.perf_counter(), ""
    try:
        os.rename({script!r}, {taken!r})
    except OSError:
        return
    try:
        is_new = "ticktree" not in sys.modules
        sys.path.insert(0, {packages!r})
        try:
            from ticktree.session import arming
        finally:
            sys.path.remove({packages!r})
        arming.{call}
    except BaseException as reason:
        error = str(reason) or type(reason).__name__
    with open({taken!r}, "w") as file:
        json.dump({{"error": error, "ms": 1e3 * (time.perf_counter() - began)}}, file)
    os.rename({taken!r}, {answer!r})
begin()
"""


@click.command("attach", short_help="Sample a running program.")
@click.argument("pid", type=click.IntRange(min=1))
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="How long to record. By default, until the program ends or Ctrl-C.",
)
@click.option(
    "--sample",
    type=click.FloatRange(1, 1000),
    default=100,
    show_default=True,
    metavar="HZ",
    help="Samples per second.",
)
@click.option(
    "--instrument",
    metavar="LIB,...",
    default=DEFAULT,
    help="Libraries to instrument, as for ticktree run. Needs Python 3.14 or newer.",
)
@click.option("--only-sample", is_flag=True, help="Install nothing in the program, as before Python 3.14.")
@options.out
def command(
    pid: int, seconds: float | None, sample: float, instrument: str, only_sample: bool, out: Path
) -> None:
    """Record a running Python program and print where its time went.

    ticktree samples it from outside: it reads the program's memory and does not stop it. From Python 3.14 on, ticktree
    also installs the recorder and the instruments in it, and removes them at the end. The program must run the same
    Python as this ticktree.
    """
    argv = _command_line(pid)
    require_readable(pid)
    from ticktree.supervisor.sampler.sampling import Sampling

    libraries = as_environment(select_libraries(word for word in instrument.split(",") if word))
    run = RunDirectory.create(command_name(["python", *argv]), out, argv=argv, supervised=True)
    installed = _Installed(pid, run.path.absolute())
    try:
        is_recorded = not only_sample and installed.begin(libraries)
        sampling = Sampling(run.memory_dir, sample, is_attached=not is_recorded)
        began_ns = time.monotonic_ns()
        sampling.begin(pid)
        with suppress(KeyboardInterrupt):
            complain(f"{'recording' if is_recorded else 'sampling'} process {pid}: {' '.join(argv)}")
            _wait(sampling, seconds)
        sampled, took_ns = sampling.end(), time.monotonic_ns() - began_ns
        if is_recorded:
            installed.end()
        if sampled is not None:
            run.describe({"command": " ".join(argv), **facts_of(sampled, argv)})
        if sampled is not None and not is_recorded:
            write_part(run, "attached", _profile(sampled, took_ns).to_json().encode())
    finally:
        profile = run.finish(left=pid)
    from ticktree.cli.summary import print_summary

    print_summary(profile, run.path)


class _Installed:
    """The recorder and the instruments in a running program: both communicate through files in the run's folder."""

    def __init__(self, pid: int, folder: Path) -> None:
        self._pid = pid
        self._script, self._taken, self._answer = (
            folder / f"attach.{end}" for end in ("py", "taken", "json")
        )

    def begin(self, libraries: str) -> bool:
        """Install them, and return whether that succeeded; print the reason if not."""
        if not hasattr(sys, _REMOTE_EXEC):
            return False
        run = os.fspath(self._script.parent)
        error, ms = self._ask(f"attach({run!r}, {libraries!r}, is_new)")
        if error:
            complain(f"the program is sampled only, without the recorder: {error}")
        else:
            complain(f"installing the recorder stopped the program for {ms:.0f} ms")
        return not error

    def end(self) -> None:
        """Remove them."""
        error, _ = self._ask("detach()", is_urgent=False)
        if error and Path(f"/proc/{self._pid}").exists():
            complain(f"the recorder is still in the program: {error}")

    def _ask(self, call: str, *, is_urgent: bool = True) -> tuple[str, float]:
        """Have the program call something: now, or later if it is not urgent.

        Returns:
            Why it did not ("" if it did), and for how many milliseconds it did nothing else.
        """
        names = {"script": self._script, "taken": self._taken, "answer": self._answer, "packages": _PACKAGES}
        paths = {name: os.fspath(path) for name, path in names.items()}
        self._script.write_text(_SCRIPT.format(**paths, call=call))
        try:
            path_inside = Path(f"/proc/{self._pid}/root{self._script}")
            if not path_inside.samefile(self._script):
                raise OSError("it has other files")
            getattr(sys, _REMOTE_EXEC)(self._pid, paths["script"])
            return self._answered(is_urgent)
        except (OSError, RuntimeError) as error:
            return str(error), 0.0
        finally:
            for path in (self._taken, self._answer):
                path.unlink(missing_ok=True)

    def _answered(self, is_urgent: bool) -> tuple[str, float]:
        end = time.monotonic() + _ANSWER_WITHIN_S
        while time.monotonic() < end or self._taken.exists():
            with suppress(FileNotFoundError):
                answer = json.loads(self._answer.read_bytes())
                return str(answer["error"]), float(answer["ms"])
            if not Path(f"/proc/{self._pid}").exists():
                return "it has ended", 0.0
            time.sleep(0.01)
        error = f"its main thread ran no Python code for {_ANSWER_WITHIN_S:.0f} s"
        if not is_urgent:
            return f"{error}, and removes it when it does", 0.0
        self._script.rename(self._taken)  # the program cannot take it now
        self._script.touch()  # the program may still open this path, and finds an empty script
        return error, 0.0


def _command_line(pid: int) -> list[str]:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        raise TicktreeError(f"there is no process {pid}") from None
    if not words:
        raise TicktreeError(f"process {pid} has ended, or belongs to the system")
    return [os.fsdecode(word) for word in words.rstrip(b"\0").split(b"\0")][1:]


def require_readable(pid: int) -> None:
    """Refuse a process that cannot be sampled, before its run is created."""
    try:
        from ticktree.supervisor.sampler._remote import read_error
        from ticktree.supervisor.sampler.sampling import OtherInterpreterError, find_addresses
    except ModuleNotFoundError:
        raise TicktreeError("sampling needs Linux: no other system lets one process read another") from None
    try:
        runtime, _ = find_addresses(pid)
        error = read_error(pid, runtime)
    except OtherInterpreterError:
        own_python = os.path.realpath("/proc/self/exe")
        raise TicktreeError(
            f"process {pid} does not run the Python that runs this ticktree, {own_python}"
        ) from None
    except OSError as refused:
        error = refused.errno or 0
    if error:
        raise TicktreeError(
            f"the system does not let ticktree read the memory of process {pid} ({os.strerror(error)}): attach as "
            "root, or allow it (sysctl kernel.yama.ptrace_scope=0; in a container, the capability SYS_PTRACE)"
        )


def _wait(sampling: Sampling, seconds: float | None) -> None:
    """Sample until the program ends or the time is over."""
    end, looks = time.monotonic() + (seconds or float("inf")), 0
    while sampling.is_alive() and time.monotonic() < end:
        time.sleep(max(0.0, min(_LOOK_EVERY_S, end - time.monotonic())))
        sampling.look()
        looks += 1
        if not looks % _KEEP_EVERY:
            sampling.keep()


def _profile(sampled: StackSamples, took_ns: int) -> Profile:
    """Return the profile of a program that records nothing: all its time is self time, which samples divide."""
    from ticktree.profile import Profile
    from ticktree.run.reading.reader import with_samples

    empty = Profile()
    root = replace(empty.root, self_ns=took_ns)
    return with_samples(replace(empty, root=root), sampled, lambda _process, _node: "", {})
