"""The policy: lerobot's SmolVLA, built tiny and offline, with processors, and its guidance as a row of the tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.rtc.configuration_rtc import RTCConfig
from lerobot.policies.rtc.modeling_rtc import RTCProcessor
from lerobot.policies.smolvla.configuration_smolvla import SmolVLAConfig
from lerobot.policies.smolvla.modeling_smolvla import SmolVLAPolicy
from lerobot.policies.smolvla.processor_smolvla import make_smolvla_pre_post_processors
from lerobot.utils.constants import ACTION, OBS_IMAGES, OBS_STATE
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import PreTrainedTokenizerFast, SmolVLMConfig, SmolVLMImageProcessor, SmolVLMProcessor
from transformers.models.smolvlm.video_processing_smolvlm import SmolVLMVideoProcessor

import ticktree

from .aloha import CAMERA, JOINTS, AlohaWorld

PICTURE_PIXELS = 128  # what pictures are shrunk to: 8 x 8 patches of 16, then 4 x 4 tokens
_WORDS = (
    "pick up move the small red green cube object arm gripper to into on left right other hand it and put"
)
_SPECIAL = {
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "bos_token": "<bos>",
    "eos_token": "<end_of_utterance>",
}
# What a SmolVLM's processor looks for on its tokenizer by these names.
_OF_IMAGES = {
    "fake_image_token": "<fake_token_around_image>",
    "image_token": "<image>",
    "global_image_token": "<global-img>",
    "end_of_utterance_token": "<end_of_utterance>",
}


def write_tiny_smolvlm(folder: Path) -> None:
    """Write to `folder` what `AutoConfig` and `AutoProcessor` read, so that nothing is fetched."""
    tokenizer = _tokenizer()
    _config(tokenizer).save_pretrained(folder)
    size = {"longest_edge": PICTURE_PIXELS}
    processor = SmolVLMProcessor(
        image_processor=SmolVLMImageProcessor(size=size, max_image_size=size),
        tokenizer=tokenizer,
        video_processor=SmolVLMVideoProcessor(
            size=size, max_image_size=size, video_sampling={"fps": 1, "max_frames": 1, "video_size": size}
        ),
        image_seq_len=16,
    )
    processor.save_pretrained(folder)


def _tokenizer() -> PreTrainedTokenizerFast:
    names = dict.fromkeys([*_SPECIAL.values(), *_OF_IMAGES.values(), *_WORDS.split()])
    model = Tokenizer(
        WordLevel({word: number for number, word in enumerate(names)}, unk_token=_SPECIAL["unk_token"])
    )
    model.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=model, **_SPECIAL, extra_special_tokens=_OF_IMAGES)


def _config(tokenizer: PreTrainedTokenizerFast) -> SmolVLMConfig:
    return SmolVLMConfig(
        image_token_id=tokenizer.convert_tokens_to_ids(_OF_IMAGES["image_token"]),
        pad_token_id=tokenizer.pad_token_id,
        scale_factor=2,
        text_config={
            "model_type": "llama",
            "vocab_size": len(tokenizer),
            "hidden_size": 96,
            "intermediate_size": 256,
            "num_hidden_layers": 4,
            "num_attention_heads": 3,
            "num_key_value_heads": 1,
            "head_dim": 32,
            "pad_token_id": tokenizer.pad_token_id,
        },
        vision_config={
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": PICTURE_PIXELS,
            "patch_size": 16,
        },
    )


Denoise = Callable[[torch.Tensor], torch.Tensor]


class TimedGuidance(RTCProcessor):  # type: ignore[misc,unused-ignore]
    """Names the network's own step `rtc.denoise`, and what follows it in a guided one `rtc.guidance_computation`.

    That is the error against the chunk before, its gradient through the network, and the correction. What guidance
    needs before, a few weights, is in neither. A step that has no chunk before it is not guided.
    """

    def denoise_step(
        self,
        x_t: torch.Tensor,
        prev_chunk_left_over: torch.Tensor | None,
        inference_delay: int,
        time: float,
        original_denoise_step_partial: Denoise,
        execution_horizon: int | None = None,
    ) -> Any:
        """Call the network's step, and bend its result towards what is left of the chunk before."""
        with ExitStack() as guiding:

            def denoise(noisy: torch.Tensor) -> torch.Tensor:
                with ticktree.section("rtc.denoise"):
                    velocity = original_denoise_step_partial(noisy)
                if prev_chunk_left_over is not None:
                    guiding.enter_context(ticktree.section("rtc.guidance_computation"))
                return velocity

            return super().denoise_step(
                x_t, prev_chunk_left_over, inference_delay, time, denoise, execution_horizon
            )


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
    return sum(parameter.numel() for parameter in model.parameters())


def _statistics() -> dict[str, dict[str, torch.Tensor]]:
    """What would be a data set's means and deviations: the arms' home, and a little around it."""
    home = torch.tensor(AlohaWorld().home, dtype=torch.float32)
    around = {"mean": home, "std": torch.full_like(home, _REACH_RAD)}
    return {ACTION: around, OBS_STATE: {"mean": home, "std": torch.full_like(home, 10 * _REACH_RAD)}}


def delay_in_actions(seconds: float, fps: float) -> int:
    """How many actions are executed while something takes so long: a begun one counts."""
    return math.ceil(seconds * fps)


# Of the policy, of its flow model, and of the network below that.
METHODS = {
    "": ("prepare_images", "prepare_state"),
    "model": ("sample_actions", "embed_prefix", "embed_suffix", "denoise_step"),
    "model.vlm_with_expert": ("embed_image", "embed_language_tokens", "forward"),
}


def time_methods(policy: Any) -> list[str]:
    """Time each of the methods of this policy, and return the names of their rows."""
    names = []
    for path, methods in METHODS.items():
        owner = policy
        for part in filter(None, path.split(".")):
            owner = getattr(owner, part)
        for method in methods:
            name = f"{type(owner).__name__}.{method}"
            setattr(owner, method, ticktree.timed(name)(getattr(owner, method)))
            names.append(name)
    return names
