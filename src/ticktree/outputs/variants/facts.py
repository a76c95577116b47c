"""Facts that several runs do not share, which may be why one of them is faster."""

from __future__ import annotations

from collections.abc import Sequence

from ticktree.analysis.comparison import differences
from ticktree.outputs.variants.variant import Variant
from ticktree.profile.metadata import Value


def apart(runs: Sequence[Variant]) -> list[tuple[str, list[frozenset[Value]]]]:
    """Return each fact that any run has otherwise than the first, what alone may change the times first."""
    first, *others = (run.profile for run in runs)
    found = {fact.key: fact.is_ground for other in others for fact in differences([first], [other])}
    keys = sorted(found, key=lambda key: (not found[key], key))
    return [(key, [run.profile.metadata.get(key, frozenset()) for run in runs]) for key in keys]
