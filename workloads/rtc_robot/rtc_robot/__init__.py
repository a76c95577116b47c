"""A 30 Hz robot loop with and without real-time chunking: an ALOHA robot in MuJoCo, and a tiny SmolVLA.

Importing the package readies what its modules import: nothing is fetched, and torchvision loads with a CPU torch.
"""

import os
import sys

from .torchvision_operators import declare_missing_operators

# Read when the libraries are imported: everything this program needs, it makes itself.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
if sys.platform == "linux":
    os.environ.setdefault("MUJOCO_GL", "egl")  # draws without a screen; osmesa, where there is no EGL device
declare_missing_operators()
