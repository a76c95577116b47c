"""Numbers of a profile by name, for the curves of experiment trackers: one point per log call.

The names are stable, so that a curve continues over years, and have only characters that all trackers allow.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from ticktree.profile import Profile, Stats

_MS = 1_000_000
_SECOND = 1_000_000_000
_NOT_ALLOWED = re.compile(r"[^\w./ -]|(?<![^/])\.{1,2}(?![^/])|/(?=/)|^/|/$")
_MAX_LENGTH = 200


def numbers(profile: Profile) -> dict[str, float]:
    """Return every number that was measured, by name, such as `section/train/update/mean_ms`.

    No name is the beginning of another's path, because some trackers make files and directories of them. Durations are
    of the steady phase; calls and totals of the whole run. Numbers that were not measured are absent.
    """
    return {
        **{f"section/{name}": value for name, value in _section_numbers(profile)},
        **{f"loop/{name}": value for name, value in _loop_numbers(profile)},
        **{f"gauge/{fit(name)}/last": gauge.last for name, gauge in sorted(profile.gauges.items())},
        **{f"not_recorded/{fit(kind)}": float(count) for kind, count in sorted(profile.losses.items())},
    }


def fit(name: str) -> str:
    """Return a name of letters, digits, `_`, `-`, `.`, spaces and slashes only; different names stay different.

    A name that had to be changed or cut ends in six hexadecimal digits of its hash.
    """
    clean = _NOT_ALLOWED.sub("_", name)
    if clean == name and 0 < len(name) <= _MAX_LENGTH:
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
    return f"{clean[:_MAX_LENGTH]}-{digest[:6]}"


def _section_numbers(profile: Profile) -> Iterator[tuple[str, float]]:
    sections = sorted((path, node) for path, _, node in profile.root.walk() if path)
    for path, node in sections:
        name = fit(path)
        yield f"{name}/calls", float(node.count)
        yield f"{name}/total_s", node.total_ns / _SECOND
        yield f"{name}/own_s", node.self_ns / _SECOND
        yield from _durations(name, node.steady)


def _loop_numbers(profile: Profile) -> Iterator[tuple[str, float]]:
    for path, loop in sorted(profile.loops.items()):
        name = fit(path)
        yield f"{name}/ticks", float(loop.ticks)
        if loop.achieved_hz is not None:
            yield f"{name}/hz", loop.achieved_hz
        if loop.hz:
            yield f"{name}/missed", float(loop.missed)
        yield from _durations(name, loop.stats)


def _durations(name: str, stats: Stats) -> Iterator[tuple[str, float]]:
    for kind in ("mean", "p50", "p99", "max"):
        ns = getattr(stats, f"{kind}_ns")
        if ns is not None:
            yield f"{name}/{kind}_ms", ns / _MS
