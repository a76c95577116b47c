#!/usr/bin/env python3
"""See that profiling works here: a simulated training, its summary, report and analysis."""

from __future__ import annotations

from rgb_convlstm.selftest import main

if __name__ == "__main__":
    raise SystemExit(main())
