"""Lends the tests the profiles of the model's own tests and of the analysis's."""

from __future__ import annotations

import sys
from pathlib import Path

for room in ("profile", "analysis"):
    sys.path.insert(0, str(Path(__file__).parents[1] / room))
