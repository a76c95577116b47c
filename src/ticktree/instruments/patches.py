"""Wrap functions of other people's modules and classes, and restore them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from operator import attrgetter
from types import FunctionType, ModuleType
from typing import Any, TypeAlias
from weakref import WeakSet

from ticktree.instruments import losses
from ticktree.recorder import Layer, OutermostBuiltin, OutermostFunction, Redirection, Section
from ticktree.recorder.imports import when_imported
from ticktree.recorder.timed import wrap_in_section
from ticktree.recorder.wrapping import make_wrapper

# Makes a wrapper from a function; in a hierarchy, from a method and the class that defines it.
Make: TypeAlias = "Callable[[Any], Any]"
MakeInClass: TypeAlias = "Callable[[Any, type], Any]"

_ABSENT = object()
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
# Generators, coroutines, and both: from inspect, whose import costs more than all of ticktree's.
_CO_SUSPENDED = 0x20 | 0x80 | 0x200
# On a wrapper: its own identity, because wrapping it again copies its attributes, and the original method.
_ORIGINAL = "_ticktree_original"
# On a Python function that replaces a wrapper: its own identity, and the wrapper.
_WRAPPER = "_ticktree_wrapper"


class Patches:
    """What one instrument has wrapped."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def watch(self, name: str, apply: Callable[[Patches, ModuleType], None]) -> None:
        """Call `apply` with patches and a module as soon as the module is imported, until all is undone.

        If `apply` fails, all that it wrapped is restored: that is a loss, and the program continues.
        """
        library = losses.current()

        def apply_or_undo(module: ModuleType) -> None:
            patches = Patches()
            try:
                apply(patches, module)
            except Exception as error:
                patches.undo()
                self._note_loss(library, name, error)
            else:
                self.on_undo(patches.undo)

        self.on_undo(when_imported(name, apply_or_undo))

    def _note_loss(self, library: tuple[str, str], target: str, error: Exception) -> None:
        """Note a loss: now, or when the program uses what is not recorded."""
        used_by = error.used_by if isinstance(error, losses.UntestedVersionError) else ""
        if not used_by:
            losses.note(library, target, error)
            return
        name, _, path = used_by.partition(":")
        notes = [partial(losses.note, library, f"{name}.{path}".removesuffix(".__init__"), error)]

        def make(function: Any) -> Any:
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                while notes:
                    notes.pop()()
                return function(*args, **kwargs)

            return wrapper

        self.watch(name, lambda patches, module: patches.wrap(module, path, make))

    def wrap(self, owner: Any, path: str, make: Make) -> None:
        """Replace a function of a class or a module by `make(function)`.

        Args:
            owner: The class or module.
            path: The function's name there; in a module also `Class.method`.
            make: Makes a wrapper: a Python function of the same kind, whose frames tracebacks then do not show, or any
                other callable.

        Raises:
            MissingTargetError: There is no such function.
        """
        owner, name, original = _find_function(owner, path)
        function = original.__func__ if isinstance(original, staticmethod) else original
        wrapper = _as_replacement(function, make(function))
        self.put(owner, name, staticmethod(wrapper) if isinstance(original, staticmethod) else wrapper)

    def wrap_own(self, module: ModuleType, path: str, make: Make) -> None:
        """Replace a function or `Class.method` that a module itself defines.

        A replacement by another library (gevent, eventlet, a test's double) is left alone: ticktree does not know it.
        """
        definition = getattr(module, path.partition(".")[0], None)
        if getattr(definition, "__module__", None) == module.__name__:
            self.wrap(module, path, make)

    def section(
        self,
        owner: Any,
        path: str,
        section: Section,
        layer: Layer | None = None,
        before: Callable[[Any], object] | None = None,
        *,
        subclasses: bool = False,
        rank: int = 0,
        required: bool = True,
        around: Callable[..., Any] | None = None,
        **options: Any,
    ) -> None:
        """Make a function a section; each resumption of a generator is a call of it.

        Args:
            owner: The class or module that has it.
            path: Its name there; in a module also `Class.method`.
            section: The section.
            layer: Groups functions whose calls contain each other: only the outermost is recorded. By default, with
                subclasses, a new one.
            before: Called with the first argument, right before an outermost call.
            subclasses: Whether methods of subclasses count too, including subclasses that are defined later.
            rank: If several wrap the methods of a class and its subclasses, a higher one is around a lower one.
            required: Whether the class itself must have the method; otherwise it is enough if subclasses have it.
            around: Called instead, with the function and the arguments; it enters the section itself, if at all.
            options: Passed to `OutermostFunction`.

        Raises:
            MissingTargetError: There is no such function.
        """
        layer = layer or (Layer() if subclasses else None)
        if around is not None:
            options["redirection"] = redirect_to(around)

        def make(function: Any) -> Any:
            if getattr(getattr(function, "__code__", None), "co_flags", 0) & _CO_SUSPENDED:
                return wrap_in_section(function, section)
            kind = OutermostFunction if hasattr(type(function), "__get__") else OutermostBuiltin
            return kind(function, section, layer, before, **options)

        if subclasses:
            self.wrap_in_subclasses(owner, path, lambda function, _: make(function), rank, required)
        else:
            owner, name, function = _find_function(owner, path)
            self.put(owner, name, _as_replacement(function, make(function)))

    def wrap_in_subclasses(
        self, owner: Any, path: str, make: MakeInClass, rank: int = 0, required: bool = True
    ) -> None:
        """Replace a method wherever a class or one of its subclasses, present or future, defines it.

        Raises:
            MissingTargetError: There is no such class, or neither it nor its base classes have the method.
        """
        base, name = _resolve(owner, path)
        if not isinstance(base, type) or (required and not callable(getattr(base, name, None))):
            raise _missing_target(owner, path)
        hierarchy = _hierarchies.setdefault(base, _Hierarchy(base))
        self.on_undo(hierarchy.add(name, make, rank))

    def put(self, owner: Any, name: str, replacement: Any) -> None:
        """Replace an attribute of a class or a module, or add it."""
        original = vars(owner).get(name, _ABSENT)

        def undo() -> None:
            # Others may have wrapped the replacement meanwhile; their wrapper then stays.
            current = vars(owner).get(name)
            if current is not replacement and _read_mark(current, _WRAPPER) is not replacement:
                return
            if original is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, original)

        setattr(owner, name, replacement)
        self._undo.append(undo)

    def on_undo(self, undo: Callable[[], None]) -> None:
        """Call `undo` when everything is restored."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Restore everything, the last first."""
        while self._undo:
            self._undo.pop()()


