"""Sections in code that torch.compile compiles: they leave no trace in its graph, and so no row.

What is compiled runs in another order, or fused, or not at all: a section of a part of it would time something else.
So the compiler, when it meets one, goes on as if it were not there, where it would stop (`fullgraph=True`) or break
the graph. Time is booked where it is known: in whatever section calls the compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from ticktree.instrument.patches import Patches
from ticktree.recorder import OWN, Opening, Recorder, Section, TimedFunction

_patches = Patches()
_asked: set[str] = set()  # which instruments want it


def leave_no_trace(instrument: str) -> None:
    """From now on, has the compiler see neither sections nor what is wrapped; until all who asked have let go."""
    is_first = not _asked
    _asked.add(instrument)
    if is_first:
        _patches.watch("torch._dynamo.variables.builder", partial(wrap, _patches))
        _patches.watch("torch._dynamo.variables.user_defined", partial(wrap_methods, _patches))


def let_go(instrument: str) -> None:
    """Undoes it."""
    _asked.discard(instrument)
    if not _asked:
        _patches.undo()


class _Nothing:
    """What a section is to the compiler."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def work(self, **_: object) -> None:
        return None


def _section(*_: object, **__: object) -> _Nothing:
    return _Nothing()


def _nothing(*_: object, **__: object) -> None:
    return None


# What the public functions are: `ticktree.section` and the like are methods of the program's own recorder.
_KINDS = (type(OWN.section), type(OWN.gauge))
_INSTEAD: dict[str, Callable[..., Any]] = {
    "section": _section,
    **dict.fromkeys(("stage", "record", "gauge", "signal", "unblocked_by"), _nothing),
}


# Functions that are ours to wrap, which hold what they wrap; `--focus` wraps those that it looks at.
_WRAPPERS = (TimedFunction, Opening)

_NEEDED = ("VariableBuilder", "SourcelessBuilder", "AttrSource")


def wrap(patches: Patches, builder: ModuleType) -> None:
    """Wraps what makes the compiler's own picture of a value (torch._dynamo.variables.builder)."""
    if not all(hasattr(builder, name) for name in _NEEDED):
        return  # another version's: it breaks the graph at a section, and says so

    def make(build: Callable[..., Any]) -> Callable[..., Any]:
        def _wrap(self: Any, value: Any) -> Any:
            if isinstance(value, _WRAPPERS):
                source = builder.AttrSource(self.source, "__wrapped__")
                return builder.VariableBuilder(self.tx, source)(value.__wrapped__)
            if isinstance(value, Section):
                made = builder.SourcelessBuilder.create(self.tx, _section)
                return made.call_function(self.tx, [], {})
            if type(value) in _KINDS and isinstance(value.__self__, Recorder):
                instead = _INSTEAD.get(value.__name__)
                if instead is not None:
                    return builder.SourcelessBuilder.create(self.tx, instead)
            return build(self, value)

        return _wrap

    patches.wrap(builder.VariableBuilder, "_wrap", make)


def wrap_methods(patches: Patches, objects: ModuleType) -> None:
    """Wraps where it looks for a method of an object (torch._dynamo.variables.user_defined)."""

    def make(look_up: Callable[..., Any]) -> Callable[..., Any]:
        def lookup_class_mro_attr(self: Any, name: str) -> Any:
            found = look_up(self, name)
            return found.__wrapped__ if isinstance(found, _WRAPPERS) else found

        return lookup_class_mro_attr

    patches.wrap(objects.UserDefinedObjectVariable, "lookup_class_mro_attr", make)
