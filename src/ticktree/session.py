"""The profiled program's own session: from `enable()` to its run on disk.

Everything here runs inside somebody else's program, so nothing here may stop it: what goes wrong is said once,
and recording goes on in private memory or not at all. What is slow to import is imported when it is needed.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ticktree import recorder as native
from ticktree.errors import TicktreeError
from ticktree.recorder import OFF_FOR_GOOD, PARENT_VARIABLE, RUN_VARIABLE
from ticktree.recorder.imports import when_imported
from ticktree.recorder.timed import Function

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.run.directory import RunDirectory

# Other users of this tmpfs, data loaders above all, need it too.
_CLAIM = 4
# What a program may spend at its end on what others left.
_SWEEP_WITHIN_S = 0.25


class Recorder(native.Recorder):
    """A recorder apart from the program's own, in private memory: for tests and libraries. It records at once.

    Args:
        virtual_clock: Time stands still but for `advance(ns)`.
    """

    def __init__(self, *, virtual_clock: bool = False) -> None:  # noqa: ARG002 - taken by __cinit__
        self.enable()

    def timed(self, target: Any = None, /, *, memory: bool = False, cpu: bool = False) -> Any:
        """Makes a function a section of this recorder; see `ticktree.timed`."""
        return native.timed(self, target, memory=memory, cpu=cpu)

    def enable(self) -> None:
        """Starts recording, or goes on with it."""
        super().enable()
        native.install(self)

    def disable(self) -> None:
        """Stops recording; what is open is left at this moment, without counting as completed."""
        super().disable()
        native.uninstall(self)

    def snapshot(self) -> Profile:
        """What has been recorded so far, as a profile."""
        return _profile_of(self, "recorder")

    def summary(self) -> None:
        """Prints the tree to standard error."""
        _print(self.snapshot())


class Session:
    """The program's own recorder and the run it writes to."""

    def __init__(self) -> None:
        self.recorder = native.OWN
        self.run: RunDirectory | None = None
        self.armed = False
        self._pid = 0
        self._finishes = False
        self._unsaved = False
        self._announced = False
        self._lock = threading.Lock()

    def enable(self, run: RunDirectory | None = None, parent: str | None = None) -> None:
        """Starts recording, or goes on with it.

        Args:
            run: The run to record into; by default a new one, which this process finishes when it ends.
            parent: The place that this process hangs under, as whoever started it said.
        """
        with self._lock:
            if OFF_FOR_GOOD or (self.recorder.recording and self._pid):
                return
            if not self._pid:
                self._begin(run, parent)
            if not self.recorder.recording:
                self.recorder.enable()
            native.install(self.recorder)
            self._lead_children()

    def enable_unsaved(self) -> None:
        """Starts recording in private memory, without a run, unless anybody has started it before.

        For libraries that need the recorder for what they show themselves: nothing is written anywhere. A later
        `enable` makes a run of it, which then holds what was recorded before as well.
        """
        with self._lock:
            if not (OFF_FOR_GOOD or self._pid or self._unsaved):
                self._unsaved = True
                self.recorder.child_file = _no_file  # a forked child begins anew, as it does in a run
                self.recorder.enable()
                native.install(self.recorder)

    def disable(self) -> None:
        """Stops recording; what is open is left at this moment, without counting as completed."""
        self.recorder.disable()
        native.uninstall(self.recorder)
        native.leave_children()
        if self._announced:
            self._announced = False
            os.environ.pop(RUN_VARIABLE, None)

    def _lead_children(self) -> None:
        """Processes that are started from now on record into the same run."""
        if self.run is None:
            return
        native.lead_children(self.recorder, str(self.run.path))
        if RUN_VARIABLE not in os.environ:
            # For those that are started past us: through a shell, by other libraries.
            os.environ[RUN_VARIABLE] = str(self.run.path)
            self._announced = True

    def snapshot(self) -> Profile:
        """What this process has recorded so far."""
        return _profile_of(self.recorder, self.run.id if self.run else "session")

    def _begin(self, run: RunDirectory | None, parent: str | None) -> None:
        self._pid = os.getpid()
        self.recorder.name_process(_program_name())
        atexit.register(self._finish)
        # Its workers end by os._exit: for them this is the end of the program.
        when_imported("multiprocessing.util", self._await_end)
        try:
            self.run = run or _new_run()
            # Its owner may be a program that this process ran before (exec): then it is up to us.
            self._finishes = not self.run.manifest.supervised and _owns(self.run)
            if run is not None and self._is_child(run, parent):
                self._begin_later(run)
                return
            self._open(self.run)
        except Exception as error:
            _say(f"{error}; recording in private memory, nothing will be saved")
            self.run = None
            self.recorder.open()
        self.recorder.set_costs(*native.calibrate())

    def _is_child(self, run: RunDirectory, parent: str | None) -> bool:
        """Whether others of the run came before this process; if so, where it hangs is noted."""
        from ticktree.run.lineage import parent_of_process

        with suppress(ValueError):  # the environment may say anything
            if parent:
                self.recorder.child_of(parent)
                return True
        parent = parent_of_process(run)
        if parent:
            self.recorder.child_of(parent)
        return parent is not None

    def _begin_later(self, run: RunDirectory) -> None:
        """Many a process records nothing, fork servers above all: those leave no file."""
        # Now, not in the way of the first section; and processes forked from this one need not.
        costs = native.calibrate()

        def opening() -> None:
            try:
                self._open(run)
            except (OSError, TicktreeError, MemoryError):
                self.run = None  # it is over, and was outlived: what is recorded now is for nobody
                self.recorder.open()
            self.recorder.set_costs(*costs)

        self.recorder.begin_later(opening)

    def _open(self, run: RunDirectory) -> None:
        path, limit, identity = _file_in(run)
        self.recorder.open(path, file_limit=limit, run_began_ns=run.manifest.began_ns, identity=identity)
        self.recorder.child_file = lambda: _file_of_child(run)
        if self.recorder.is_private and not self._unsaved:
            _say(
                f"no room in {run.memory_dir}; recording in private memory, saved only if the program ends normally"
            )

    def _await_end(self, util: Any) -> None:
        util.register_after_fork(
            self, lambda session: util.Finalize(None, session._finish, exitpriority=-100)
        )

    def _finish(self) -> None:
        """At the program's end: what it recorded is whole now."""
        if os.getpid() != self._pid:
            self._fold()  # a forked child that ends in good order: the run is its parent's
            return
        self.disable()
        if self.run is None:
            return
        try:
            image = self.recorder.image() if self.recorder.is_private else b""
            if image:
                self.run.keep_image(_file_in(self.run)[0].name, image)
            if self._finishes:
                _describe(self.run)
                self.run.finish()
                _sweep()
        except Exception as error:  # whatever it is, the program is over and did nothing wrong
            _say(f"the run in {self.run.path} is not saved: {error}")
        if not self._finishes:
            self._fold()

    def _fold(self) -> None:
        """Gives back the memory of siblings that have ended, where there are many and no supervisor does it."""
        if self.run is None:
            return
        with suppress(Exception):  # whoever ends next may do better, and the run is whole with or without
            manifest = self.run.manifest
            if not manifest.supervised or not manifest.owner.is_alive():
                from ticktree.run.folding import fold_if_many

                fold_if_many(self.run)


