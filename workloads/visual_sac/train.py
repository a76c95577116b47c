#!/usr/bin/env python3
"""Train a soft actor-critic to drive CarRacing from pixels."""

from __future__ import annotations

from visual_sac.program import main

if __name__ == "__main__":
    raise SystemExit(main())
