"""accelerate: what an Accelerator does apart from torch.

Its `backward`, `clip_grad_norm_` and optimizers call torch's, which are rows of `torch`.
"""

from __future__ import annotations

from ticktree.instruments.targets import Instrument, Target

_METHODS = (
    *("prepare", "gather", "gather_for_metrics", "reduce", "pad_across_processes"),
    *("log", "save_state", "load_state", "wait_for_everyone"),
)

INSTRUMENT = Instrument(
    "accelerate",
    tested=">=1.0.0,<1.16",
    targets=[
        Target(
            f"accelerate.accelerator:Accelerator.{name}",
            f"Accelerator.{name}",
            subclasses=True,
            wait=name == "wait_for_everyone",
            layer="Accelerator",
        )
        for name in _METHODS
    ],
)
