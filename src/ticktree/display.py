"""How a profile shows itself in a notebook. The model imports no output: `session` says what draws it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["html", "text"]

# What draws a profile, by what it returns.
DRAWN_BY: dict[Kind, Callable[[Any], str]] = {}
