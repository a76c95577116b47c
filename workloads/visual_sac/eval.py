#!/usr/bin/env python3
"""Drive CarRacing with what was learned."""

from __future__ import annotations

from visual_sac.driving import main

if __name__ == "__main__":
    raise SystemExit(main())
