"""Answers to the native side, once per code object and per call site: is it a root, and its name.

A name is resolved to a code object when the code first runs, so that nothing is imported and no property read.
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
    CallExpressions,
    FunctionSource,
    c_call_name,
    call_name,
    enclosing_code,
    is_comprehension,
    root_name,
)
from ticktree.recorder.site import NO_SITE, Site

_MAIN = "__main__"
_LOCALS = ".<locals>"
_MAX_WRAPPERS = 32


@dataclass
class Root:
    """A function that is to be in focus."""

    name: str  # as the user wrote it
    label: str  # without the module, as the tree shows it; the name until the function is found
    code: CodeType | None = None  # once it has been called


def find_root(roots: Sequence[Root], code: CodeType, frame: FrameType | None) -> int | None:
    """Return the index of the root that a code object is when it first runs; None if it is not a root."""
    if frame is None or frame.f_code is not code or not code.co_flags & inspect.CO_OPTIMIZED:
        return None  # the body of a class or module
    module = frame.f_globals.get("__name__")
    for i, root in enumerate(roots):
        if root.code is None and (label := _label(root.name, code, module, frame.f_globals)) is not None:
            root.label = label
            return i
    return None


def find_owner(name: str, code: CodeType) -> tuple[Any, str] | None:
    """Return the class or module with the attribute that a name means, if it leads to `code`, and the attribute."""
    last = name.rpartition(".")[2]
    for module, path in _modules_and_paths(name):
        owner = _attribute(module, path[:-1]) if path[:-1] else module
        if not isinstance(owner, (type, ModuleType)):
            continue
        if any(candidate is code for candidate in _codes_in(vars(owner).get(path[-1]), last)):
            return owner, path[-1]
    return None


def _label(name: str, code: CodeType, module: Any, variables: dict[str, Any]) -> str | None:
    """Return the label of a name, if it means `code`, which belongs to `module`; else None."""
    last = name.rpartition(".")[2]
    if code.co_name == last:
        qualified = code.co_qualname
        for alias in _module_aliases(module, variables):
            rest = name.removeprefix(f"{alias}.") if alias else name
            if (alias == "" or rest != name) and rest in (qualified, qualified.replace(_LOCALS, "")):
                return rest
    if code.co_name not in (last, "<lambda>") and module not in _prefixes(name) and module != _MAIN:
        return None
    for owner, path in _modules_and_paths(name):
        if any(candidate is code for candidate in _codes_in(_attribute(owner, path), last)):
            return ".".join(path)
    return None


def _module_aliases(module: Any, variables: dict[str, Any]) -> Iterator[str]:
    """Yield the prefixes by which a user may name the module of a function."""
    if not isinstance(module, str):
        return
    yield module
    if module == _MAIN:
        yield ""
        spec = variables.get("__spec__")
        if spec is not None:
            yield str(spec.name).removesuffix(f".{_MAIN}")
            yield str(spec.name)
        file = str(variables.get("__file__") or "")
        yield file.replace("\\", "/").rpartition("/")[2].removesuffix(".py")


def _prefixes(name: str) -> list[str]:
    words = name.split(".")
    return [".".join(words[:count]) for count in range(len(words) - 1, 0, -1)]


def _modules_and_paths(name: str) -> Iterator[tuple[Any, list[str]]]:
    """Yield the modules that a name may be in, and the rest of the name there."""
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
    """Return the value of a dotted name, without running any of the program's code; None if there is none."""
    value = owner
    for i, word in enumerate(path):
        if word == "<locals>":
            continue
        if isinstance(value, (FunctionType, staticmethod, classmethod, property)):
            return _nested_code(value, path[i:])
        if isinstance(value, type):
            bases = type.__dict__["__mro__"].__get__(value)
            value = next((vars(base)[word] for base in bases if word in vars(base)), None)
        elif isinstance(value, ModuleType):
            value = vars(value).get(word)
        else:
            return None
    return value


def _nested_code(function: Any, path: Sequence[str]) -> CodeType | None:
    """Return the code of a function inside another."""
    for code in _codes_in(function, ""):
        inner: CodeType | None = code
        for word in path:
            if word != "<locals>" and inner is not None:
                constants = [value for value in inner.co_consts if isinstance(value, CodeType)]
                inner = next((constant for constant in constants if constant.co_name == word), None)
        if inner is not None:
            return inner
    return None


def _codes_in(value: Any, last: str) -> Iterator[CodeType]:
    """Yield the code of a function inside its wrappers: the codes named `last`, or else the outermost one."""
    codes: list[CodeType] = []
    queue, count = [value], 0
    while queue and count < _MAX_WRAPPERS:
        layer = queue.pop(0)
        count += 1
        if isinstance(layer, CodeType):
            codes.append(layer)
        elif isinstance(layer, FunctionType):
            codes.append(layer.__code__)
            queue += [layer.__dict__.get("__wrapped__"), *functions_in_closure(layer)]
        elif isinstance(layer, (staticmethod, classmethod)):
            queue.append(layer.__func__)
        elif isinstance(layer, property):
            queue.append(layer.fget)
        elif layer is not None and not isinstance(
            layer, (type, ModuleType, str, bytes, int, float, list, dict, tuple)
        ):
            queue += [_stored_attribute(layer, name) for name in ("__wrapped__", "func", "__func__")]
    yield from [code for code in codes if code.co_name == last] or codes[:1]


