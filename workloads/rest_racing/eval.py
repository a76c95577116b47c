#!/usr/bin/env python3
"""Race a car that lives in another process, behind HTTP."""

from __future__ import annotations

from ticktree.demo.requirements import need

need(__file__)  # one line instead of a traceback, where something is not installed

from rest_racing.checkpointed_driver import CheckpointedDriver  # noqa: E402
from rest_racing.driver import Driver  # noqa: E402
from rest_racing.program import drive, ready  # noqa: E402


def main() -> int:
    """Drive as the command line says."""
    with ready() as (options, env, pilots):
        driver = (
            CheckpointedDriver(env, pilots, options.after) if options.checkpoints else Driver(env, pilots)
        )
        drive(driver, env, options)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
