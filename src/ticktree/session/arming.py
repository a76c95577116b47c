"""Recording from the first line on, in an interpreter that was started for it."""

from __future__ import annotations

import os
from pathlib import Path

from ticktree.errors import TicktreeError, reason
from ticktree.recorder import MEMORY_VARIABLE, OFF_FOR_GOOD, PARENT_VARIABLE, RUN_VARIABLE
from ticktree.recorder.focus import begin_focus_from_environment
from ticktree.session.session import current
from ticktree.session.showing import say


def arm() -> None:
    """Called by ticktree.pth as the interpreter starts under `ticktree run`; never raises.

    The interpreter reads a .pth file once for each name of its folder, in a venv twice or more: only the first counts.
    """
    if current.armed:
        return
    current.armed = True
    try:
        from ticktree.run.finishing import RunDirectory

        # The word is for this process: those that it starts are told by it.
        parent = os.environ.pop(PARENT_VARIABLE, None)
        run = RunDirectory.join(Path(os.environ[RUN_VARIABLE]))
        if run.is_finished():
            del os.environ[
                RUN_VARIABLE
            ]  # outlived by this process or who started it: its own run is a new one
        else:
            if os.environ.get(MEMORY_VARIABLE):
                current.recorder.measure_all()
            current.enable(run, parent)
            if not OFF_FOR_GOOD:
                _record_by_itself()
    except Exception as error:
        say(f"cannot record: {reason(error)}")


def _record_by_itself() -> None:
    from ticktree.instruments import install_from_environment

    install_from_environment()
    try:
        begin_focus_from_environment(current.recorder)
    except TicktreeError as error:  # all else is recorded
        say(str(error))
