"""Recording that a command requests: from the interpreter's start by `ticktree run`, or in a running program."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ticktree.errors import TicktreeError, reason
from ticktree.recorder import (
    EXPERIMENTS_VARIABLE,
    INSTRUMENT_VARIABLE,
    IS_OFF,
    LEDGER_NAME,
    MEMORY_VARIABLE,
    PARENT_VARIABLE,
    RUN_VARIABLE,
    SAMPLE_VARIABLE,
    begin_experiments,
)
from ticktree.recorder.focus import begin_focus_from_environment
from ticktree.recorder.imports import cancel_all
from ticktree.session.session import current
from ticktree.session.showing import print_line

# The most of a core that the sampling thread may take.
_MAX_SHARE = 0.01


def arm() -> None:
    """Begin to record under `ticktree run`; ticktree.pth calls it when the interpreter starts. Never raises.

    The interpreter reads a .pth file once per name of its folder, in a venv twice or more: only the first call counts.
    """
    if current.armed:
        return
    current.armed = True
    try:
        from ticktree.run.finishing import RunDirectory

        # The variable is for this process only: children get another value.
        parent = os.environ.pop(PARENT_VARIABLE, None)
        run = RunDirectory.join(Path(os.environ[RUN_VARIABLE]))
        if run.is_finished():
            # It finished before this process or its parent began: the process records into a new run, if at all.
            del os.environ[RUN_VARIABLE]
        else:
            if os.environ.get(MEMORY_VARIABLE):
                current.recorder.measure_all()
            if os.environ.get(EXPERIMENTS_VARIABLE):
                begin_experiments(current.recorder, run.memory_dir / LEDGER_NAME)
            current.enable(run, parent)
            if not IS_OFF:
                _apply_environment()
                if os.environ.get(SAMPLE_VARIABLE):
                    _start_sampling(run.memory_dir, float(os.environ[SAMPLE_VARIABLE]))
    except Exception as error:
        print_line(f"cannot record: {reason(error)}")


def _apply_environment() -> None:
    from ticktree.instruments import install_from_environment
    from ticktree.instruments.remedies import apply_from_environment

    apply_from_environment(current.recorder)  # first, so that sections wrap the changed functions
    install_from_environment()
    try:
        begin_focus_from_environment(current.recorder)
    except TicktreeError as error:  # everything else is recorded
        print_line(str(error))


def _start_sampling(folder: Path, hz: float) -> None:
    """Sample this process, and those forked from it, each on its own thread."""
    from ticktree.files.owner import Owner
    from ticktree.supervisor.sampler._remote import sample_self

    def begin() -> None:
        owner = Owner.current()
        name = f"{owner.pid}-{owner.started}"
        incarnation = 1 + len([*folder.glob(f"{name}-*.ring")])  # a file per program of the process
        memory = folder / (f"{name}.tt" if incarnation == 1 else f"{name}-{incarnation}.tt")
        ring = os.fsencode(folder / f"{name}-{incarnation}.ring")
        seed = int.from_bytes(os.urandom(8), "little")
        with suppress(OSError):  # the run is over, or there is no space
            sample_self(ring, os.fsencode(memory), 1 / hz, _MAX_SHARE, seed)

    begin()
    os.register_at_fork(after_in_child=begin)


def attach(run: str, libraries: str, is_new: bool) -> None:
    """Begin to record in a running program; `ticktree attach` has the program call it.

    Args:
        run: the run's directory.
        libraries: what to instrument, in the format of the environment variable.
        is_new: whether no module of ticktree was imported before.

    Raises:
        TicktreeError: The program records already, or recording is turned off.
    """
    from ticktree.run.finishing import RunDirectory

    if _attached:  # by a `ticktree attach` that was killed before it could detach
        detach()
    current.attach(RunDirectory.join(Path(run)))
    _attached[:] = is_new, os.environ.get(INSTRUMENT_VARIABLE)
    os.environ[INSTRUMENT_VARIABLE] = libraries
    _apply_environment()


def detach() -> None:
    """Undo `attach`, except for the imported modules."""
    from ticktree.instruments import uninstall

    is_new, libraries = _attached
    _attached.clear()
    uninstall()
    if libraries is None:
        del os.environ[INSTRUMENT_VARIABLE]
    else:
        os.environ[INSTRUMENT_VARIABLE] = libraries
    current.leave()
    if is_new:
        cancel_all()


_attached: list[Any] = []  # while attached: `is_new`, and the previous value of the variable
