"""numpy: functions that make or move whole arrays, on demand.

Methods of arrays, operators and universal functions (`np.add`, `np.matmul`) are types of C, whose calls cannot be
wrapped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument
from ticktree.recorder import Recorder, Redirection, Section
from ticktree.recorder.site import NO_SITE

# They write their result once: its bytes are the work.
WRITES = (
    *("array", "ascontiguousarray", "asarray", "concatenate", "copy", "full", "hstack", "pad", "repeat"),
    *("stack", "take", "tile", "vstack"),
)
# The size of their result does not tell how much they compute.
COMPUTES = (
    *("argsort", "dot", "einsum", "interp", "load", "mean", "median", "percentile", "save", "sort", "std"),
    "tensordot",
)
OF_LINALG = ("eigh", "inv", "lstsq", "norm", "pinv", "qr", "solve", "svd")


def _wrap(patches: Patches, numpy: ModuleType, recorder: Recorder) -> None:
    wrap_functions(patches, recorder, numpy, WRITES, working=True)
    wrap_functions(patches, recorder, numpy, COMPUTES)
    wrap_functions(patches, recorder, numpy.linalg, OF_LINALG)


def wrap_functions(
    patches: Patches, recorder: Recorder, module: ModuleType, names: Iterable[str], *, working: bool = False
) -> None:
    """Make functions of a module sections, `module.name`.

    Args:
        patches: Undoes it.
        recorder: What records.
        module: Whose functions.
        names: Their names there.
        working: Whether the bytes of an array that a call gives are its work.
    """
    for name in names:
        section = recorder.timed_section(f"{module.__name__}.{name}", NO_SITE)
        around = Redirection()
        around.way = partial(_measured, section) if working else None
        patches.section(module, name, section, redirection=around)


def _measured(section: Section, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    with section:
        result = function(*args, **kwargs)
        moved = getattr(result, "nbytes", None)
        if type(moved) is int and not (args and result is args[0]):  # asarray of an array does nothing
            section.work(bytes=moved)
        return result


INSTRUMENT = Instrument("numpy", hooks={"numpy": _wrap})
