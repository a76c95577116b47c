#!/usr/bin/env python3
"""Let a policy drive the simulated ALOHA robot at 30 Hz, with or without real-time chunking."""

from __future__ import annotations

from ticktree.demo.requirements import exit_if_missing

if __name__ == "__main__":
    exit_if_missing(__file__)
    from rtc_robot.evaluation import main

    raise SystemExit(main())
