"""Lends the tests other folders' profiles."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in ("profile", "outputs", "cli"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))
