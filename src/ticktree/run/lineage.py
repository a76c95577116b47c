"""Which process started this one, as far as it can be determined.

A parent names itself to its child if it can (recorder/children.py): text of the form
`PID-START-INCARNATION:NODE`. If it did not, as through a shell whose start ticktree did not record, the
nearest ancestor that records is the parent, and its node is unknown: 0.
"""

from __future__ import annotations

import os
from itertools import takewhile

from ticktree.files.owner import Owner, parent_pid, process_start
from ticktree.run.directory import RunFiles
from ticktree.run.memory import ProcessKey

_MOST_ANCESTORS = 64


def parent_of_process(run: RunFiles) -> str | None:
    """Return the parent node of a process whose parent did not name it; None for the run's first process."""
    owner = run.manifest.owner
    previous = _latest_incarnation(run, os.getpid())
    if previous:  # this process ran another program before (exec)
        return f"{previous}:0"
    pid = os.getppid()
    if run.manifest.supervised and _is_owner(owner, pid):
        return None
    for _ in range(_MOST_ANCESTORS):
        ancestor = _latest_incarnation(run, pid)
        if ancestor:
            return f"{ancestor}:0"
        if pid <= 1 or _is_owner(owner, pid):
            break
        pid = parent_pid(pid)
    return f"{owner.pid}-{owner.started}-1:0"


def _is_owner(owner: Owner, pid: int) -> bool:
    return pid == owner.pid and process_start(pid) == owner.started


def _latest_incarnation(run: RunFiles, pid: int) -> str | None:
    """Return PID-START-INCARNATION of a process's current program, if it is recorded."""
    start = process_start(pid) or 0
    programs = (ProcessKey(pid, start, incarnation) for incarnation in range(1, _MOST_ANCESTORS))
    recorded = [*takewhile(lambda program: (run.memory_dir / f"{program}.tt").exists(), programs)]
    return f"{pid}-{start}-{len(recorded)}" if recorded else None
