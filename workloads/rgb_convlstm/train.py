#!/usr/bin/env python3
"""Train a ConvLSTM to play a board of sliding robots from its picture."""

from __future__ import annotations

from ticktree.demo.requirements import need

if __name__ == "__main__":
    need(__file__)
    from rgb_convlstm.train import main

    raise SystemExit(main())
