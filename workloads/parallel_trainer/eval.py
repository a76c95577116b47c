#!/usr/bin/env python3
"""Let what was learned act, in one environment."""

from __future__ import annotations

from ticktree.demo.requirements import exit_if_missing

if __name__ == "__main__":
    exit_if_missing(__file__)
    from parallel_trainer.train import evaluate

    raise SystemExit(evaluate())
