"""OpenCV: functions on images, on demand.

Not its classes, VideoCapture among them: their methods cannot be replaced, and objects of a class that inherits from
one of them are not freed as they were made, which corrupts the program's memory.
"""

from __future__ import annotations

from types import ModuleType

from ticktree.instruments.numpy import wrap_functions
from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument
from ticktree.recorder import Recorder

# They give an image, or several: its bytes are the work.
IMAGES = (
    *("GaussianBlur", "bilateralFilter", "blur", "cvtColor", "flip", "imdecode", "imread", "medianBlur"),
    *("remap", "resize", "rotate", "undistort", "warpAffine", "warpPerspective"),
)
# The size of their result does not tell how much they compute.
OTHERS = (
    *("Canny", "calcOpticalFlowFarneback", "findContours", "imencode", "imshow", "imwrite"),
    *("matchTemplate", "waitKey"),
)


def _wrap(patches: Patches, cv2: ModuleType, recorder: Recorder) -> None:
    wrap_functions(patches, recorder, cv2, IMAGES, working=True)
    wrap_functions(patches, recorder, cv2, OTHERS)


INSTRUMENT = Instrument("opencv-python", hooks={"cv2": _wrap})
