"""numpy: functions that make or move whole arrays, on demand.

Methods of arrays, operators and universal functions (`np.add`, `np.matmul`) are types of C, whose calls cannot be
wrapped.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.functions import wrap_functions
from ticktree.instrument.patches import Patches

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

# They write their result once: its bytes are the work.
WRITES = (
    "array",
    "ascontiguousarray",
    "asarray",
    "concatenate",
    "copy",
    "full",
    "hstack",
    "pad",
    "repeat",
    "stack",
    "take",
    "tile",
    "vstack",
)
# What they do is not told from the size of what they give.
COMPUTES = (
    "argsort",
    "dot",
    "einsum",
    "interp",
    "load",
    "mean",
    "median",
    "percentile",
    "save",
    "sort",
    "std",
    "tensordot",
)
OF_LINALG = ("eigh", "inv", "lstsq", "norm", "pinv", "qr", "solve", "svd")

_patches = Patches()


def install(recorder: Recorder) -> None:
    """Wraps the functions of `numpy` and `numpy.linalg` when they are imported."""
    _patches.watch("numpy", lambda module: _wrap(recorder, module))


def uninstall() -> None:
    """Puts everything back."""
    _patches.undo()


def _wrap(recorder: Recorder, numpy: ModuleType) -> None:
    wrap_functions(_patches, recorder, numpy, WRITES, _bytes_written)
    wrap_functions(_patches, recorder, numpy, COMPUTES)
    wrap_functions(_patches, recorder, numpy.linalg, OF_LINALG)


def _bytes_written(args: tuple[Any, ...], result: Any) -> dict[str, int]:
    return {} if args and result is args[0] else {"bytes": result.nbytes}  # asarray of an array does nothing
