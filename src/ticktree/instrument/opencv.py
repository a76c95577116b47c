"""OpenCV: functions on images, on demand.

Not its classes, VideoCapture among them: their methods cannot be replaced, and objects of a class that inherits from
one of them are not freed as they were made, which corrupts the program's memory.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.instrument.functions import wrap_functions
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
_patches = Patches()


def install(recorder: Recorder) -> None:
    """Wraps the functions of `cv2` when it is imported."""
    _patches.watch("cv2", lambda module: _wrap(recorder, module))


def uninstall() -> None:
    """Puts everything back."""
    _patches.undo()


def _wrap(recorder: Recorder, cv2: ModuleType) -> None:
    wrap_functions(_patches, recorder, cv2, IMAGES, _bytes_of_image)
    wrap_functions(_patches, recorder, cv2, OTHERS)


def _bytes_of_image(_args: tuple[Any, ...], result: Any) -> dict[str, int]:
    return {"bytes": result.nbytes}
