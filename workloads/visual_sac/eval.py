#!/usr/bin/env python3
"""Drive CarRacing with what was learned."""

from __future__ import annotations

from ticktree.demo.requirements import exit_if_missing

if __name__ == "__main__":
    exit_if_missing(__file__)
    from visual_sac.train import evaluate

    raise SystemExit(evaluate())
