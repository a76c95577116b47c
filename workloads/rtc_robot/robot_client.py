#!/usr/bin/env python3
"""The simulated ALOHA robot with its policy in another process, over lerobot's gRPC."""

from __future__ import annotations

from ticktree.demo.requirements import need

if __name__ == "__main__":
    need(__file__)
    from rtc_robot.remote import drive

    raise SystemExit(drive())
