"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# In CI the same examples each time: a change that fails there must be the cause. At a desk, new ones each time.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
