"""A SmolVLM of toy size, written to a directory as the hub would: configuration, tokenizer, image processor."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import PreTrainedTokenizerFast, SmolVLMConfig, SmolVLMImageProcessor, SmolVLMProcessor
from transformers.models.smolvlm.video_processing_smolvlm import SmolVLMVideoProcessor

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
