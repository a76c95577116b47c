"""What became of the deadlines: misses, starved ticks, the queue, latencies, delays, the age of what was acted on."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree import Profile

from .control import LOOP, Course

DEPTH = "ActionQueue depth"
LATENCY = "chunk latency, ms"
ESTIMATED, REAL = "delay estimated, actions", "delay real, actions"
AGE = f"{LOOP}/sensor to action"


def describe(profile: Profile, course: Course, fps: float) -> list[str]:
    """Return the lines about a run's deadlines."""
    return [*_ticks(profile, course, fps), *_queue(profile), *_delays(profile, fps), *_age(profile)]


def _ticks(profile: Profile, course: Course, fps: float) -> Iterator[str]:
    loop = profile.loops.get(LOOP)
    if loop is None:
        return
    yield f"ticks of {1000 / fps:.1f} ms   {loop.ticks}, of which {loop.missed} missed their deadline"
    possible = course.ticks - course.before_first
    share = course.starved / possible if possible else 0.0
    starved = f"{course.starved} of {possible} ({share:.1%})"
    yield f"starved ticks      {starved}, and {course.before_first} before the first chunk"


def _queue(profile: Profile) -> Iterator[str]:
    depth = profile.gauges.get(DEPTH)
    if depth is not None and depth.p50 is not None:
        yield f"queue depth        {depth.min:.0f} to {depth.max:.0f}, p50 {depth.p50:.0f}"


def _delays(profile: Profile, fps: float) -> Iterator[str]:
    latency, estimated, real = (profile.gauges.get(name) for name in (LATENCY, ESTIMATED, REAL))
    if latency is not None and latency.p50 is not None:
        in_actions = latency.p50 * fps / 1000
        yield (
            f"chunk latency      p50 {latency.p50:.0f} ms ({in_actions:.1f} actions), "
            f"{latency.min:.0f} to {latency.max:.0f} ms"
        )
    if estimated is not None and real is not None and estimated.p50 is not None and real.p50 is not None:
        yield (
            f"delay, actions     estimated p50 {estimated.p50:.0f}, at last {estimated.last:.0f}; "
            f"executed meanwhile p50 {real.p50:.0f}, at most {real.max:.0f}"
        )


def _age(profile: Profile) -> Iterator[str]:
    nodes = (node for path, _, node in profile.root.walk() if path.endswith(AGE))
    for node in nodes:
        stats = node.stats
        if stats.p50_ns is not None and stats.max_ns is not None:
            yield (
                f"age when acted on  p50 {stats.p50_ns / 1e6:.0f} ms, at most {stats.max_ns / 1e6:.0f} ms "
                "after it was seen"
            )
