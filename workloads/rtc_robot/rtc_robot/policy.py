"""The policy: lerobot's SmolVLA, built tiny and offline, with what goes before it and after it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.rtc.configuration_rtc import RTCConfig
from lerobot.policies.smolvla.configuration_smolvla import SmolVLAConfig
from lerobot.policies.smolvla.modeling_smolvla import SmolVLAPolicy
from lerobot.policies.smolvla.processor_smolvla import make_smolvla_pre_post_processors
from lerobot.utils.constants import ACTION, OBS_IMAGES, OBS_STATE

from .aloha_robot import CAMERA
from .aloha_world import JOINTS, AlohaWorld
from .guidance import TimedGuidance
from .tiny_smolvlm import PICTURE_PIXELS, write_tiny_smolvlm

CHUNK = 50
STATE_KEY, PICTURE_KEY = OBS_STATE, f"{OBS_IMAGES}.{CAMERA}"
_REACH_RAD = 0.08  # how far an untrained policy's actions stray from the arms' home


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """How a policy is to be.

    Attributes:
        device: where it runs.
        rtc: whether its chunks are guided by the one before.
        execution_horizon: how many actions of the old chunk guide the new one.
        guidance_weight: how strongly at most.
        freeze: omit the gradients of the parameters, which guidance would compute and are never used.
        compiled: give the network to torch.compile.
        seed: of its weights.
    """

    device: str = "cpu"
    rtc: bool = True
    execution_horizon: int = 20
    guidance_weight: float = 10.0
    freeze: bool = False
    compiled: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy and its two processors, as lerobot's factory gives them."""

    model: Any
    preprocessor: Any
    postprocessor: Any


def build_policy(folder: Path, settings: PolicySettings) -> Policy:
    """Write the tiny vision language model to `folder`, and build a policy of random weights around it."""
    write_tiny_smolvlm(folder)
    config = SmolVLAConfig(
        input_features={
            STATE_KEY: PolicyFeature(FeatureType.STATE, (len(JOINTS),)),
            PICTURE_KEY: PolicyFeature(FeatureType.VISUAL, (3, 480, 640)),
        },
        output_features={ACTION: PolicyFeature(FeatureType.ACTION, (len(JOINTS),))},
        vlm_model_name=str(folder),
        num_vlm_layers=0,  # all it has
        chunk_size=CHUNK,
        n_action_steps=CHUNK,
        resize_imgs_with_padding=(PICTURE_PIXELS, PICTURE_PIXELS),
        device=settings.device,
        rtc_config=RTCConfig(
            enabled=settings.rtc,
            execution_horizon=settings.execution_horizon,
            max_guidance_weight=settings.guidance_weight,
        ),
    )
    torch.manual_seed(settings.seed)
    model = SmolVLAPolicy(config).to(settings.device).eval()
    model.rtc_processor = model.model.rtc_processor = TimedGuidance(config.rtc_config)
    if settings.freeze:
        model.requires_grad_(False)
    if settings.compiled:
        compile_policy(model)
    return Policy(model, *make_smolvla_pre_post_processors(config, _statistics()))


def compile_policy(model: Any) -> None:
    """Compile what a chunk calls again and again: the step that removes noise, and the network below it.

    Not lerobot's `compile_model`, which compiles the whole of `sample_actions`: guidance takes gradients in the middle
    of it, and that graph breaks there in each of its steps.
    """
    model.model.denoise_step = torch.compile(model.model.denoise_step, dynamic=False)


def parameters(model: Any) -> int:
    """How many numbers the policy has learned, or would have."""
    return sum(each.numel() for each in model.parameters())


def _statistics() -> dict[str, dict[str, torch.Tensor]]:
    """What would be a data set's means and deviations: the arms' home, and a little around it."""
    home = torch.tensor(AlohaWorld().home, dtype=torch.float32)
    around = {"mean": home, "std": torch.full_like(home, _REACH_RAD)}
    return {ACTION: around, OBS_STATE: {"mean": home, "std": torch.full_like(home, 10 * _REACH_RAD)}}


def delay_in_actions(seconds: float, fps: float) -> int:
    """How many actions are executed while something takes so long: a begun one counts."""
    return math.ceil(seconds * fps)
