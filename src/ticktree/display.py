"""Renderers of a profile in a notebook. The model does not import outputs: `session` registers them here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["html", "text"]

# Renderers of a profile, by the format that they return.
RENDERERS: dict[Kind, Callable[[Any], str]] = {}
