"""Takes the clock out of the tests, and lends them other folders' profiles."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# Whole profiles take long to draw on a busy machine, and no test here is about speed.
settings.register_profile(
    "unhurried", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

for folder in ("profile", "outputs", "cli"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))
