"""Actions of another user of the machine."""

from __future__ import annotations

import os
from collections.abc import Callable

NOBODY = 65534


def as_nobody(action: Callable[[], object]) -> None:
    """Perform an action as another user, in a forked process; it must not fail."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            action()
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
