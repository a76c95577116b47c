"""Real-time chunking's guidance with its own row in the tree: lerobot's processor, called as it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from lerobot.policies.rtc.modeling_rtc import RTCProcessor

import ticktree

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
