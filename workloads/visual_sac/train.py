#!/usr/bin/env python3
"""Train a soft actor-critic to drive CarRacing from pixels."""

from __future__ import annotations

from ticktree.demo.requirements import exit_if_missing

if __name__ == "__main__":
    exit_if_missing(__file__)
    from visual_sac.train import main

    raise SystemExit(main())
