#!/usr/bin/env python3
"""Play a gymnasium task for a trainer of the ML-Agents toolkit, as an executable made with its editor would."""

from __future__ import annotations

from mlagents_trainer.playing import main

if __name__ == "__main__":
    raise SystemExit(main())
