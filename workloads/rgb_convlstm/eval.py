#!/usr/bin/env python3
"""Let what train.py saved solve new puzzles."""

from __future__ import annotations

from ticktree.demo.requirements import need

if __name__ == "__main__":
    need(__file__)
    from rgb_convlstm.train import evaluate

    raise SystemExit(evaluate())
