#!/usr/bin/env python3
"""Let what train.py saved solve puzzles that it has not seen."""

from __future__ import annotations

from rgb_convlstm.evaluation import main

if __name__ == "__main__":
    raise SystemExit(main())
