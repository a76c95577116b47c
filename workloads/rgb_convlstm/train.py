#!/usr/bin/env python3
"""Train a ConvLSTM to play a board of sliding robots from its picture."""

from __future__ import annotations

from rgb_convlstm.program import main

if __name__ == "__main__":
    raise SystemExit(main())
