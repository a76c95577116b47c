#!/usr/bin/env python3
"""lerobot's policy server over gRPC, for robot_client.py."""

from __future__ import annotations

from rtc_robot.server_program import main

if __name__ == "__main__":
    raise SystemExit(main())
