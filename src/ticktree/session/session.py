"""The program's own recorder and the run it writes to."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticktree import recorder as native
from ticktree.errors import TicktreeError, reason
from ticktree.recorder import OFF_FOR_GOOD, RUN_VARIABLE, TIMELINE_VARIABLE
from ticktree.recorder.focus import end_focus
from ticktree.recorder.imports import when_imported
from ticktree.session.memory_file import (
    be_without_room,
    events_of,
    events_of_environment,
    file_in,
    file_of_child,
    no_file,
)
from ticktree.session.showing import new_id, profile_of, say

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.run.finishing import RunDirectory

# What a program may spend at its end on what others left.
_SWEEP_WITHIN_S = 0.25

_NOBODY = ""  # instead of a parent: that of the first process of a run

# As the profile has it; what it is made of is imported only where there is something to show.
_THREADS_OF_TORCH = "machine/threads/torch"


class Session:
    """The program's own recorder and the run it writes to."""

    def __init__(self) -> None:
        self.recorder = native.OWN
        self.run: RunDirectory | None = None
        self.armed = False
        self._id = new_id("session")
        self._pid = 0
        self._finishes = False
        self._unsaved = False
        self._is_first = False
        self._quiet = False
        self._announced: list[str] = []
        self._timeline = 0
        self._is_open = False
        self._is_unable = False
        self._lock = threading.Lock()
        self._waiting: list[Callable[[], None]] = []

    def enable(
        self,
        run: RunDirectory | None = None,
        parent: str | None = None,
        timeline: bool | int = False,
        quiet: bool = False,
    ) -> None:
        """Starts or continues recording.

        Args:
            run: The run to record into; by default a new one, which this process finishes when it ends.
            parent: The parent node of this process, as its parent process named it.
            timeline: How many completed calls to keep one by one; True for as many as are kept by default.
            quiet: Say nothing when the run is saved.

        Raises:
            TicktreeError: `timeline` is below 0.
        """
        events = events_of(timeline)
        with self._lock:
            self._quiet = self._quiet or quiet
            try:
                self._start(run, parent, events)
            except Exception as error:  # without memory or descriptors for it: the program continues
                if not self._is_unable:
                    say(f"cannot record: {reason(error)}")
                self._is_unable = True

    def attach(self, run: RunDirectory) -> None:
        """Starts recording at once, in a program that was not started for it.

        Args:
            run: The run to record into, which another process finishes.

        Raises:
            TicktreeError: It records already, or may not.
        """
        # The program may have been interrupted anywhere, in here too.
        if OFF_FOR_GOOD or self._pid or self.recorder.recording or not self._lock.acquire(blocking=False):
            raise TicktreeError("it records itself, or is kept from it")
        try:
            self._start(run, _NOBODY, 0)
        finally:
            self._lock.release()

    def leave(self) -> None:
        """Ends recording, and takes back all that it has put into this process: another run may begin later."""
        native.settle()
        if self._is_first:
            _note_threads(self.recorder)
        end_focus()
        self.disable()
        atexit.unregister(self._finish)
        while self._waiting:
            self._waiting.pop()()
        if self.run is not None and self.recorder.is_private:
            self.run.keep_image(file_in(self.run)[0].name, self.recorder.image())
        self.recorder.leave()
        self.run, self._pid = None, 0
        self._is_open = self._is_first = self._unsaved = self._is_unable = False

    def _start(self, run: RunDirectory | None, parent: str | None, timeline: int) -> None:
        self._ask_for_timeline(timeline)
        if OFF_FOR_GOOD or (self.recorder.recording and self._pid):
            return
        if not self._pid:
            self._begin(run, parent)
        if not self.recorder.recording:
            self.recorder.enable()
        native.install(self.recorder)
        self._lead_children()

    def _ask_for_timeline(self, events: int) -> None:
        self._timeline = self._timeline or events or events_of_environment()
        if events and self._is_open and not OFF_FOR_GOOD:
            self.recorder.open(timeline=events)

    def enable_unsaved(self) -> None:
        """Starts recording in private memory, without a run, unless anybody has started it before.

        For libraries that need the recorder for what they show themselves: nothing is written anywhere. A later
        `enable` makes a run of it, which then holds what was recorded before as well.
        """
        with self._lock:
            if not (OFF_FOR_GOOD or self._pid or self._unsaved):
                self._unsaved = True
                self.recorder.child_file = no_file  # a forked child begins with an empty record, as in a run
                self.recorder.enable()
                native.install(self.recorder)

    def resume(self) -> None:
        """Starts or continues recording, in private memory unless there is a run."""
        self.enable_unsaved()
        with self._lock:
            if not (OFF_FOR_GOOD or self.recorder.recording):
                self.recorder.enable()
                native.install(self.recorder)

    def begin_afresh(self) -> None:
        """Records from nothing on: what was recorded before is forgotten, what is open begins now.

        For tests, which record one part of a process's life after another. In private memory, unless there is a run.
        """
        self.resume()
        self.recorder.reset()

    def disable(self) -> None:
        """Stops recording; what is open is left at this moment, without counting as completed."""
        native.poll()
        self.recorder.disable()
        native.uninstall(self.recorder)
        native.leave_children()
        while self._announced:
            os.environ.pop(self._announced.pop(), None)

    def _lead_children(self) -> None:
        """Processes that are started from now on record into the same run."""
        if self.run is None:
            return
        native.lead_children(self.recorder, str(self.run.path))
        # For those that are started past us: through a shell, by other libraries.
        self._announce(RUN_VARIABLE, str(self.run.path))
        if self._timeline:
            self._announce(TIMELINE_VARIABLE, str(self._timeline))

    def _announce(self, variable: str, value: str) -> None:
        if variable not in os.environ:
            os.environ[variable] = value
            self._announced.append(variable)

    def snapshot(self) -> Profile:
        """What this process has recorded so far."""
        return profile_of(self.recorder, self.run.id if self.run else self._id)

    def _begin(self, run: RunDirectory | None, parent: str | None) -> None:
        self._pid = os.getpid()
        atexit.register(self._finish)
        # Its workers end by os._exit: for them this is the end of the program.
        self._waiting += [
            when_imported("multiprocessing.util", self._await_end),
            when_imported("ticktree.instruments.losses", self._await_instrument_losses),
            when_imported("ticktree.instruments.torch.peers", self._await_job),
        ]
        try:
            self.recorder.name_process(_program_name())
            self._quiet = self._quiet or run is not None  # the process that began the run prints where it is
            self.run = run or _new_run()
            # Its owner may be a program that this process ran before (exec): then it is up to us.
            self._finishes = not self.run.manifest.supervised and _owns(self.run)
            if run is not None and parent != _NOBODY and self._is_child(run, parent):
                self._begin_later(run)
                return
            self._is_first = True
            self._open(self.run)
        except Exception as error:
            self.run = None
            self.recorder.open(timeline=self._timeline)
            self._is_open = True
            say(f"{reason(error)}; recording in private memory, nothing will be saved")
        with suppress(MemoryError):  # then what a section costs is not subtracted
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
            except (OSError, TicktreeError, MemoryError) as error:
                if not isinstance(error, (FileNotFoundError, TicktreeError)):
                    be_without_room(run)
                self.run = None  # it is over, and was outlived: what is recorded from now on is lost
                self.recorder.open(timeline=self._timeline)
                self._is_open = True
            self.recorder.set_costs(*costs)

        self.recorder.begin_later(opening)

    def _open(self, run: RunDirectory) -> None:
        path, limit, identity = file_in(run)
        began_ns = run.manifest.began_ns

        def open_at(path: Path | None) -> None:
            self.recorder.open(
                path, file_limit=limit, run_began_ns=began_ns, identity=identity, timeline=self._timeline
            )

        try:
            open_at(path)
        except OSError:  # not even for a name
            open_at(None)
        self._is_open = True
        self.recorder.child_file = lambda: file_of_child(run)
        self.recorder.without_room = lambda file: be_without_room(run, file)
        if self.recorder.is_private and not self._unsaved:
            be_without_room(run, path)
            if self._is_first:  # of others the run tells how many there were
                say(
                    f"no room in {run.memory_dir}; recording in private memory, "
                    "saved only if the program ends normally"
                )

    def _await_end(self, util: Any) -> None:
        util.register_after_fork(
            self, lambda session: util.Finalize(None, session._finish, exitpriority=-100)
        )

    def _await_instrument_losses(self, losses: Any) -> None:
        aloud = losses.report

        def note(loss: Any) -> None:
            if self.run is None:
                aloud(loss)
                return
            from ticktree.run.losses import note_instrument_loss

            note_instrument_loss(self.run, loss.library, loss.sentence())

        losses.report = note

    def _await_job(self, peers: Any) -> None:
        def join(store: Any, rank: int, ranks: int) -> None:
            if self.run is not None and os.environ.get(native.GATHER_VARIABLE):
                from ticktree.fleet.store_slots import address_of, note_rank

                note_rank(self.run, rank, ranks, *address_of(store))

        def leave(store: Any, rank: int, runs: Sequence[str]) -> None:
            if self.run is not None and self.recorder.recording:
                from ticktree.session.gathering import gather

                gather(self.run, store, rank, runs)

        peers.joined.append(join)
        peers.leaving.append(leave)

    def _finish(self) -> None:
        """At the program's end: what it recorded is whole now."""
        try:
            self._end()
        except Exception as error:  # whatever it is, the program is over and did nothing wrong
            say(f"what was recorded is not saved: {reason(error)}")

    def _end(self) -> None:
        native.settle()
        if os.getpid() != self._pid:
            self._fold()  # a forked child that ends in good order: the run is its parent's
            return
        if self._is_first:
            _note_threads(self.recorder)
        end_focus()
        self.disable()
        if self.run is None:
            return
        from ticktree.run.losses import say_without_room, summarize_instrument_losses

        try:
            image = self.recorder.image() if self.recorder.is_private else b""
            if image:
                self.run.keep_image(file_in(self.run)[0].name, image)
            if self._finishes:
                from ticktree.run.naming import as_typed

                _describe(self.run)
                profile = self.run.finish()
                lost = say_without_room(self.run, profile)
                for line in filter(None, (lost, *summarize_instrument_losses(profile))):
                    say(line)
                if not self._quiet:
                    say(f"the run is saved, see it with: ticktree report {as_typed(self.run.path)}")
                _sweep()
        except Exception as error:  # likewise
            say(f"the run in {self.run.path} is not saved: {reason(error)}")
        if not self._finishes:
            self._fold()

    def _fold(self) -> None:
        """Gives back the memory of siblings that have ended, where there are many and no supervisor does it."""
        if self.run is None:
            return
        with suppress(Exception):  # a later process may succeed, and the run is complete either way
            if not self.run.is_supervised():
                from ticktree.run.folding import fold_if_many

                fold_if_many(self.run)


