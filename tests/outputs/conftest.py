"""Takes the clock out of the tests, and lends them the profiles of the model's own tests and of the analysis's."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# Whole profiles take long to draw on a busy machine, and no test here is about speed.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

for room in ("profile", "analysis"):
    sys.path.insert(0, str(Path(__file__).parents[1] / room))
