"""Importing this puts ticktree's timers in the place of the toolkit's, in all of its modules.

Whatever imports `mlagents_envs.timers` afterwards gets `ticktree.compat.mlagents`: the toolkit's trainer and its
environments too, without a change to them.
"""

from __future__ import annotations

import sys

from ticktree.compat import mlagents

_REPLACED = "mlagents_envs.timers"

if sys.modules.get(_REPLACED, mlagents) is not mlagents:
    # Who has its functions keeps them: half of the timers would be missing from each of two trees.
    raise ImportError(f"{__name__} comes too late: {_REPLACED} is imported already. Import this first.")
sys.modules[_REPLACED] = mlagents
