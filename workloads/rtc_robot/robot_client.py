#!/usr/bin/env python3
"""The simulated ALOHA robot with its policy in another process, over lerobot's gRPC."""

from __future__ import annotations

from ticktree.demo.requirements import exit_if_missing

if __name__ == "__main__":
    exit_if_missing(__file__)
    from rtc_robot.remote import drive

    raise SystemExit(drive())
