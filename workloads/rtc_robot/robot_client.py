#!/usr/bin/env python3
"""The simulated ALOHA robot with its policy in another process, over lerobot's gRPC."""

from __future__ import annotations

from rtc_robot.client_program import main

if __name__ == "__main__":
    raise SystemExit(main())
