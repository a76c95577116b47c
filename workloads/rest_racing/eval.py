#!/usr/bin/env python3
"""Race a car that lives in another process, behind HTTP."""

from __future__ import annotations

from ticktree.demo.requirements import exit_if_missing

exit_if_missing(__file__)  # one line instead of a traceback, where something is not installed

from rest_racing.driver import CheckpointedDriver, Driver  # noqa: E402
from rest_racing.race import drive, set_up_race  # noqa: E402


def main() -> int:
    """Drive as the command line says."""
    with set_up_race() as (args, env, policies):
        driver = CheckpointedDriver(env, policies, args.after) if args.checkpoints else Driver(env, policies)
        drive(driver, env, args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
