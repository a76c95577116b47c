"""Libraries that few need: imported when a format first wants them, and named where they are missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ticktree.errors import TicktreeError


def wanted(module: str, by: str, extra: str) -> ModuleType:
    """Return the imported `module`.

    Args:
        module: what to import.
        by: which format wants it.
        extra: what brings it, as in `ticktree[extra]`.

    Raises:
        TicktreeError: it is not installed.
    """
    library = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != library:
            raise  # it is there, and itself lacks something
        raise TicktreeError(f"{by} needs {library}: python -m pip install 'ticktree[{extra}]'") from None
