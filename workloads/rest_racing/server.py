#!/usr/bin/env python3
"""Serve CarRacing over HTTP. eval.py starts it by itself."""

from __future__ import annotations

from rest_racing.server import main

if __name__ == "__main__":
    raise SystemExit(main())
