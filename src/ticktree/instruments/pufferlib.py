"""PufferLib: the methods of PuffeRL. Ticks are epochs: a rollout (`evaluate`) and the training on it (`train`).

An epoch ends with `train`: an evaluation after the last one is in no tick.
"""

from __future__ import annotations

from types import ModuleType

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target, methods
from ticktree.instruments.ticks import ticks_after, unmarked_loop
from ticktree.recorder import Recorder
from ticktree.recorder.site import NO_SITE

EPOCH = "epoch"

_TRAINER, _VECTORS = "pufferlib.pufferl", "pufferlib.vector"
_TARGETS = [
    *methods(f"{_TRAINER}:PuffeRL", "evaluate", "mean_and_log", "print_dashboard", "save_checkpoint"),
    *(
        Target(f"{_VECTORS}:{kind}.{name}", f"vecenv {name}", wait=kind != "Serial" and name == "recv")
        for kind in ("Serial", "Multiprocessing", "Ray")
        for name in ("async_reset", "send", "recv")
    ),
]


def _wrap_trainer(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap `train`, which the program calls in its own loop, and `close`, which ends that loop."""
    section, epochs = recorder.timed_section("train", NO_SITE), unmarked_loop(recorder, EPOCH)
    around = ticks_after(recorder, section, EPOCH, lambda: False, unmarked=epochs)
    patches.section(module, "PuffeRL.train", section, subclasses=True, around=around)
    closing = recorder.timed_section("close", NO_SITE)
    patches.section(module, "PuffeRL.close", closing, None, epochs.is_over, subclasses=True)


INSTRUMENT = Instrument("pufferlib", targets=_TARGETS, hooks={_TRAINER: _wrap_trainer})
