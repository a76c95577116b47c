"""Small groups of workers in one role, some of which behave differently, with invented numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from support.example_trainers import MS, S, node, thread
from ticktree.analysis.context import Context
from ticktree.analysis.workers.roles import Role, roles
from ticktree.profile import Node, Profile, Thread


def ids(count: int) -> list[str]:
    """The ids of so many workers, in their order."""
    return [f"{100 + number}-7/1" for number in range(count)]


def run_of_workers(
    *children: Node, count: int = 4, run_ns: int = 10 * S, others: Sequence[Thread] = (), **fields
) -> Profile:
    """A run of workers with the nodes `children`, and of others."""
    threads = [
        thread(thread_id, started_ns=start_ns, last_ns=run_ns, **fields)
        for start_ns, thread_id in enumerate(ids(count))
    ]
    root = Node(name="root", children={child.name: child for child in children})
    profile = Profile(root=root, threads={thread_id.id: thread_id for thread_id in [*threads, *others]})
    profile.check()
    return profile


def stepping(took_ms: Sequence[float], calls: int = 100, name: str = "step", **fields) -> Node:
    """A node in which each worker makes `calls` calls of so many milliseconds."""
    took = {worker: [round(ms * MS)] * calls for worker, ms in zip(ids(len(took_ms)), took_ms, strict=True)}
    return node(name, took, concurrent=True, **fields)


def calling(took_ms: Mapping[int, tuple[int, float]], name: str = "step", **fields) -> Node:
    """A node in which the workers of those numbers make so many calls of so many milliseconds."""
    workers = ids(max(took_ms) + 1)
    took = {workers[worker]: [round(ms * MS)] * calls for worker, (calls, ms) in took_ms.items()}
    return node(name, took, concurrent=True, **fields)


def first_role(profile: Profile) -> tuple[Role, Context]:
    """The first role, and what rules may look at."""
    return roles(profile, "thread")[0], Context(profile)