# The program's own: what the public functions act on.
current = Session()


def enable() -> None:
    """Starts recording, or goes on with it. The run is kept in ./ticktree-runs/ when the program ends."""
    current.enable()


def disable() -> None:
    """Stops recording; what is open is left at this moment, without counting as completed."""
    current.disable()


def snapshot() -> Profile:
    """What this process has recorded so far, as a profile; empty if it never recorded."""
    return current.snapshot()


def summary() -> None:
    """Prints the tree to standard error."""
    _print(current.snapshot())


@overload
def timed(target: Function, /, *, memory: bool = False, cpu: bool = False) -> Function: ...
@overload
def timed(
    target: str | None = None, /, *, memory: bool = False, cpu: bool = False
) -> Callable[[Function], Function]: ...
def timed(target: Any = None, /, *, memory: bool = False, cpu: bool = False) -> Any:
    """Makes a function a section: `@ticktree.timed`, or `@ticktree.timed("name", memory=True)`.

    Plain functions and methods are timed from call to return, coroutines from entry to exit with what they
    await, generators only while they run: each resumption is one call. Name, signature and docstring are kept.

    Args:
        target: The function, or a name for it instead of its qualified name.
        memory: Sample resident memory.
        cpu: Sample CPU time.

    Raises:
        TypeError: If what is decorated cannot be called.
    """
    return native.timed(current.recorder, target, memory=memory, cpu=cpu)


