"""A 30 Hz robot loop with and without real-time chunking: an ALOHA robot in MuJoCo, and a tiny SmolVLA.

Importing the package prepares what its modules import: nothing is downloaded, and torchvision loads with a CPU torch.
"""

import os
import sys

import torch

# Libraries read these when they are imported; the program downloads nothing.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
if sys.platform == "linux":
    # Renders without a screen; set osmesa where there is no EGL device.
    os.environ.setdefault("MUJOCO_GL", "egl")

# torchvision's import registers fake versions of two operators that its compiled library does not load with a CPU
# build: they are declared here. Nothing in this program suppresses boxes, and a call of one of the two still fails.
if torch.version.cuda is None:
    _torchvision = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    for _operator in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, _operator):
            _torchvision.define(  # type: ignore[no-untyped-call]
                f"{_operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            )
