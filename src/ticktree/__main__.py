"""`python -m ticktree`."""

from __future__ import annotations

import os
import sys

# Python puts the working directory first: a user's `select.py` or `rich/` there would shadow the modules that ticktree
# needs. The program under `ticktree run` still gets its usual path.
try:
    directory = os.getcwd()  # noqa: PTH109 - importing pathlib is not safe yet
except OSError:  # it has been deleted
    directory = ""
if sys.path and sys.path[0] in ("", directory):
    del sys.path[0]

from ticktree.cli import main

if __name__ == "__main__":
    main()
