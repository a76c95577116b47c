"""The program's own recorder and the run it writes to."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticktree import recorder as native
from ticktree.errors import TicktreeError, reason
from ticktree.recorder import IS_OFF, RUN_VARIABLE, TIMELINE_VARIABLE
from ticktree.recorder.focus import end_focus
from ticktree.recorder.imports import when_imported
from ticktree.session.memory_file import (
    claim_child_file,
    claim_file,
    event_count,
    event_count_of_environment,
    note_missing_file,
    private_file,
)
from ticktree.session.showing import new_id, print_line, profile_of

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.run.finishing import RunDirectory

# How long a program may take at its end to finish runs that other processes left behind.
_SWEEP_LIMIT_S = 0.25

_NO_PARENT = ""  # instead of a parent, for the first process of a run

# The gauge's name in the profile, whose modules are imported only when there is a profile to show.
_THREADS_OF_TORCH = "machine/threads/torch"


class Session:
    """The program's own recorder and the run it writes to."""

    def __init__(self) -> None:
        self.recorder = native.OWN
        self.run: RunDirectory | None = None
        self.armed = False
        self._id = new_id("session")
        self._pid = 0
        self._is_owner = False
        self._is_unsaved = False
        self._is_first = False
        self._is_quiet = False
        self._own_variables: list[str] = []
        self._event_count = 0
        self._is_open = False
        self._has_failed = False
        self._lock = threading.Lock()
        self._import_hooks: list[Callable[[], None]] = []

    def enable(
        self,
        run: RunDirectory | None = None,
        parent: str | None = None,
        timeline: bool | int = False,
        quiet: bool = False,
    ) -> None:
        """Start or continue recording.

        Args:
            run: The run to record into; by default a new one, which this process finishes when it ends.
            parent: The parent node of this process, as its parent process named it.
            timeline: How many completed calls to keep; True for the default number.
            quiet: Print no line when the run is saved.

        Raises:
            TicktreeError: `timeline` is below 0.
        """
        events = event_count(timeline)
        with self._lock:
            self._is_quiet = self._is_quiet or quiet
            try:
                self._start(run, parent, events)
            except Exception as error:  # no memory or descriptors: the program continues
                if not self._has_failed:
                    print_line(f"cannot record: {reason(error)}")
                self._has_failed = True

    def attach(self, run: RunDirectory) -> None:
        """Start recording immediately in a running program that was not started for it.

        Raises:
            TicktreeError: The program records already, or recording is turned off.
        """
        # The program may have been interrupted anywhere, even in this method.
        if IS_OFF or self._pid or self.recorder.recording or not self._lock.acquire(blocking=False):
            raise TicktreeError("it already records, or recording is turned off")
        try:
            self._start(run, _NO_PARENT, 0)
        finally:
            self._lock.release()

    def leave(self) -> None:
        """End recording, and undo all changes to this process: another run may begin later."""
        native.settle()
        if self._is_first:
            _note_threads(self.recorder)
        end_focus()
        self.disable()
        atexit.unregister(self._finish)
        while self._import_hooks:
            self._import_hooks.pop()()
        if self.run is not None and self.recorder.is_private:
            self.run.write(claim_file(self.run)[0].name, self.recorder.image())
        self.recorder.leave()
        self.run, self._pid = None, 0
        self._is_open = self._is_first = self._is_unsaved = self._has_failed = False

    def _start(self, run: RunDirectory | None, parent: str | None, timeline: int) -> None:
        self._event_count = self._event_count or timeline or event_count_of_environment()
        if timeline and self._is_open and not IS_OFF:
            self.recorder.open(timeline=timeline)
        if IS_OFF or (self.recorder.recording and self._pid):
            return
        if not self._pid:
            self._begin(run, parent)
        if not self.recorder.recording:
            self.recorder.enable()
        native.install(self.recorder)
        self._lead_children()

    def enable_unsaved(self) -> None:
        """Start recording in private memory, without a run, unless recording was started before.

        For libraries that use the recorder for their own output: no file is written. A later `enable` makes a run
        of it, which then includes what was recorded before.
        """
        with self._lock:
            if not (IS_OFF or self._pid or self._is_unsaved):
                self._is_unsaved = True
                # A forked child begins with an empty record, as in a run.
                self.recorder.child_file = private_file
                self.recorder.enable()
                native.install(self.recorder)

    def resume(self) -> None:
        """Start or continue recording, in private memory unless there is a run."""
        self.enable_unsaved()
        with self._lock:
            if not (IS_OFF or self.recorder.recording):
                self.recorder.enable()
                native.install(self.recorder)

    def begin_afresh(self) -> None:
        """Discard all records and start recording again; calls that are open begin now.

        For tests, which record several parts of a process's life. In private memory, unless there is a run.
        """
        self.resume()
        self.recorder.reset()

    def disable(self) -> None:
        """Stop recording; calls that are open end now, and do not count as completed."""
        native.poll()
        self.recorder.disable()
        native.uninstall(self.recorder)
        native.disconnect_children()
        while self._own_variables:
            os.environ.pop(self._own_variables.pop(), None)

    def _lead_children(self) -> None:
        """Make processes that are started from now on record into the same run."""
        if self.run is None:
            return
        native.connect_children(self.recorder, str(self.run.path))
        # For processes whose start ticktree does not intercept: through a shell, or by other libraries.
        self._announce(RUN_VARIABLE, str(self.run.path))
        if self._event_count:
            self._announce(TIMELINE_VARIABLE, str(self._event_count))

    def _announce(self, variable: str, value: str) -> None:
        if variable not in os.environ:
            os.environ[variable] = value
            self._own_variables.append(variable)

    def snapshot(self) -> Profile:
        """Return the profile of everything this process has recorded so far."""
        return profile_of(self.recorder, self.run.id if self.run else self._id)

    def _begin(self, run: RunDirectory | None, parent: str | None) -> None:
        self._pid = os.getpid()
        atexit.register(self._finish)
        # Workers of multiprocessing end by os._exit: for them this is the end of the program.
        self._import_hooks += [
            when_imported("multiprocessing.util", self._hook_multiprocessing),
            when_imported("ticktree.instruments.losses", self._hook_instrument_losses),
            when_imported("ticktree.instruments.torch.peers", self._hook_torch_job),
        ]
        try:
            from ticktree.files.owner import Owner
            from ticktree.supervisor.program import command_name

            self.recorder.name_process(command_name(sys.orig_argv))
            # The process that created the run prints its path.
            self._is_quiet = self._is_quiet or run is not None
            self.run = run or _new_run()
            # The owner may be a program that this process ran before (exec): then we finish the run.
            manifest = self.run.manifest
            self._is_owner = not manifest.supervised and manifest.owner == Owner.current()
            if run is not None and parent != _NO_PARENT and self._set_parent(run, parent):
                self._begin_later(run)
                return
            self._is_first = True
            self._open(self.run)
        except Exception as error:
            self._open_private()
            print_line(f"{reason(error)}; recording in private memory, nothing will be saved")
        with suppress(MemoryError):  # then the cost of sections is not subtracted
            self.recorder.set_costs(*native.calibrate())

    def _set_parent(self, run: RunDirectory, parent: str | None) -> bool:
        """Return whether other processes of the run began before this one; if so, set its parent process."""
        from ticktree.run.lineage import parent_of_process

        with suppress(ValueError):  # the environment may contain anything
            if parent:
                self.recorder.child_of(parent)
                return True
        parent = parent_of_process(run)
        if parent:
            self.recorder.child_of(parent)
        return parent is not None

    def _begin_later(self, run: RunDirectory) -> None:
        """Open the memory file with the first record: many processes, such as fork servers, record nothing."""
        # Now, so that it does not delay the first section, and so that forked processes skip it.
        costs = native.calibrate()

        def open_file() -> None:
            try:
                self._open(run)
            except (OSError, TicktreeError, MemoryError) as error:
                if not isinstance(error, (FileNotFoundError, TicktreeError)):
                    note_missing_file(run)
                self._open_private()  # the run is over: what this process records from now on is lost
            self.recorder.set_costs(*costs)

        self.recorder.begin_later(open_file)

    def _open_private(self) -> None:
        """Record in private memory, without a run."""
        self.run = None
        self.recorder.open(timeline=self._event_count)
        self._is_open = True

    def _open(self, run: RunDirectory) -> None:
        path, limit, identity = claim_file(run)
        open_at = partial(
            self.recorder.open,
            file_limit=limit,
            run_began_ns=run.manifest.began_ns,
            identity=identity,
            timeline=self._event_count,
        )
        try:
            open_at(path)
        except OSError:  # no space even for a file name
            open_at(None)
        self._is_open = True
        self.recorder.child_file = lambda: claim_child_file(run)
        self.recorder.without_room = lambda file: note_missing_file(run, file)
        if self.recorder.is_private and not self._is_unsaved:
            note_missing_file(run, path)
            if self._is_first:  # the run counts the others
                message = "recording in private memory, saved only if the program ends normally"
                print_line(f"no room in {run.memory_dir}; {message}")

    def _hook_multiprocessing(self, util: Any) -> None:
        util.register_after_fork(
            self, lambda session: util.Finalize(None, session._finish, exitpriority=-100)
        )

    def _hook_instrument_losses(self, losses: Any) -> None:
        print_loss = losses.report

        def note(loss: Any) -> None:
            if self.run is None:
                print_loss(loss)
                return
            from ticktree.run.losses import note_instrument_loss

            note_instrument_loss(self.run, loss.library, loss.sentence())

        losses.report = note

    def _hook_torch_job(self, peers: Any) -> None:
        def join(store: Any, rank: int, ranks: int) -> None:
            if self.run is not None and os.environ.get(native.GATHER_VARIABLE):
                from ticktree.fleet.store import address_of, note_rank

                note_rank(self.run, rank, ranks, *address_of(store))

        def leave(store: Any, rank: int, runs: Sequence[str]) -> None:
            if self.run is not None and self.recorder.recording:
                from ticktree.session.gathering import gather

                gather(self.run, store, rank, runs)

        peers.joined.append(join)
        peers.leaving.append(leave)

    def _finish(self) -> None:
        """Save the run at the program's end."""
        try:
            self._end()
        except Exception as error:  # the program is over and did nothing wrong
            print_line(f"what was recorded is not saved: {reason(error)}")

    def _end(self) -> None:
        native.settle()
        if os.getpid() != self._pid:
            self._fold()  # a forked child that ends normally: the run is its parent's
            return
        if self._is_first:
            _note_threads(self.recorder)
        end_focus()
        self.disable()
        if self.run is None:
            return
        from ticktree.run.losses import describe_missing_files, summarize_instrument_losses

        try:
            image = self.recorder.image() if self.recorder.is_private else b""
            if image:
                self.run.write(claim_file(self.run)[0].name, image)
            if self._is_owner:
                from ticktree.run.facts import describe_program
                from ticktree.run.naming import shell_path
                from ticktree.run.sweep import finish_abandoned

                self.run.describe(describe_program())
                profile = self.run.finish()
                message = describe_missing_files(self.run, profile)
                for line in filter(None, (message, *summarize_instrument_losses(profile))):
                    print_line(line)
                if not self._is_quiet:
                    print_line(f"the run is saved, see it with: ticktree report {shell_path(self.run.path)}")
                finish_abandoned(_SWEEP_LIMIT_S)
        except Exception as error:  # as in `_finish`
            print_line(f"the run in {self.run.path} is not saved: {reason(error)}")
        if not self._is_owner:
            self._fold()

    def _fold(self) -> None:
        """Free the memory of siblings that have ended, if there are many and no supervisor does it."""
        if self.run is None:
            return
        with suppress(Exception):  # a later process may succeed; the run is complete either way
            if not self.run.is_supervised():
                from ticktree.run.folding import fold_if_many

                fold_if_many(self.run)


def _new_run() -> RunDirectory:
    from ticktree.run.finishing import RunDirectory
    from ticktree.run.memory import explain_other_root

    script = Path(sys.argv[0] if sys.argv and sys.argv[0] else "python").stem
    run = RunDirectory.create(script)
    warning = explain_other_root(run.memory_dir)
    if warning:
        print_line(warning)
    return run


def _note_threads(recorder: native.Recorder) -> None:
    """Record the number of torch's threads: runs that differ in it compare like runs on different machines.

    The program may set it, so only the program knows it, and only if it has imported torch.
    """
    torch = sys.modules.get("torch")
    with suppress(Exception):  # neither the module nor the ending program is ours
        if torch is not None:
            recorder.gauge(_THREADS_OF_TORCH, torch.get_num_threads())


# The program's session, which the public functions use.
current = Session()
