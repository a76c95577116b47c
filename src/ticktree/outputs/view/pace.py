"""How a loop kept to its time: how late it was, what of its ticks is work, and how old what it acted on was."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Loop, Node, Profile, Stats

# The sleep by which a loop holds its rate, and the ages that `origin` records: nodes below the loop's.
SLEEP = "sleep"
AGE = "sensor to action"
# Percentiles of fewer are the longest of them.
LEAST_FOR_P99 = 100
# What is waited beside the sleep is not worth a word below.
LEAST_WAIT_SHARE = 0.005


def pace(profile: Profile, loop: Loop) -> list[list[str]]:
    """Return how `loop` kept to its time, line by line, each piece by piece; nothing where nothing was measured."""
    node = profile.root.find(loop.path)
    found = ages(node) if node is not None else ()
    lines = [
        list(_misses(loop)),
        list(_work(loop, node)),
        *(list(_age(age.name, age.steady)) for age in found),
    ]
    return [line for line in lines if line]


def _misses(loop: Loop) -> Iterator[str]:
    late = loop.lateness
    if late is not None and late.mean_ns is not None:
        median_ns = late.quantile_ns(0.5)
        if late.count == 1:
            yield f"when late, by {formatting.time(late.max_ns)}"
        elif median_ns is None:
            yield f"when late, by {formatting.time(late.mean_ns)} on average"
            yield f"{formatting.time(late.max_ns)} at most"
        else:
            p99_ns = late.quantile_ns(0.99) if late.count >= LEAST_FOR_P99 else None
            yield f"when late, by {formatting.time(median_ns)} p50"
            yield from _tail(p99_ns, late.max_ns)
    if loop.longest_miss_run > 1:
        yield f"up to {formatting.count(loop.longest_miss_run)} missed in a row"
    if loop.incomplete:
        yield f"{formatting.count(loop.incomplete)} cut short"


def _work(loop: Loop, node: Node | None) -> Iterator[str]:
    """Yield what of a tick is work and what is not, of the ticks that the loop's percentiles are of."""
    busy_ns, waited_ns = loop.stats.sum_ns, loop.waited_ns
    if waited_ns and busy_ns:
        work_ns = (busy_ns - waited_ns) // loop.stats.count
        part = f", {formatting.share(work_ns / loop.budget_ns)} of the budget" if loop.budget_ns else ""
        yield f"{formatting.time(work_ns)} of work a tick{part}"
    sleep = node.children.get(SLEEP) if node is not None else None
    slept_ns = sleep.steady.sum_ns if sleep is not None and sleep.wait else 0
    if slept_ns and busy_ns:
        yield f"asleep for {formatting.share(slept_ns / busy_ns)}"
    if waited_ns and busy_ns and waited_ns - slept_ns >= LEAST_WAIT_SHARE * busy_ns:
        yield f"{'other waits' if slept_ns else 'waits'} {formatting.share((waited_ns - slept_ns) / busy_ns)}"
    if loop.jitter is not None and loop.jitter.mean_ns is not None:
        yield f"jitter {formatting.time(loop.jitter.mean_ns)}"


def is_age(node: Node) -> bool:
    """Tell whether a node holds how old what ticks act on was, which is no part of them and may be longer."""
    return node.name == AGE or node.name.startswith(f"{AGE}: ")


def ages(node: Node) -> list[Node]:
    """Return the nodes of a loop's node that hold how old what its steady ticks act on was."""
    found = [child for child in node.children.values() if is_age(child) and child.steady.count]
    return sorted(found, key=lambda child: child.name)


def _age(name: str, ages: Stats) -> Iterator[str]:
    yield f"{visible(name)} {formatting.time(ages.p50_ns)} p50"
    yield from _tail(ages.p99_ns if ages.count >= LEAST_FOR_P99 else None, ages.max_ns)


def _tail(p99_ns: int | None, max_ns: int | None) -> Iterator[str]:
    if p99_ns is not None:
        yield f"{formatting.time(p99_ns)} p99"
    yield f"{formatting.time(max_ns)} at most"
