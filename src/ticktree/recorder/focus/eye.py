"""What the native side asks once per code object and once per call site: is it a root, what is its name.

Which code object a name means is resolved when the code first runs, so that nothing is imported and no
property read.
"""

from __future__ import annotations

import inspect
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any

from ticktree.recorder._native import Recorder, focus_begin, focus_end, focus_root
from ticktree.recorder.focus.naming import (
    Expressions,
    Function,
    definition,
    holder_of,
    is_part,
    name_of_c_call,
    name_of_call,
    name_of_root,
)
from ticktree.recorder.site import NO_SITE, Site

_MAIN = "__main__"
_LOCALS = ".<locals>"
_WRAPPERS_AT_MOST = 32


@dataclass
class Root:
    """A function that is to be in focus."""

    name: str  # as it was given
    shown: str  # without the module, as the tree shows it; the name until it is found
    code: CodeType | None = None  # once it has been called


def found_root(roots: Sequence[Root], code: CodeType, frame: FrameType | None) -> int | None:
    """Which of the roots a code object is that runs for the first time; None for none."""
    if frame is None or frame.f_code is not code or not code.co_flags & inspect.CO_OPTIMIZED:
        return None  # the bodies of classes and modules run, too
    module = frame.f_globals.get("__name__")
    for at, root in enumerate(roots):
        if root.code is not None:
            continue
        shown = _shown(root.name, code, module, frame.f_globals)
        if shown is not None:
            root.shown = shown
            return at
    return None


def place_of(name: str, code: CodeType) -> tuple[Any, str] | None:
    """The class or module that has what a name means, which leads to `code`, and what it is called there."""
    last = name.rpartition(".")[2]
    for owner, path in _owners(name):
        holder = _attribute(owner, path[:-1]) if path[:-1] else owner
        if not isinstance(holder, (type, ModuleType)):
            continue
        if any(found is code for found in _codes_of(vars(holder).get(path[-1]), last)):
            return holder, path[-1]
    return None


def _shown(name: str, code: CodeType, module: Any, names: dict[str, Any]) -> str | None:
    """What to show a name as, where it means `code`, which belongs to `module`; None where it does not."""
    last = name.rpartition(".")[2]
    if code.co_name == last:
        qualified = code.co_qualname
        for known in _modules(module, names):
            rest = name.removeprefix(f"{known}.") if known else name
            if (known == "" or rest != name) and rest in (qualified, qualified.replace(_LOCALS, "")):
                return rest
    if code.co_name not in (last, "<lambda>") and module not in _prefixes(name) and module != _MAIN:
        return None
    for owner, path in _owners(name):
        if any(found is code for found in _codes_of(_attribute(owner, path), last)):
            return ".".join(path)
    return None


def _modules(module: Any, names: dict[str, Any]) -> Iterator[str]:
    """What the module of a function may be called in front of its name."""
    if not isinstance(module, str):
        return
    yield module
    if module == _MAIN:
        yield ""
        spec = names.get("__spec__")
        if spec is not None:
            yield str(spec.name).removesuffix(f".{_MAIN}")
            yield str(spec.name)
        file = str(names.get("__file__") or "")
        yield file.replace("\\", "/").rpartition("/")[2].removesuffix(".py")


def _prefixes(name: str) -> list[str]:
    words = name.split(".")
    return [".".join(words[:count]) for count in range(len(words) - 1, 0, -1)]


def _owners(name: str) -> Iterator[tuple[Any, list[str]]]:
    """Modules that the name may be in, and what is left of it there."""
    words = name.split(".")
    for prefix in _prefixes(name):
        module = sys.modules.get(prefix)
        if module is not None:
            yield module, words[prefix.count(".") + 1 :]
            break
    main = sys.modules.get(_MAIN)
    if main is not None:
        yield main, words


