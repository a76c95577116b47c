"""Made the fixtures `format-2.tt` and `format-2.json`, when format 2 was the one that was written.

The memory file of a process with a record of every kind, ticks over their budget among them, and the profile that was
read from it then. They are kept as they are: a file of format 2 must always be read, and to the same profile. What
this makes with a recorder of today is of today's format.

    PYTHONPATH=tests/run python tests/run/make_format_2.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from memory_images import profile_of, recorder_on, woken_and_open

MS = 1_000_000


def every_record() -> bytes:
    """An image of it."""
    recorder = recorder_on(identity=(77, 1234, "boot"))
    recorder.set_costs(3.0, 2.0)
    recorder.name_process("robot")
    with recorder.section("main"):
        for tick in recorder.loop("control", range(30), hz=100, warmup=3):
            with recorder.section("camera", wait=True):
                recorder.advance(2 * MS)
            with recorder.section("policy", memory=True) as policy:
                recorder.advance((50 if tick < 2 else 14 if tick % 7 == 0 else 5) * MS)
                policy.work(bytes=1024, items=1)
            recorder.record_duration("measured", 5e-7)
            recorder.gauge("queue", tick - 2.5)
    woken_and_open(recorder)
    return recorder.image()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    image = every_record()
    (folder / "format-2.tt").write_bytes(image)
    (folder / "format-2.json").write_text(profile_of(image).to_json() + "\n")
