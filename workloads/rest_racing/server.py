#!/usr/bin/env python3
"""Serve CarRacing over HTTP. eval.py starts it by itself."""

from __future__ import annotations

from ticktree.demo.requirements import exit_if_missing

if __name__ == "__main__":
    exit_if_missing(__file__)
    from rest_racing.server import main

    raise SystemExit(main())
