from __future__ import annotations

import time

import numpy as np
import pytest
import torch
from lerobot.policies.rtc.action_queue import ActionQueue
from lerobot.policies.rtc.latency_tracker import LatencyTracker
from lerobot.policies.rtc.modeling_rtc import RTCProcessor
from rtc_robot.aloha import CAMERA, JOINTS
from rtc_robot.control import ChunkSource, all_time_maximum, predict, recent_p95
from rtc_robot.policy import CHUNK, PolicySettings, build_policy, delay_in_actions, parameters

import ticktree


@pytest.fixture(scope="module")
def observation():
    noise = np.random.default_rng(0)
    return {f"{joint}.pos": 0.1 for joint in JOINTS} | {
        CAMERA: noise.integers(0, 256, (48, 64, 3), dtype=np.uint8)
    }


def _build(folder, **settings):
    return build_policy(folder, PolicySettings(**settings))


def _predicted(policy, observation, left_over=None):
    torch.manual_seed(1)
    return predict(policy, observation, "hold", inference_delay=4, prev_chunk_left_over=left_over)


def test_a_tiny_policy_of_the_same_seed_is_the_same(tmp_path, observation):
    first, second = (_build(tmp_path, seed=3) for _ in range(2))
    assert parameters(first.model) < 1_000_000
    chunk = _predicted(first, observation)
    assert chunk.processed.shape == (CHUNK, len(JOINTS))
    assert torch.equal(chunk.processed, _predicted(second, observation).processed)


def test_guidance_pulls_a_chunk_towards_what_is_left_of_the_one_before(tmp_path, observation):
    policy = _build(tmp_path, execution_horizon=10)
    free = _predicted(policy, observation).original
    left_over = free[5:] + 1.0
    guided = _predicted(policy, observation, left_over).original
    away = [(chunk[:4] - left_over[:4]).abs().mean().item() for chunk in (free, guided)]
    assert away[1] < 0.5 * away[0]


@pytest.mark.parametrize("freeze", [False, True])
def test_the_named_guidance_computes_what_lerobots_own_does(tmp_path, observation, freeze):
    policy = _build(tmp_path, freeze=freeze)
    left_over = _predicted(policy, observation).original[7:]
    named = _predicted(policy, observation, left_over).original
    own = RTCProcessor(policy.model.config.rtc_config)
    policy.model.rtc_processor = policy.model.model.rtc_processor = own
    assert torch.equal(named, _predicted(policy, observation, left_over).original)


def test_every_step_of_a_chunk_is_recorded_under_the_name_that_the_guide_has(tmp_path, observation):
    source = _source(_build(tmp_path), all_time_maximum)
    ticktree.enable()
    ticktree.reset()
    try:
        for _ in range(2):
            source.next_chunk(observation, time.perf_counter())
        profile = ticktree.snapshot()
    finally:
        ticktree.disable()
    root = profile.root
    for step in ("preprocessing", "policy_inference", "postprocessing", "action_queue_merge"):
        assert root.at(f"get_actions.{step}").count == 2
    inference = root.at("get_actions.policy_inference")
    # Ten steps of denoising a chunk; the first chunk has none before it to be guided by.
    assert inference.at("rtc.guidance_computation").count == 10
    assert inference.at("rtc.denoise").count == 20
    assert profile.gauges["delay estimated, actions"].count == 2


def test_a_guided_chunk_replaces_the_queue_less_what_came_too_late(tmp_path, observation):
    source = _source(_build(tmp_path), all_time_maximum)
    late = source.next_chunk(observation, time.perf_counter() - 0.2)
    assert late >= 6  # 0.2 s at 30 Hz, and what inference took
    assert source.queue.qsize() == CHUNK - late


def test_without_chunking_a_chunk_is_appended_whole(tmp_path, observation):
    source = _source(_build(tmp_path, rtc=False), all_time_maximum)
    for _ in range(2):
        source.next_chunk(observation, time.perf_counter())
    assert source.queue.qsize() == 2 * CHUNK


def test_a_chunk_that_takes_longer_than_it_lasts_leaves_its_last_action(tmp_path, observation):
    source = _source(_build(tmp_path), all_time_maximum)
    source.next_chunk(observation, time.perf_counter() - 60)
    assert source.queue.qsize() == 1


def test_the_maximum_never_forgets_a_cold_start_and_recent_latencies_do():
    latencies = LatencyTracker(maxlen=20)
    assert all_time_maximum(latencies) == recent_p95(latencies) == 0.0
    latencies.add(2.0)
    for _ in range(20):
        latencies.add(0.1)
    assert all_time_maximum(latencies) == 2.0
    assert recent_p95(latencies) == pytest.approx(0.1)
    assert delay_in_actions(0.1, 30) == 3
    assert delay_in_actions(0.101, 30) == 4


def _source(policy, estimate):
    return ChunkSource(policy, ActionQueue(policy.model.config.rtc_config), "hold", 30.0, estimate)
