"""Make ticktree's sections transparent to torch.compile, whether recording is on or not.

A program keeps its sections when it is not recorded, and they must not break its graphs.
"""

from __future__ import annotations

from types import ModuleType

from ticktree.recorder.imports import when_imported


def hide_from_compiler() -> None:
    """Register sections with the compiler when it is imported; programs that do not compile never import it."""
    when_imported("torch._dynamo", _see_through)


def _see_through(_: ModuleType) -> None:
    from ticktree.instruments.torch.sections import leave_no_trace

    leave_no_trace()
