"""Drift within a run: whether a loop's speed changed, and if so, when and in which section."""
