#!/usr/bin/env python3
"""Train with the ML-Agents toolkit's own trainer, its timers recorded by ticktree."""

from __future__ import annotations

import sys

# The one import. The toolkit's timers instead, to compare, for a run with --own-timers.
if "--own-timers" not in sys.argv:
    import ticktree.compat.mlagents.everywhere  # noqa: F401

from mlagents_trainer.training import main

if __name__ == "__main__":
    raise SystemExit(main())
