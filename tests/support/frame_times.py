"""Frame times as a reader sees them."""

from __future__ import annotations

FRAMES = """async (act) => {
    const step = eval(act);
    const times = [];
    for (let at = 0; at < 60; at += 1) {
        const began = performance.now();
        step(at);
        await new Promise(requestAnimationFrame);
        times.push(performance.now() - began);
    }
    times.sort((left, right) => left - right);
    return [times[30], times[57], times[59]];
}"""


def frames(page, act: str) -> tuple[str, float]:
    """What 60 frames took, each of which does `act`, in words, and the middle one in milliseconds."""
    middle, p95, worst = page.evaluate(FRAMES, act)
    return f"{middle:.1f} ms a frame, p95 {p95:.1f} ms, worst {worst:.1f} ms", middle
