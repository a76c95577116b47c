"""`python -m ticktree`."""

from __future__ import annotations

import os
import sys

# Python puts the working directory first: a user's `select.py` or `rich/` there would be imported instead
# of what we need. The program under `ticktree run` finds its own path as ever.
try:
    here = os.getcwd()  # noqa: PTH109 - pathlib is one of the things not yet safe
except OSError:  # it has been deleted
    here = ""
if sys.path and sys.path[0] in ("", here):
    del sys.path[0]

from ticktree.cli import main

if __name__ == "__main__":
    main()
