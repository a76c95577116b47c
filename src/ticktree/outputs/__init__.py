"""Views of a profile: each renders one to bytes, keeps nothing, and draws what it is given."""

from __future__ import annotations

from ticktree.outputs.options import ViewOptions
from ticktree.outputs.registry import EXPORTS, OUTPUTS, Output, print_summary

__all__ = ["EXPORTS", "OUTPUTS", "Output", "ViewOptions", "print_summary"]
