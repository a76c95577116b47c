#!/usr/bin/env python3
"""Train PPO on a MuJoCo task whose environments run in processes of their own."""

from __future__ import annotations

if __name__ == "__main__":
    # Imported here: a spawned worker runs this file again, and has no use for torch.
    from parallel_trainer.program import main

    raise SystemExit(main())
