"""Where readings of the machine are kept while a run goes on.

    MEMORY DIRECTORY/machine.json    the gauges so far; replaced in one step every few readings

It lies beside the memory files, on tmpfs, and goes with them: whoever reads the run finds it, be its supervisor alive
or killed, and writing it stalls nobody.

History of the format
    ticktree-machine/1  the first.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ticktree.profile import Gauge, ProfileError
from ticktree.profile.decode.gauge import gauge_from
from ticktree.profile.encode.gauge import gauge_object
from ticktree.profile.fields import Fields
from ticktree.profile.machine import is_of_machine
from ticktree.run.atomic import write_atomically
from ticktree.run.naming import MACHINE
from ticktree.run.reading.image import DamagedError

FORMAT = "ticktree-machine/1"
_MOST_BYTES = 1 << 20


def keep(folder: Path, gauges: Mapping[str, Gauge]) -> None:
    """Keep these readings in place of those before.

    Args:
        folder: the run's memory directory.
        gauges: all so far, by name.

    Raises:
        OSError: There is no room, or the run has been finished.
    """
    fields = {"format": FORMAT, "gauges": {name: gauge_object(gauge) for name, gauge in gauges.items()}}
    write_atomically(folder / MACHINE, (json.dumps(fields) + "\n").encode(), follow=False)


def kept(folder: Path) -> dict[str, Gauge]:
    """The readings kept in `folder`, by name; none where nobody took any.

    Raises:
        DamagedError: What is there is nothing that could have been written.
    """
    try:
        fd = os.open(folder / MACHINE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise DamagedError(f"{folder / MACHINE}: {error.strerror}") from None
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            raise DamagedError(f"{folder / MACHINE} is no file of ours")
        try:
            return _gauges(json.loads(file.read()))
        except (ValueError, TypeError, RecursionError, ProfileError) as error:
            raise DamagedError(f"{folder / MACHINE} is damaged: {error}") from None


def _gauges(value: Any) -> dict[str, Gauge]:
    fields = Fields(value, MACHINE)
    if fields.raw("format") != FORMAT:
        fields.fail(f"its format is not {FORMAT}")
    named = fields.sub("gauges")
    gauges = {name: gauge_from(name, named.sub(name)) for name in named}
    for name, gauge in gauges.items():
        if not is_of_machine(name):
            fields.fail("it holds something that is no reading of a machine")
        for problem in gauge.problems():
            fields.fail(problem)
    return gauges
