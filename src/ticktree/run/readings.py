"""The file with readings of the machine while a run continues.

    MEMORY DIRECTORY/machine.json    the gauges so far; replaced atomically every few readings

It is next to the memory files, on tmpfs, and is deleted with them: every reader of the run finds it,
whether the supervisor is alive or was killed, and writing it does not stall any process.

History of the format
    ticktree-machine/1  the first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ticktree.files.atomic import write_atomically
from ticktree.files.guarded import MissingFileError, json_in, read_bytes, understood
from ticktree.profile import Gauge
from ticktree.profile.fields import Fields
from ticktree.profile.machine import is_of_machine
from ticktree.profile.profile_json import GAUGES
from ticktree.run.naming import MACHINE

FORMAT = "ticktree-machine/1"
_MOST_BYTES = 1 << 20


def keep(folder: Path, gauges: Mapping[str, Gauge]) -> None:
    """Keep these readings in place of the previous ones.

    Args:
        folder: the run's memory directory.
        gauges: all so far, by name.

    Raises:
        OSError: There is no room, or the run has been finished.
    """
    fields = {"format": FORMAT, "gauges": GAUGES.write(gauges, {})}
    write_atomically(folder / MACHINE, (json.dumps(fields) + "\n").encode(), follow=False)


def kept(folder: Path) -> dict[str, Gauge]:
    """Return the gauges kept in `folder`, by name; empty if there are none.

    Raises:
        FileError: The file is not valid.
    """
    try:
        data = read_bytes(folder / MACHINE, _MOST_BYTES, follow=False)
    except MissingFileError:
        return {}
    with understood(folder / MACHINE):
        return _gauges(json_in(data))


def _gauges(value: Any) -> dict[str, Gauge]:
    fields = Fields(value, MACHINE)
    if fields.raw("format") != FORMAT:
        fields.fail(f"its format is not {FORMAT}")
    gauges: dict[str, Gauge] = GAUGES.read(fields, "gauges")
    for name, gauge in gauges.items():
        if not is_of_machine(name):
            fields.fail("it contains a gauge that is not a reading of the machine")
        for problem in gauge.problems():
            fields.fail(problem)
    return gauges
