"""The event loops that tests run on."""

from __future__ import annotations

import asyncio

import pytest

try:
    import uvloop
except ImportError:
    uvloop = None

make_loop = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop and uvloop.new_event_loop}

both = pytest.mark.parametrize(
    "kind", ["asyncio", pytest.param("uvloop", marks=pytest.mark.skipif(uvloop is None, reason="no uvloop"))]
)


def run(kind, main):
    """Runs a coroutine on a new loop of this kind, and closes the loop as `asyncio.run` does."""
    loop = make_loop[kind]()
    try:
        return loop.run_until_complete(main)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
