"""torch.compile: a section while it compiles, under whatever is open then.

Not by torch's own list of callbacks: `torch._dynamo.reset()` empties it, and where two threads compile at once it
tells of the first one's beginning and the last one's end. Wrapped is what calls them, once around each compilation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument
from ticktree.instruments.torch.sections import COMPILER_IS_USED_BY, TESTED
from ticktree.recorder import Recorder, Section

# Rules know it by this name (analysis/rules/torch.py).
NAME = "torch compile"


def _wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """A program that compiles nothing never imports the compiler."""
    compiling = threading.local()  # one compilation may need others: they are part of it

    def make(install_callbacks: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return _Compiling(install_callbacks(*args, **kwargs), recorder.section(NAME), compiling)

        return wrapper

    patches.wrap(module, "CompilationCallbackHandler.install_callbacks", make)


class _Compiling:
    """torch's own context, in a section."""

    def __init__(self, own: Any, section: Section, compiling: threading.local) -> None:
        self._own = own
        self._section = section
        self._compiling = compiling
        self._is_outermost = False

    def __enter__(self) -> Any:
        self._is_outermost = not getattr(self._compiling, "now", False)
        if self._is_outermost:
            self._compiling.now = True
            self._section.__enter__()
        try:
            return self._own.__enter__()
        except BaseException:
            self._leave()
            raise

    def __exit__(self, *error: object) -> Any:
        try:
            return self._own.__exit__(*error)
        finally:
            self._leave()

    def _leave(self) -> None:
        if self._is_outermost:
            self._is_outermost = False
            self._compiling.now = False
            self._section.__exit__(None, None, None)


INSTRUMENT = Instrument(
    "torch",
    tested=TESTED,
    hooks={"torch._dynamo.callback": _wrap},
    private=True,
    used_by=COMPILER_IS_USED_BY,
)
