"""Importing this module replaces the toolkit's timers by ticktree's, in all of its modules.

Every later import of `mlagents_envs.timers` returns `ticktree.compat.mlagents`, also in the toolkit's trainer and
environments, which need no change.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import sys
from types import ModuleType

from ticktree.compat import mlagents
from ticktree.compat.mlagents import nodes
from ticktree.recorder import imports

_PACKAGE, _MODULE = "mlagents_envs", "mlagents_envs.timers"


def _set_attribute(package: ModuleType) -> None:
    """Set the package's attribute, as the interpreter does on import, for `mlagents_envs.timers.timed`."""
    package.timers = mlagents  # type: ignore[attr-defined]


if sys.modules.get(_MODULE, mlagents) is not mlagents:
    # Modules that have imported its functions keep them, so each of two trees would contain only some timers.
    raise ImportError(f"{__name__} comes too late: {_MODULE} is imported already. Import this first.")
sys.modules[_MODULE] = mlagents
imports.when_imported(_PACKAGE, _set_attribute)
with contextlib.suppress(importlib.metadata.PackageNotFoundError):  # a checkout that is not installed
    nodes.emulated_version = importlib.metadata.version(_PACKAGE)
