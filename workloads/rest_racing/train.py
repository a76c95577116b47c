#!/usr/bin/env python3
"""Teach the models that eval.py drives with."""

from __future__ import annotations

from rest_racing.program import train

if __name__ == "__main__":
    raise SystemExit(train())
