"""torch.compile: each compilation is a section, below the section that is open then.

torch's own list of callbacks does not serve: `torch._dynamo.reset()` empties it, and if two threads compile at once,
it reports only the first begin and the last end. This wraps their caller, which runs once around each compilation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument
from ticktree.instruments.torch.sections import COMPILER_IS_USED_BY, TESTED
from ticktree.recorder import Recorder, Section

# Rules know this name (analysis/rules/torch.py).
NAME = "torch compile"


class _CompilerThread(threading.local):
    is_compiling = False


def _wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """Wrap the compiler, which programs that do not compile never import."""
    thread = _CompilerThread()

    def make(install_callbacks: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return _in_section(recorder.section(NAME), install_callbacks(*args, **kwargs), thread)

        return wrapper

    patches.wrap(module, "CompilationCallbackHandler.install_callbacks", make)


@contextmanager
def _in_section(
    section: Section, context: AbstractContextManager[Any], thread: _CompilerThread
) -> Iterator[Any]:
    """Put torch's own context into the section, unless it is part of another compilation."""
    is_inner, thread.is_compiling = thread.is_compiling, True
    try:
        with nullcontext() if is_inner else section, context as value:
            yield value
    finally:
        thread.is_compiling = is_inner


INSTRUMENT = Instrument(
    "torch",
    tested=TESTED,
    hooks={"torch._dynamo.callback": _wrap},
    private=True,
    used_by=COMPILER_IS_USED_BY,
)
