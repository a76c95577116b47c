#!/usr/bin/env python3
"""Let what was learned act, in one environment."""

from __future__ import annotations

from parallel_trainer.acting import main

if __name__ == "__main__":
    raise SystemExit(main())
