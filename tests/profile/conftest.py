"""Takes the clock out of the tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Whole profiles take long to draw on a busy machine, and no test here is about speed.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
