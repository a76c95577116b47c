"""A connection of our own to the store of a job of torch.distributed."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from typing import Any

# For a store that answers no more: the program's own connection waits for half an hour.
_PATIENCE_S = 3.0


def address_of(store: Any) -> tuple[str, int]:
    """Where a job's store answers.

    Args:
        store: As torch.distributed has it, wrapped in others that put a prefix before its keys.

    Raises:
        AttributeError: It is none that others could connect to, as a file.
    """
    while not isinstance(store, _kind()):
        store = store.underlying_store
    return store.host, store.port


def connected(host: str, port: int) -> Any:
    """A connection, which gives up soon.

    Raises:
        Exception: Nobody answers.
    """
    patience = timedelta(seconds=_PATIENCE_S)
    return _kind()(host, port, is_master=False, timeout=patience, wait_for_workers=False)


def _kind() -> Any:
    return import_module("torch.distributed").TCPStore
