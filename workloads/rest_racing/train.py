#!/usr/bin/env python3
"""Teach the models that eval.py drives with."""

from __future__ import annotations

from ticktree.demo.requirements import need

if __name__ == "__main__":
    need(__file__)
    from rest_racing.race import train

    raise SystemExit(train())
