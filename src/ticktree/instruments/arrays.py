"""Functions that make, move or compute whole arrays, on demand: numpy's, and OpenCV's on images.

Methods of numpy's arrays, operators and universal functions (`np.add`, `np.matmul`) belong to C types, whose calls
cannot be wrapped. Nor can OpenCV's classes, such as VideoCapture: objects of a class that inherits from one of them
are not freed as they were allocated, which corrupts the program's memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Hook, Instrument
from ticktree.recorder import Recorder, Section
from ticktree.recorder.site import NO_SITE

# They write their result, one or several arrays or images, once: its bytes are the work.
WRITES = (
    *("array", "ascontiguousarray", "asarray", "concatenate", "copy", "full", "hstack", "pad", "repeat"),
    *("stack", "take", "tile", "vstack"),
)
IMAGES = (
    *("GaussianBlur", "bilateralFilter", "blur", "cvtColor", "flip", "imdecode", "imread", "medianBlur"),
    *("remap", "resize", "rotate", "undistort", "warpAffine", "warpPerspective"),
)
# Their result's size does not tell how much they compute.
COMPUTES = (
    *("argsort", "dot", "einsum", "interp", "load", "mean", "median", "percentile", "save", "sort", "std"),
    "tensordot",
)
OF_LINALG = ("eigh", "inv", "lstsq", "norm", "pinv", "qr", "solve", "svd")
OF_IMAGES = (
    *("Canny", "calcOpticalFlowFarneback", "findContours", "imencode", "imshow", "imwrite"),
    *("matchTemplate", "waitKey"),
)


def _functions(writing: Iterable[str], computing: Iterable[str], linalg: Iterable[str] = ()) -> Hook:
    """Make functions of a module, and of its `linalg`, sections: `module.name`."""

    def wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
        def make_section(owner: ModuleType, name: str) -> Section:
            return recorder.timed_section(f"{owner.__name__}.{name}", NO_SITE)

        for name in writing:
            section = make_section(module, name)
            patches.section(module, name, section, around=partial(_count_bytes, section))
        for name in computing:
            patches.section(module, name, make_section(module, name))
        for name in linalg:
            patches.section(module.linalg, name, make_section(module.linalg, name))

    return wrap


def _count_bytes(section: Section, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    with section:
        result = function(*args, **kwargs)
        bytes_written = getattr(result, "nbytes", None)
        if type(bytes_written) is int and not (
            args and result is args[0]
        ):  # asarray of an array does nothing
            section.work(bytes=bytes_written)
        return result


NUMPY = Instrument("numpy", hooks={"numpy": _functions(WRITES, COMPUTES, OF_LINALG)})
OPENCV = Instrument("opencv-python", hooks={"cv2": _functions(IMAGES, OF_IMAGES)})
