"""Hugging Face transformers: what a `Trainer` does. Ticks are its steps, each with the wait for its batches.

Forward and backward passes, the optimizer and the loader are rows of `torch`, the Accelerator's are of `accelerate`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target
from ticktree.instruments.ticks import ticks_within
from ticktree.recorder import Layer, Recorder, Section, SectionsByObject
from ticktree.recorder.site import NO_SITE

STEP = "train step"

_TRAINER, _CALLBACKS = "transformers.trainer", "transformers.trainer_callback"
_METHODS = (
    *("training_step", "compute_loss", "evaluate", "predict", "prediction_step", "save_model", "log"),
    *("get_train_dataloader", "get_eval_dataloader", "create_optimizer_and_scheduler", "push_to_hub"),
)
_CALLBACK_METHODS = (
    *("on_train_begin", "on_train_end", "on_epoch_begin", "on_epoch_end", "on_step_begin", "on_step_end"),
    *("on_pre_optimizer_step", "on_optimizer_step", "on_substep_end", "on_evaluate", "on_predict"),
    *("on_save", "on_log", "on_prediction_step"),
)
_TARGETS = [Target(f"{_TRAINER}:Trainer.{name}", name, subclasses=True) for name in _METHODS]


def _wrap_trainer(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    training, section = Layer(), recorder.timed_section("train", NO_SITE)
    batches = recorder.timed_section("get_batch_samples", NO_SITE)

    def begin_step(_trainer: Any) -> None:
        if training.within is not None:
            recorder.tick(STEP)

    around = ticks_within(recorder, section, STEP)
    patches.section(module, "Trainer.train", section, training, subclasses=True, redirection=around)
    patches.section(module, "Trainer.get_batch_samples", batches, None, begin_step, subclasses=True)


def _wrap_callbacks(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    layer, own = Layer(), recorder.timed_section("callback", NO_SITE)

    def section_of(callback: Any) -> Section | None:
        if isinstance(callback, module.CallbackHandler):
            return None  # those that it calls have theirs
        return recorder.timed_section(f"callback {type(callback).__name__}", NO_SITE)

    choice = SectionsByObject(section_of)
    for name in _CALLBACK_METHODS:
        patches.section(module, f"TrainerCallback.{name}", own, layer, choice=choice, subclasses=True)


INSTRUMENT = Instrument(
    "transformers",
    tested=">=5.24.0,<5.25",
    targets=_TARGETS,
    hooks={_TRAINER: _wrap_trainer, _CALLBACKS: _wrap_callbacks},
)
