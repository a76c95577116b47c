#!/usr/bin/env python3
"""Train PPO on a MuJoCo task whose environments run in separate processes."""

from __future__ import annotations

from ticktree.demo.requirements import exit_if_missing

if __name__ == "__main__":
    exit_if_missing(__file__)
    # Imported here: a spawned worker runs this file again, and has no use for torch.
    from parallel_trainer.train import main

    raise SystemExit(main())
