"""A visual SAC: a soft actor-critic that learns CarRacing from four stacked grey frames."""

from __future__ import annotations

import os

# Set before anything imports pygame: a training machine has no screen, and pygame's greeting is not for us.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
