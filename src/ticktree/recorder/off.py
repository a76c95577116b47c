"""Off for good: by a variable of the environment, read once, as ticktree is imported, or without the GIL."""

from __future__ import annotations

import os

from ticktree.recorder.gil import is_kept_off

OFF_VARIABLE = "TICKTREE_OFF"


def says_off(word: str) -> bool:
    """Tell whether a value of the variable turns ticktree off."""
    return word not in ("", "0")


OFF_FOR_GOOD = says_off(os.environ.get(OFF_VARIABLE, "")) or is_kept_off()
