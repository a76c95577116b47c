"""OpenCV: functions on images, and reading from cameras and films, on demand."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.functions import wrap_function
from ticktree.instrument.patches import Patches

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

# They give an image, or several: its bytes are the work.
IMAGES = (
    "GaussianBlur",
    "bilateralFilter",
    "blur",
    "cvtColor",
    "flip",
    "imdecode",
    "imread",
    "medianBlur",
    "remap",
    "resize",
    "rotate",
    "undistort",
    "warpAffine",
    "warpPerspective",
)
# What they do is not told from the size of what they give.
OTHERS = (
    "Canny",
    "calcOpticalFlowFarneback",
    "findContours",
    "imencode",
    "imshow",
    "imwrite",
    "matchTemplate",
    "waitKey",
)
# Methods of VideoCapture, each giving whether there was a frame, and the frame.
READS = ("read", "retrieve")

_patches = Patches()


def install(recorder: Recorder) -> None:
    """Wraps the functions of `cv2`, and VideoCapture, when it is imported."""
    _patches.watch("cv2", lambda module: _wrap(recorder, module))


def uninstall() -> None:
    """Puts everything back; captures that were opened meanwhile keep a wrapper that does nothing."""
    _patches.undo()


def _wrap(recorder: Recorder, cv2: ModuleType) -> None:
    for name in IMAGES:
        wrap_function(_patches, recorder, cv2, name, f"cv2.{name}", _bytes_of_image)
    for name in OTHERS:
        wrap_function(_patches, recorder, cv2, name, f"cv2.{name}")
    if hasattr(cv2, "VideoCapture"):
        _patches.replace(cv2, "VideoCapture", _capture(recorder, cv2.VideoCapture))


def _capture(recorder: Recorder, base: Any) -> type:
    """A class of its own, because methods of a class of C cannot be replaced."""
    body = {name: _reading(recorder, getattr(base, name), name) for name in READS if hasattr(base, name)}
    return type(base.__name__, (base,), {"__module__": base.__module__, "__doc__": base.__doc__, **body})


def _reading(recorder: Recorder, method: Any, name: str) -> Any:
    section = recorder.timed_section(f"VideoCapture.{name}", ("", 0, ""))

    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        if section_is_off():
            return method(self, *args, **kwargs)
        with section:
            result = method(self, *args, **kwargs)
            if isinstance(result, tuple) and len(result) == 2 and hasattr(result[1], "nbytes"):
                section.work(bytes=result[1].nbytes)
            return result

    def section_is_off() -> bool:
        return not recorder.recording

    read.__name__, read.__qualname__, read.__doc__ = name, f"VideoCapture.{name}", method.__doc__
    return read


def _bytes_of_image(_args: tuple[Any, ...], result: Any) -> dict[str, int]:
    return {"bytes": result.nbytes}
