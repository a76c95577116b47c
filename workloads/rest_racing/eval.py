#!/usr/bin/env python3
"""Race a car that lives in another process, behind HTTP."""

from __future__ import annotations

from rest_racing.checkpointed_driver import CheckpointedDriver
from rest_racing.driver import Driver
from rest_racing.program import drive, ready


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
