"""A visual SAC: CarRacing seen through four stacked grey frames, learned on by a soft actor-critic."""

from __future__ import annotations

import os

# Set before anything imports pygame: a training machine has no screen, and pygame's greeting is not for us.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