class _Hierarchy:
    """A class and its subclasses, some of whose methods are wrapped where they are defined.

    Several wrappers may apply. When one is added or removed, all are removed and applied again: so each gets its
    rank, and no removed wrapper stays inside the others.
    """

    def __init__(self, base: Any) -> None:
        self._base = base
        self._makes: list[tuple[int, str, MakeInClass]] = []
        self._patches = Patches()
        # Weak: classes that the program drops are dropped here too.
        self._classes: WeakSet[type] = WeakSet()

    def add(self, name: str, make: MakeInClass, rank: int) -> Callable[[], None]:
        """Wrap a method in all present and future classes; return a function that undoes that."""
        entry = (rank, name, make)
        self._change(lambda: self._makes.append(entry))
        return lambda: self._change(lambda: self._makes.remove(entry))

    def _change(self, change: Callable[[], None]) -> None:
        names = {name for _, name, _ in self._makes}
        self._patches.undo()
        for cls in list(self._classes):
            for name in names:
                original = _original_method(vars(cls).get(name))
                if original is not None:
                    setattr(cls, name, original)
        self._classes.clear()
        change()
        self._makes.sort(key=lambda entry: entry[0])
        if self._makes:
            for cls in with_subclasses(self._base):
                self._wrap(cls)
            self._watch_subclasses()
        else:
            _hierarchies.pop(self._base, None)

    def _wrap(self, cls: type) -> None:
        for name in {} if cls.__flags__ & _IMMUTABLE else dict.fromkeys(name for _, name, _ in self._makes):
            method = vars(cls).get(name)
            # A class that is made from another one's attributes, as dataclasses are, has it wrapped already.
            if not callable(method) or isinstance(method, (staticmethod, type)) or _original_method(method):
                continue
            if getattr(method, "__isabstractmethod__", False):
                continue
            wrapper = method
            for _, wrapped_name, make in self._makes:
                if wrapped_name == name:
                    wrapper = _as_replacement(wrapper, make(wrapper, cls))
            setattr(cls, name, wrapper)
            setattr(wrapper, _ORIGINAL, (id(wrapper), method))
        self._classes.add(cls)

    def _watch_subclasses(self) -> None:
        hierarchy, base, original = self, self._base, vars(self._base).get("__init_subclass__")

        def __init_subclass__(cls: Any, /, **kwargs: Any) -> None:  # noqa: N807 (Python calls it by this name)
            if original is None:
                super(base, cls).__init_subclass__(**kwargs)
            else:
                original.__get__(None, cls)(**kwargs)
            hierarchy._wrap(cls)

        self._patches.put(base, "__init_subclass__", classmethod(__init_subclass__))