def functions_in_closure(function: FunctionType) -> list[FunctionType]:
    """Return the functions in a closure: a wrapper without `__wrapped__` may call one of them."""
    functions = []
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # not yet bound
            continue
        if isinstance(value, FunctionType):
            functions.append(value)
    return functions


def _stored_attribute(value: Any, name: str) -> Any:
    """Return an attribute stored in the object or its C type; no descriptor of the program is called."""
    try:
        attributes = object.__getattribute__(value, "__dict__")
        if name in attributes:
            return attributes[name]
    except (AttributeError, TypeError):
        pass
    if type(value).__module__ in ("functools", "builtins", "ticktree.recorder._native"):
        return getattr(value, name, None)
    return None


# The profile's name of it: for a function that was not watched, "was never called" would be a false statement.
_UNSEEN = "machine/focus/unseen"

_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep  # noqa: PTH120, PTH100

# The native side's meaning of negative results of `identify`.
_NO_ROOT, _OWN_CODE, _COMPREHENSION = -1, -2, -3


class CallObserver(ABC):
    """Receives the native side's questions and reports about calls; for the arguments see `begin_focus`."""

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
        self._references: list[Any] = []  # keep alive what the native side knows by its address
        self._functions: dict[CodeType, FunctionSource] = {}
        self._callers: dict[int, CallExpressions] = {}  # by the address of their code, which is kept alive

    @abstractmethod
    def begin(self) -> None:
        """Begin to observe.

        Raises:
            TicktreeError: It is not possible; nothing has changed.
        """

    @abstractmethod
    def end(self) -> None:
        """Restore the state before `begin`."""
        focus_end()

    def attach(self, watches_all: bool) -> None:
        """Make the native side call this observer."""
        focus_begin(
            self.recorder, self, self.depth, len(self.roots), self.c_functions, watches_all, self.warmup
        )

    def record_unseen(self) -> None:
        """Record that functions in focus may have been called while they were not watched."""
        self.recorder.gauge(_UNSEEN, 1)

    # -- called by the native side
    # --------------------------------------------------------------------------------

    def identify(self, code: CodeType) -> int:
        """Return the index of the root that a code object is when it first runs; negative if it is not a root."""
        if code.co_filename.startswith(_OWN_FOLDER):
            return _OWN_CODE
        if is_comprehension(code):
            return _COMPREHENSION
        index = find_root(self.roots, code, sys._getframe(1))
        if index is None:
            return _NO_ROOT
        root = self.roots[index]
        root.code = code
        site = (code.co_filename, code.co_firstlineno, code.co_qualname)
        self._references.append((code, site))
        focus_root(self.recorder, index, root_name(root.label, code), site)
        return index

    def name_call_site(self, caller: CodeType | None, offset: int, callee: Any) -> tuple[str, Site]:
        """Return the name of a call site, and its position in the source."""
        self._references.append((caller, _callee_key(callee)))
        expression, site = "", NO_SITE
        if caller is not None:
            expressions = self._callers.get(id(caller))
            if expressions is None:
                expressions = self._callers[id(caller)] = self._expressions(caller, sys._getframe(1))
            expression, line = expressions.at(offset, callee)
            site = (caller.co_filename, line, expressions.function.code.co_qualname)
        self._references.append(site)
        if isinstance(callee, CodeType):
            return call_name(expression, callee), site
        return c_call_name(expression, callee, site[1]), site

    def _expressions(self, caller: CodeType, frame: FrameType) -> CallExpressions:
        code = enclosing_code(caller, frame) if is_comprehension(caller) else caller
        function = self._functions.get(code)
        if function is None:
            function = self._functions[code] = FunctionSource(code)
        return CallExpressions(caller, function)

    @abstractmethod
    def watch_calls(self, code: CodeType) -> None:
        """Report the calls of a code object that is called under focus."""

    @abstractmethod
    def watch_callees(self, code: CodeType) -> None:
        """Report the calls of functions that a code object names."""

    @abstractmethod
    def ignore(self, code: CodeType) -> None:
        """Stop reports about a code object that is not called under focus."""


def _callee_key(callee: Any) -> Any:
    """Return the object by which the native side knows a callee: for a method in C its class's; no bound object."""
    if isinstance(callee, BuiltinFunctionType):
        attributes = (vars(base).get(callee.__name__) for base in type(callee.__self__).__mro__)
        return next((value for value in attributes if isinstance(value, MethodDescriptorType)), callee)
    return callee if isinstance(callee, (CodeType, MethodDescriptorType, type)) else type(callee)
