"""Running ticktree's command line in the test's own process: what a thousand runs of it need."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

from ticktree.cli import main


def ticktree(*words: str) -> tuple[object, str, str]:
    """The exit status, standard output and standard error of a command; raises what ends it in a traceback."""
    out, err = io.StringIO(), io.StringIO()
    with patch.object(sys, "argv", ["ticktree", *words]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            return ended.code or 0, out.getvalue(), err.getvalue()
    raise AssertionError("main returned")
