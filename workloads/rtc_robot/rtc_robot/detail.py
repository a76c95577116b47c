"""Detailed profiling: rows for the methods within the policy, on demand."""

from __future__ import annotations

from typing import Any

import ticktree

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