_hierarchies: dict[Any, _Hierarchy] = {}


def with_subclasses(base: type) -> list[type]:
    """Return a class and all classes that inherit from it now."""
    classes, ids = [base], {id(base)}  # a class may be equal to another, or have no hash
    for cls in classes:  # the list grows during the loop
        subclasses: list[type] = type.__subclasses__(cls)
        classes += [subclass for subclass in subclasses if id(subclass) not in ids]
        ids.update(map(id, subclasses))
    return classes


def redirect_to(around: Callable[..., Any]) -> Redirection:
    """Return a redirection that makes a wrapper call `around` with the function and the arguments."""
    redirection = Redirection()
    redirection.way = around
    return redirection


def _as_replacement(function: Any, wrapper: Any) -> Any:
    """Give a wrapper its function's attributes; `make_wrapper` also removes a function's frames from tracebacks."""
    if isinstance(wrapper, FunctionType) and not hasattr(wrapper, "__wrapped__"):
        return make_wrapper(function, wrapper)
    return update_wrapper(wrapper, function)


def put_function(owner: Any, name: str, function: Any) -> None:
    """Replace one of our wrappers by a Python function that calls it; `Patches.undo` still restores the original."""
    wrapper = vars(owner)[name]
    update_wrapper(function, wrapper)
    setattr(function, _WRAPPER, (id(function), wrapper))
    setattr(function, _ORIGINAL, (id(function), _original_method(wrapper)))
    setattr(owner, name, function)


def _original_method(method: Any) -> Any:
    """Return what a class had before we wrapped it; None if we did not."""
    return _read_mark(method, _ORIGINAL)


def _read_mark(function: Any, key: str) -> Any:
    """Return what we set on a function under `key`; None if that is nothing, or copied from another function."""
    identity, value = getattr(function, "__dict__", {}).get(key, (0, None))
    return value if identity == id(function) else None


def _resolve(owner: Any, path: str) -> tuple[Any, str]:
    """Return the class or module that a path leads to, and the name there."""
    inner, _, name = path.rpartition(".")
    try:
        return (attrgetter(inner)(owner) if inner else owner), name
    except AttributeError:
        raise _missing_target(owner, inner) from None


def _find_function(owner: Any, path: str) -> tuple[Any, str, Any]:
    """Resolve a path; return also the function that is there."""
    inner, name = _resolve(owner, path)
    original = vars(inner).get(name, _ABSENT)
    if not callable(original):
        raise _missing_target(owner, path)
    return inner, name, original


def _missing_target(owner: Any, path: str) -> losses.MissingTargetError:
    owner_name = getattr(owner, "__qualname__" if isinstance(owner, type) else "__name__", owner)
    return losses.MissingTargetError(f"{owner_name} has no {path}")
