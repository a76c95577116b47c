"""The two ways to start a command that the tests compare."""

from __future__ import annotations

import sys

PLAIN: list[str] = []
SUPERVISED = [
    sys.executable,
    "-c",
    "import os, sys; from ticktree.supervisor.supervisor import end_with_status, supervise\n"
    "end_with_status(supervise(sys.argv[1:], os.environ))",
]
