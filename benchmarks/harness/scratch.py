"""Recording into a temporary directory: a benchmark does not keep its run."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import ticktree


@contextmanager
def recording() -> Iterator[None]:
    """Recording enabled, in a temporary working directory, since that is where ticktree keeps its runs."""
    before = Path.cwd()
    folder = TemporaryDirectory()
    # The run is finished as the program ends, into this folder: what is registered first is called last.
    atexit.register(folder.cleanup)
    os.chdir(folder.name)
    ticktree.enable()
    try:
        yield
    finally:
        ticktree.disable()
        os.chdir(before)
