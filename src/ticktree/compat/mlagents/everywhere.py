"""Importing this puts ticktree's timers in the place of the toolkit's, in all of its modules.

Whatever imports `mlagents_envs.timers` afterwards gets `ticktree.compat.mlagents`: the toolkit's trainer and its
environments too, without a change to them.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import sys
from types import ModuleType

from ticktree.compat import mlagents
from ticktree.compat.mlagents import nodes
from ticktree.recorder import imports

_PACKAGE, _REPLACED = "mlagents_envs", "mlagents_envs.timers"


def _adopt(package: ModuleType) -> None:
    """Do what the interpreter does where it imports a module of a package itself: `mlagents_envs.timers.timed`."""
    package.timers = mlagents  # type: ignore[attr-defined]


if sys.modules.get(_REPLACED, mlagents) is not mlagents:
    # Modules that imported its functions keep them: half of the timers would be missing from each of two
    # trees.
    raise ImportError(f"{__name__} comes too late: {_REPLACED} is imported already. Import this first.")
sys.modules[_REPLACED] = mlagents
imports.when_imported(_PACKAGE, _adopt)
with contextlib.suppress(importlib.metadata.PackageNotFoundError):  # a checkout that is not installed
    nodes.emulated = importlib.metadata.version(_PACKAGE)
