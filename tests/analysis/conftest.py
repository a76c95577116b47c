"""Lends the tests the profiles that hypothesis draws for the model's own."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "profile"))
