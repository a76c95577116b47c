"""What the native side asks once a code object and once a call site: is it a root, what is it called."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import BuiltinFunctionType, CodeType, FrameType, MethodDescriptorType
from typing import Any

from ticktree.recorder._native import Recorder, focus_begin, focus_end, focus_root
from ticktree.recorder.focus.naming import (
    Expressions,
    Function,
    definition,
    name_of_c_call,
    name_of_call,
    name_of_root,
)
from ticktree.recorder.focus.parts import holder_of, is_part
from ticktree.recorder.focus.roots import Root, found_root
from ticktree.recorder.site import NO_SITE, Site

# As the profile has it: where nothing was seen, "was never called" would be another statement.
_UNSEEN = "machine/focus/unseen"

_OWN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep  # noqa: PTH120, PTH100

# What the native side takes from `which`.
_NO_ROOT, _TICKTREES_OWN, _PART = -1, -2, -3


class Eye(ABC):
    """What is in focus. The native side holds it, and asks it what it meets for the first time.

    Args:
        recorder: What records.
        names: Of functions, as the program's author writes them.
        depth: Levels of calls below a root.
        c_functions: Whether C functions are recorded.
        warmup: First calls of each function that are set aside; None: as many as are unlike the rest.
    """

    def __init__(
        self,
        recorder: Recorder,
        names: Sequence[str],
        depth: int,
        c_functions: bool,
        warmup: int | None = None,
    ) -> None:
        self.recorder = recorder
        self.depth = depth
        self.c_functions = c_functions
        self.warmup = warmup
        self.roots = [Root(name) for name in names]
        self._held: list[Any] = []  # what the native side knows by its address
        self._functions: dict[CodeType, Function] = {}
        self._callers: dict[int, Expressions] = {}  # by the address of their code, which is held

    @abstractmethod
    def begin(self) -> None:
        """Begins to look.

        Raises:
            TicktreeError: It cannot be; nothing has changed.
        """

    @abstractmethod
    def end(self) -> None:
        """Puts all back as it was."""
        focus_end()

    def watch(self, keeps_looking: bool) -> None:
        """Makes the native side ask this eye."""
        focus_begin(
            self.recorder, self, self.depth, len(self.roots), self.c_functions, keeps_looking, self.warmup
        )

    def note_unseen(self) -> None:
        """Notes in what is recorded that functions in focus may have been called where nobody looked."""
        self.recorder.gauge(_UNSEEN, 1)

    # -- asked by the native side ---------------------------------------------------------------------------------

    def which(self, code: CodeType) -> int:
        """Which root a code object is that runs for the first time; less than 0 for what is none."""
        if code.co_filename.startswith(_OWN):
            return _TICKTREES_OWN
        if is_part(code):
            return _PART
        at = found_root(self.roots, code, sys._getframe(1))
        if at is None:
            return _NO_ROOT
        root = self.roots[at]
        root.code = code
        site = definition(code)
        self._held.append((code, site))
        focus_root(self.recorder, at, name_of_root(root.shown, code), site)
        return at

    def name(self, caller: CodeType | None, offset: int, callee: Any) -> tuple[str, Site]:
        """The name of a call site, and where it is."""
        self._held.append((caller, _known_by(callee)))
        expression, site = "", NO_SITE
        if caller is not None:
            expressions = self._callers.get(id(caller))
            if expressions is None:
                expressions = self._callers[id(caller)] = self._expressions(caller, sys._getframe(1))
            expression, line = expressions.at(offset, callee)
            site = (caller.co_filename, line, expressions.function.code.co_qualname)
        self._held.append(site)
        if isinstance(callee, CodeType):
            return name_of_call(expression, callee), site
        return name_of_c_call(expression, callee, site[1]), site

    def _expressions(self, caller: CodeType, frame: FrameType) -> Expressions:
        holder = holder_of(caller, frame) if is_part(caller) else caller
        function = self._functions.get(holder)
        if function is None:
            function = self._functions[holder] = Function(holder)
        return Expressions(caller, function)

    @abstractmethod
    def meet(self, code: CodeType) -> None:
        """A code object is called under focus: it is to tell of its calls."""

    @abstractmethod
    def want(self, code: CodeType) -> None:
        """What a code object calls is to be seen."""

    @abstractmethod
    def sleep(self, code: CodeType) -> None:
        """A code object is not called under focus, and no longer looked at."""


def _known_by(callee: Any) -> Any:
    """What the native side knows a callee by: a method in C is its class's, and the object stays the program's."""
    if isinstance(callee, BuiltinFunctionType):
        of_classes = (vars(each).get(callee.__name__) for each in type(callee.__self__).__mro__)
        return next((each for each in of_classes if isinstance(each, MethodDescriptorType)), callee)
    return callee if isinstance(callee, (CodeType, MethodDescriptorType, type)) else type(callee)
