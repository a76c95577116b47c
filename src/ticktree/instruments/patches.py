"""Wrapping functions of other people's modules and classes, and putting them back."""

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
from ticktree.recorder.timed import in_section
from ticktree.recorder.wrapping import stand_for

# Makes of a function what takes its place; in a hierarchy, of a method and the class that defines it.
Make: TypeAlias = "Callable[[Any], Any]"
MakeInClass: TypeAlias = "Callable[[Any, type], Any]"

_ABSENT = object()
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
# As in inspect, whose import costs more than all of ticktree's: generators, coroutines, and both.
_CO_SUSPENDED = 0x20 | 0x80 | 0x200
# On a wrapper: its own identity, because wrapping it again copies its attributes, and the original method.
_ORIGINAL = "_ticktree_original"
# On a Python function that has a wrapper's place: its own identity, and the wrapper.
_WRAPPER = "_ticktree_wrapper"


class Patches:
    """What one instrument has wrapped."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def watch(self, module: str, apply: Callable[[Patches, ModuleType], None]) -> None:
        """Call `apply` with patches and a module as soon as the module is imported, until all is undone.

        All that is wrapped there stays, or, where anything fails, nothing: that is a loss, and the program
        continues.
        """
        whose = losses.current()

        def when_there(found: ModuleType) -> None:
            patches = Patches()
            try:
                apply(patches, found)
            except Exception as error:
                patches.undo()
                self._note(whose, module, error)
            else:
                self.on_undo(patches.undo)

        self.on_undo(when_imported(module, when_there))

    def _note(self, whose: tuple[str, str], target: str, error: Exception) -> None:
        """Note a loss: now, or when the program uses what is not recorded."""
        used_by = error.used_by if isinstance(error, losses.UntestedVersionError) else ""
        if not used_by:
            losses.note(whose, target, error)
            return
        module, _, path = used_by.partition(":")
        notes = [partial(losses.note, whose, f"{module}.{path}".removesuffix(".__init__"), error)]

        def make(function: Any) -> Any:
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                while notes:
                    notes.pop()()
                return function(*args, **kwargs)

            return wrapper

        self.watch(module, lambda patches, found: patches.wrap(found, path, make))

    def wrap(self, owner: Any, path: str, make: Make) -> None:
        """Replace a function of a class or a module by `make(function)`.

        Args:
            owner: The class or module.
            path: The function's name there; of a module also `Class.method`.
            make: Makes a wrapper: a Python function of the same kind, whose frames are then in no traceback, or any
                other callable.

        Raises:
            MissingTargetError: There is no such function.
        """
        owner, name, original = _found(owner, path)
        function = original.__func__ if isinstance(original, staticmethod) else original
        wrapper = _standing_for(function, make(function))
        self.put(owner, name, staticmethod(wrapper) if isinstance(original, staticmethod) else wrapper)

    def wrap_own(self, module: ModuleType, path: str, make: Make) -> None:
        """Replace a function or `Class.method` that a module itself defines.

        What another library has put there instead (gevent, eventlet, a test's double) is left alone: nothing is known
        of it.
        """
        known = getattr(module, path.partition(".")[0], None)
        if getattr(known, "__module__", None) == module.__name__:
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
        way: Callable[..., Any] | None = None,
        **more: Any,
    ) -> None:
        """Make a function a section; of a generator, each resumption is a call of it.

        Args:
            owner: The class or module that has it.
            path: Its name there; of a module also `Class.method`.
            section: The section.
            layer: Which calls wrap each other: only the outermost is recorded. By default, with subclasses,
                an own one.
            before: Called with the first argument, right before an outermost call.
            subclasses: Whether the methods of subclasses are it too, those included that are defined later.
            rank: Of several that wrap the methods of a class and its subclasses, a higher one is around a lower one.
            required: Whether the class itself must have the method; else one that only subclasses have will do.
            way: Called in its place, with the function and the arguments; what it does is in no section by itself.
            more: As of `OutermostFunction`.

        Raises:
            MissingTargetError: There is no such function.
        """
        layer = layer or (Layer() if subclasses else None)
        if way is not None:
            more["redirection"] = redirected(way)

        def make(function: Any) -> Any:
            if getattr(getattr(function, "__code__", None), "co_flags", 0) & _CO_SUSPENDED:
                return in_section(function, section)
            kind = OutermostFunction if hasattr(type(function), "__get__") else OutermostBuiltin
            return kind(function, section, layer, before, **more)

        if subclasses:
            self.wrap_in_subclasses(owner, path, lambda function, _: make(function), rank, required)
        else:
            owner, name, function = _found(owner, path)
            self.put(owner, name, _standing_for(function, make(function)))

    def wrap_in_subclasses(
        self, owner: Any, path: str, make: MakeInClass, rank: int = 0, required: bool = True
    ) -> None:
        """Replace a method in a class and each of its subclasses, now and later, wherever one defines it.

        Raises:
            MissingTargetError: There is no such class, or neither it nor a class above it has the method.
        """
        base, name = _resolved(owner, path)
        if not isinstance(base, type) or (required and not callable(getattr(base, name, None))):
            raise _missing(owner, path)
        hierarchy = _hierarchies.setdefault(base, _Hierarchy(base))
        self.on_undo(hierarchy.add(name, make, rank))

    def put(self, owner: Any, name: str, ours: Any) -> None:
        """Put `ours` in the place of an attribute of a class or a module, or where there was none."""
        original = vars(owner).get(name, _ABSENT)

        def undo() -> None:
            # Another may have wrapped it again meanwhile; theirs then stays.
            there = vars(owner).get(name)
            if there is not ours and _kept(there, _WRAPPER) is not ours:
                return
            if original is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, original)

        setattr(owner, name, ours)
        self._undo.append(undo)

    def on_undo(self, undo: Callable[[], None]) -> None:
        """Have something else done when all is put back."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Put everything back, the last first."""
        while self._undo:
            self._undo.pop()()


class _Hierarchy:
    """A class and its subclasses, some of whose methods are wrapped where they are defined.

    Several may wrap them. When one is added or taken back, all are put back and wrapped again: so each finds
    its place, and nothing of a removed one stays under what others put around it.
    """

    def __init__(self, base: Any) -> None:
        self._base = base
        self._makes: list[tuple[int, str, MakeInClass]] = []
        self._patches = Patches()
        # Classes that the program forgets are forgotten here too.
        self._classes: WeakSet[type] = WeakSet()

    def add(self, name: str, make: MakeInClass, rank: int) -> Callable[[], None]:
        """Wrap what there is, and what will be when it is defined; return what takes that back."""
        mine = (rank, name, make)
        self._change(lambda: self._makes.append(mine))
        return lambda: self._change(lambda: self._makes.remove(mine))

    def _change(self, change: Callable[[], None]) -> None:
        names = {name for _, name, _ in self._makes}
        self._patches.undo()
        for each in list(self._classes):
            for name in names:
                original = _original_of(vars(each).get(name))
                if original is not None:
                    setattr(each, name, original)
        self._classes.clear()
        change()
        self._makes.sort(key=lambda each: each[0])
        if self._makes:
            for each in with_subclasses(self._base):
                self._wrap(each)
            self._watch_subclasses()
        else:
            _hierarchies.pop(self._base, None)

    def _wrap(self, each: type) -> None:
        for name in {} if each.__flags__ & _IMMUTABLE else dict.fromkeys(name for _, name, _ in self._makes):
            method = vars(each).get(name)
            # A class that is made of another's parts, as dataclasses are, has it wrapped already.
            if not callable(method) or isinstance(method, (staticmethod, type)) or _original_of(method):
                continue
            if getattr(method, "__isabstractmethod__", False):
                continue
            made = method
            for _, of, make in self._makes:
                made = _standing_for(made, make(made, each)) if of == name else made
            setattr(each, name, made)
            setattr(made, _ORIGINAL, (id(made), method))
        self._classes.add(each)

    def _watch_subclasses(self) -> None:
        hierarchy, base, own = self, self._base, vars(self._base).get("__init_subclass__")

        def __init_subclass__(cls: Any, /, **kwargs: Any) -> None:  # noqa: N807 (what Python calls)
            if own is None:
                super(base, cls).__init_subclass__(**kwargs)
            else:
                own.__get__(None, cls)(**kwargs)
            hierarchy._wrap(cls)

        self._patches.put(base, "__init_subclass__", classmethod(__init_subclass__))


_hierarchies: dict[Any, _Hierarchy] = {}


def with_subclasses(base: type) -> list[type]:
    """Return a class and every class that is below it now."""
    found, seen = [base], {id(base)}  # a class may be equal to another, or have no hash
    for each in found:  # the list grows while it is walked
        below: list[type] = type.__subclasses__(each)
        found += [one for one in below if id(one) not in seen]
        seen.update(map(id, below))
    return found


def redirected(way: Callable[..., Any]) -> Redirection:
    """Return what has a wrapper call `way` with the function and the arguments."""
    redirection = Redirection()
    redirection.way = way
    return redirection


def _standing_for(function: Any, made: Any) -> Any:
    """The replacement of a function, as `stand_for` makes it: its frames are in no traceback."""
    if isinstance(made, FunctionType) and not hasattr(made, "__wrapped__"):
        return stand_for(function, made)
    return update_wrapper(made, function)


def put_function(owner: Any, name: str, function: Any) -> None:
    """Put a Python function that calls a wrapper of ours in its place; what puts the original back still does."""
    wrapper = vars(owner)[name]
    update_wrapper(function, wrapper)
    setattr(function, _WRAPPER, (id(function), wrapper))
    setattr(function, _ORIGINAL, (id(function), _original_of(wrapper)))
    setattr(owner, name, function)


def _original_of(method: Any) -> Any:
    """What a class had before we wrapped it; None where it was not us."""
    return _kept(method, _ORIGINAL)


def _kept(function: Any, key: str) -> Any:
    """What we noted on a function under `key`; None where it is a copy of another's attributes, or nothing."""
    identity, noted = getattr(function, "__dict__", {}).get(key, (0, None))
    return noted if identity == id(function) else None


def _resolved(owner: Any, path: str) -> tuple[Any, str]:
    """The class or module that a path leads to, and the name there."""
    inner, _, name = path.rpartition(".")
    try:
        return (attrgetter(inner)(owner) if inner else owner), name
    except AttributeError:
        raise _missing(owner, inner) from None


def _found(owner: Any, path: str) -> tuple[Any, str, Any]:
    """The same, and the function as it is there."""
    inner, name = _resolved(owner, path)
    original = vars(inner).get(name, _ABSENT)
    if not callable(original):
        raise _missing(owner, path)
    return inner, name, original


def _missing(owner: Any, path: str) -> losses.MissingTargetError:
    where = getattr(owner, "__qualname__" if isinstance(owner, type) else "__name__", owner)
    return losses.MissingTargetError(f"{where} has no {path}")
