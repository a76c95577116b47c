#!/usr/bin/env python3
"""Serve CarRacing over HTTP. eval.py starts it by itself."""

from __future__ import annotations

from ticktree.demo.requirements import need

if __name__ == "__main__":
    need(__file__)
    from rest_racing.server import main

    raise SystemExit(main())