def arm() -> None:
    """Called by ticktree.pth as the interpreter starts under `ticktree run`; never raises.

    The interpreter reads a .pth file once for each name of its folder, in a venv twice or more: only the first counts.
    """
    if current.armed:
        return
    current.armed = True
    try:
        from ticktree.run.directory import RunDirectory

        # The word is for this process: those that it starts are told by it.
        parent = os.environ.pop(PARENT_VARIABLE, None)
        run = RunDirectory.join(Path(os.environ[RUN_VARIABLE]))
        if (
            run.is_finished()
        ):  # it has outlived its run, or was started by what has: a run of its own is a new one
            del os.environ[RUN_VARIABLE]
        else:
            current.enable(run, parent)
            from ticktree.instrument import install_from_environment

            install_from_environment()
    except Exception as error:
        _say(f"cannot record: {error}")


def _new_run() -> RunDirectory:
    from ticktree.run.directory import RunDirectory

    script = Path(sys.argv[0] if sys.argv and sys.argv[0] else "python").stem
    return RunDirectory.create(script)


def _program_name() -> str:
    from ticktree.run.supervision.program import name_of_command

    return name_of_command(sys.orig_argv)


def _owns(run: RunDirectory) -> bool:
    from ticktree.run.owner import Owner

    return run.manifest.owner == Owner.current()


def _file_in(run: RunDirectory) -> tuple[Path, int, tuple[int, int, str, int]]:
    """Where this process writes, how much it may claim there, and who it is."""
    from ticktree.run.owner import Owner

    owner = Owner.current()
    space = os.statvfs(run.memory_dir)
    claimed = sum(map(_size, run.memory_files()))
    limit = max(0, (space.f_bavail * space.f_frsize + claimed) // _CLAIM - claimed)
    path = run.memory_dir / f"{owner.pid}-{owner.started}.tt"
    incarnation = 1
    while path.exists():  # this process was another program before (exec), whose records stay
        incarnation += 1
        path = run.memory_dir / f"{owner.pid}-{owner.started}-{incarnation}.tt"
    return path, limit, (owner.pid, owner.started, owner.boot_id, incarnation)


def _file_of_child(run: RunDirectory) -> tuple[Path | None, int, tuple[int, int, str, int]]:
    try:
        return _file_in(run)
    except OSError:  # the run is over: the child outlived it, and records for nobody
        return _no_file()


def _no_file() -> tuple[None, int, tuple[int, int, str, int]]:
    return None, 0, (os.getpid(), 0, "", 1)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # it has just been folded
        return 0


def _profile_of(recorder: native.Recorder, run_id: str) -> Profile:
    data = recorder.image()  # first: what is imported below is not the program's time
    from ticktree.profile import Profile
    from ticktree.run.reading.image import Image
    from ticktree.run.reading.reader import read_images

    if not data:
        return Profile.empty()
    errors: list[Any] = []
    return read_images([Image(data)], run_id, errors)


def _describe(run: RunDirectory) -> None:
    from ticktree.run.facts import describe_program

    run.describe(describe_program())


def _sweep() -> None:
    from ticktree.run.abandoned import finish_abandoned

    finish_abandoned(_SWEEP_WITHIN_S)


def _print(profile: Profile) -> None:
    from ticktree.outputs import print_summary

    print_summary(profile, sys.stderr)


def _say(text: str) -> None:
    print(f"ticktree: {text}", file=sys.stderr)
