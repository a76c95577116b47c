#!/usr/bin/env python3
"""Train a ConvLSTM to play a board of sliding robots from its picture."""

from __future__ import annotations

from ticktree.demo.requirements import exit_if_missing

if __name__ == "__main__":
    exit_if_missing(__file__)
    from rgb_convlstm.train import main

    raise SystemExit(main())
