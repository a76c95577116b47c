#!/usr/bin/env python3
"""Compare inference with and without real-time chunking, without a robot."""

from __future__ import annotations

from rtc_robot.compare_program import main

if __name__ == "__main__":
    raise SystemExit(main())
