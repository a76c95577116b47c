#!/usr/bin/env python3
"""lerobot's policy server over gRPC, for robot_client.py."""

from __future__ import annotations

from ticktree.demo.requirements import exit_if_missing

if __name__ == "__main__":
    exit_if_missing(__file__)
    from rtc_robot.remote import serve

    raise SystemExit(serve())
