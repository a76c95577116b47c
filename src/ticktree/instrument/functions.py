"""Functions of modules, as sections: stand-ins that can be used wherever the functions could."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from ticktree.recorder import drop_own_frames
from ticktree.recorder.site import NO_SITE

if TYPE_CHECKING:
    from ticktree.instrument.patches import Patches
    from ticktree.recorder import Recorder, Section

# What a call tells of its work, by its arguments and its result: what `Section.work` takes.
Amounts = Callable[[tuple[Any, ...], Any], dict[str, int]]


def wrap_functions(
    patches: Patches,
    recorder: Recorder,
    module: ModuleType,
    names: Iterable[str],
    amounts: Amounts | None = None,
) -> None:
    """Makes functions of a module sections, `module.name`; those that this version of it has.

    Args:
        patches: Undoes it.
        recorder: What records.
        module: Whose functions.
        names: Their names there.
        amounts: What work their calls do.
    """
    for name in names:
        function = vars(module).get(name)
        if callable(function) and not isinstance(function, type):
            section = recorder.timed_section(f"{module.__name__}.{name}", NO_SITE)
            patches.put(module, name, stand_in(function, _in_section(function, section, amounts)))


def _in_section(
    function: Callable[..., Any], section: Section, amounts: Amounts | None
) -> Callable[..., Any]:

    def call(*args: Any, **kwargs: Any) -> Any:
        with section:
            result = function(*args, **kwargs)
            if amounts is not None:
                _tell(section, amounts, args, result)
            return result

    return call


def stand_in(function: Callable[..., Any], call: Callable[..., Any]) -> Any:
    """Return what calls `call`, and is otherwise as `function` is: also as an attribute of a class."""
    kind = _Bound if hasattr(type(function), "__get__") else FunctionWrapper
    return functools.update_wrapper(kind(call), function)


class FunctionWrapper:
    """In place of a function in C, which as an attribute of a class is no method: a Python function would be one."""

    __wrapped__: Any

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it, in its section."""
        try:
            return self._call(*args, **kwargs)
        except BaseException:
            drop_own_frames()
            raise

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> str:
        return str(self.__qualname__)

    def __copy__(self) -> FunctionWrapper:
        return self

    def __deepcopy__(self, _memo: Any) -> FunctionWrapper:
        return self


class _Bound(FunctionWrapper):
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)


def _tell(section: Section, amounts: Amounts, args: tuple[Any, ...], result: Any) -> None:
    try:
        section.work(**amounts(args, result))
    except Exception:  # of a result that is not what it mostly is, nothing is told
        return
