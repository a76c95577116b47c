#!/usr/bin/env python3
"""Teach the models that eval.py drives with."""

from __future__ import annotations

from ticktree.demo.requirements import exit_if_missing

if __name__ == "__main__":
    exit_if_missing(__file__)
    from rest_racing.race import train

    raise SystemExit(train())
