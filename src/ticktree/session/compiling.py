"""What of ticktree is in code that torch.compile compiles: the compiler looks through it, recorded or not.

A program keeps its sections when it is not recorded. They must not break its graphs then.
"""

from __future__ import annotations

from types import ModuleType

from ticktree.recorder.imports import when_imported


def hide_from_compiler() -> None:
    """As soon as the compiler is imported, which a program that compiles nothing never does."""
    when_imported("torch._dynamo", _see_through)


def _see_through(_: ModuleType) -> None:
    from ticktree.instruments.torch.sections import leave_no_trace

    leave_no_trace()