def _new_run() -> RunDirectory:
    from ticktree.run.finishing import RunDirectory
    from ticktree.run.memory import other_root

    script = Path(sys.argv[0] if sys.argv and sys.argv[0] else "python").stem
    run = RunDirectory.create(script)
    elsewhere = other_root(run.memory_dir)
    if elsewhere:
        say(elsewhere)
    return run


def _program_name() -> str:
    from ticktree.supervisor.program import name_of_command

    return name_of_command(sys.orig_argv)


def _owns(run: RunDirectory) -> bool:
    from ticktree.files.owner import Owner

    return run.manifest.owner == Owner.current()


def _describe(run: RunDirectory) -> None:
    from ticktree.run.facts import describe_program

    run.describe(describe_program())


def _note_threads(recorder: native.Recorder) -> None:
    """How many threads do the work of an operation: two runs that differ in it are of unlike machines, as it were.

    The program may set it in itself, so that only the program knows, and only of what it has imported.
    """
    torch = sys.modules.get("torch")
    with suppress(Exception):  # it is another's module, at the end of another's program
        if torch is not None:
            recorder.gauge(_THREADS_OF_TORCH, torch.get_num_threads())


def _sweep() -> None:
    from ticktree.run.abandoned import finish_abandoned

    finish_abandoned(_SWEEP_WITHIN_S)


# The program's own: what the public functions act on.
current = Session()
