#!/usr/bin/env python3
"""Let what train.py saved solve new puzzles."""

from __future__ import annotations

from ticktree.demo.requirements import exit_if_missing

if __name__ == "__main__":
    exit_if_missing(__file__)
    from rgb_convlstm.train import evaluate

    raise SystemExit(evaluate())