def _attribute(owner: Any, path: Sequence[str]) -> Any:
    """What a dotted name leads to, without running any of the program's code; None for nothing."""
    at = owner
    for place, word in enumerate(path):
        if word == "<locals>":
            continue
        if isinstance(at, (FunctionType, staticmethod, classmethod, property)):
            return _nested(at, path[place:])
        if isinstance(at, type):
            at = next(
                (vars(base)[word] for base in type.__dict__["__mro__"].__get__(at) if word in vars(base)),
                None,
            )
        elif isinstance(at, ModuleType):
            at = vars(at).get(word)
        else:
            return None
    return at


def _nested(function: Any, path: Sequence[str]) -> CodeType | None:
    """The code of a function inside another."""
    for code in _codes_of(function, ""):
        inner: CodeType | None = code
        for word in path:
            if word != "<locals>" and inner is not None:
                inner = next(
                    (at for at in inner.co_consts if isinstance(at, CodeType) and at.co_name == word), None
                )
        if inner is not None:
            return inner
    return None


def _codes_of(value: Any, last: str) -> Iterator[CodeType]:
    """The code of a function under whatever is wrapped around it: that which bears its name first."""
    found: list[CodeType] = []
    waiting, count = [value], 0
    while waiting and count < _WRAPPERS_AT_MOST:
        at = waiting.pop(0)
        count += 1
        if isinstance(at, CodeType):
            found.append(at)
        elif isinstance(at, FunctionType):
            found.append(at.__code__)
            waiting += [at.__dict__.get("__wrapped__"), *functions_held_by(at)]
        elif isinstance(at, (staticmethod, classmethod)):
            waiting.append(at.__func__)
        elif isinstance(at, property):
            waiting += [at.fget]
        elif at is not None and not isinstance(
            at, (type, ModuleType, str, bytes, int, float, list, dict, tuple)
        ):
            waiting += [_plain(at, "__wrapped__"), _plain(at, "func"), _plain(at, "__func__")]
    named = [code for code in found if code.co_name == last]
    yield from named or found[:1]


def functions_held_by(function: FunctionType) -> list[FunctionType]:
    """What a wrapper without `__wrapped__` may hold: functions in its closure."""
    held = []
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # not yet bound
            continue
        if isinstance(value, FunctionType):
            held.append(value)
    return held


def _plain(value: Any, name: str) -> Any:
    """An attribute as it lies in the object or its C type; none of the program's descriptors is called."""
    try:
        lying = object.__getattribute__(value, "__dict__")
        if name in lying:
            return lying[name]
    except (AttributeError, TypeError):
        pass
    if type(value).__module__ in ("functools", "builtins", "ticktree.recorder._native"):
        return getattr(value, name, None)
    return None


# As the profile has it: for a function that was not watched, "was never called" would be a false statement.
_UNSEEN = "machine/focus/unseen"

_OWN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep  # noqa: PTH120, PTH100

# What the native side takes from `which`.
_NO_ROOT, _TICKTREES_OWN, _PART = -1, -2, -3


class Eye(ABC):
    """What is in focus, as `begin_focus` takes it. The native side holds it, and asks it what it meets first."""

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
        self.roots = [Root(name, name) for name in names]
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
        """Records that functions in focus may have been called where they were not watched."""
        self.recorder.gauge(_UNSEEN, 1)

    # -- called by the native side
    # --------------------------------------------------------------------------------

    def which(self, code: CodeType) -> int:
        """Which root a code object is that runs for the first time; less than 0 if it is not a root."""
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
        """Watch the calls of a code object."""

    @abstractmethod
    def sleep(self, code: CodeType) -> None:
        """A code object is not called under focus, and no longer looked at."""


def _known_by(callee: Any) -> Any:
    """What the native side knows a callee by: a method in C is its class's, and the object stays the program's."""
    if isinstance(callee, BuiltinFunctionType):
        of_classes = (vars(each).get(callee.__name__) for each in type(callee.__self__).__mro__)
        return next((each for each in of_classes if isinstance(each, MethodDescriptorType)), callee)
    return callee if isinstance(callee, (CodeType, MethodDescriptorType, type)) else type(callee)
