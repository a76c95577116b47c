"""What a program waits for: queues, pipes, locks, threads, processes, programs and futures; and who let it go on.

A call that may block is a wait of its own inside an open section and on the main thread; elsewhere, as in helper
threads that wait all the time, it has no row. What is part of another wait has none either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticktree.instrument.patches import Patches
from ticktree.instrument.waits import commands, futures, locks, pipes, processes, queues, threads

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

_patches = Patches()


def install(recorder: Recorder) -> None:
    """Wraps what can block, in each module that is or will be imported."""
    _patches.watch("threading", lambda module: threads.wrap(_patches, recorder, module))
    _patches.watch("queue", lambda module: queues.wrap(_patches, recorder, module))
    _patches.watch("concurrent.futures._base", lambda module: futures.wrap(_patches, recorder, module))
    _patches.watch("multiprocessing.connection", lambda module: pipes.wrap(_patches, recorder, module))
    _patches.watch("multiprocessing.queues", lambda module: queues.wrap_shared(_patches, recorder, module))
    _patches.watch("multiprocessing.synchronize", lambda module: locks.wrap(_patches, recorder, module))
    _patches.watch("subprocess", lambda module: commands.wrap(_patches, recorder, module))
    _patches.watch("multiprocessing.process", lambda module: processes.wrap(_patches, recorder, module))


def uninstall() -> None:
    """Puts everything back. Locks that were made meanwhile keep a wrapper that does nothing."""
    _patches.undo()
