#!/usr/bin/env python3
"""Compare inference with and without real-time chunking, without a robot."""

from __future__ import annotations

from ticktree.demo.requirements import exit_if_missing

if __name__ == "__main__":
    exit_if_missing(__file__)
    from rtc_robot.comparison import main

    raise SystemExit(main())
