"""Hugging Face: the methods of a transformers `Trainer`, its steps as ticks, and of accelerate's `Accelerator`.

Forward and backward passes, optimizers, clipping and loaders are rows of `torch`, which both call.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, methods
from ticktree.instruments.ticks import Training
from ticktree.recorder import Layer, Recorder, Section, SectionsByObject
from ticktree.recorder.site import NO_SITE

_ACCELERATOR = "accelerate.accelerator:Accelerator"
_ACCELERATOR_METHODS = (
    *("prepare", "gather", "gather_for_metrics", "reduce", "pad_across_processes"),
    *("log", "save_state", "load_state"),
)
_TRAINER, _CALLBACKS = "transformers.trainer:Trainer", "transformers.trainer_callback"
_TRAINER_METHODS = (
    *("training_step", "compute_loss", "evaluate", "predict", "prediction_step", "save_model", "log"),
    *("get_train_dataloader", "get_eval_dataloader", "create_optimizer_and_scheduler", "push_to_hub"),
)
_CALLBACK_METHODS = (
    *("on_train_begin", "on_train_end", "on_epoch_begin", "on_epoch_end", "on_step_begin", "on_step_end"),
    *("on_pre_optimizer_step", "on_optimizer_step", "on_substep_end", "on_evaluate", "on_predict"),
    *("on_save", "on_log", "on_prediction_step"),
)
# A step includes the wait for its batches.
_TRAINING = Training("train step")


def _wrap_callbacks(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    layer, default = Layer(), recorder.timed_section("callback", NO_SITE)

    def callback_section(callback: Any) -> Section | None:
        if isinstance(callback, module.CallbackHandler):
            return None  # the callbacks that it calls have sections
        return recorder.timed_section(f"callback {type(callback).__name__}", NO_SITE)

    choice = SectionsByObject(callback_section)
    for name in _CALLBACK_METHODS:
        patches.section(module, f"TrainerCallback.{name}", default, layer, choice=choice, subclasses=True)


TRANSFORMERS = Instrument(
    "transformers",
    tested=">=5.24.0,<5.25",
    targets=[
        *methods(_TRAINER, *_TRAINER_METHODS),
        *methods(_TRAINER, "train", make_options=_TRAINING.run),
        *methods(_TRAINER, "get_batch_samples", make_options=_TRAINING.begin_tick),
    ],
    hooks={_CALLBACKS: _wrap_callbacks},
)
ACCELERATE = Instrument(
    "accelerate",
    tested=">=1.0.0,<1.16",
    targets=[
        *methods(_ACCELERATOR, *_ACCELERATOR_METHODS, title="Accelerator.", layer="Accelerator"),
        *methods(_ACCELERATOR, "wait_for_everyone", title="Accelerator.", layer="Accelerator", wait=True),
    ],
)
