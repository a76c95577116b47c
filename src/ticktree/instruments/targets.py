"""A library as data: which of its functions are sections, and the versions of it that this was tested with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple, TypeAlias

from ticktree.instruments import losses
from ticktree.instruments.patches import Patches
from ticktree.recorder import Layer, Recorder, Section
from ticktree.recorder.site import NO_SITE, site_of

# Code for what a section is not enough for: wraps functions of a module that has just been imported.
Hook: TypeAlias = Callable[[Patches, ModuleType, Recorder], None]
# Returns more arguments of `Patches.section` for a function and its section: what makes ticks of its calls, say.
More: TypeAlias = Callable[[Recorder, Section], dict[str, Any]]


class Target(NamedTuple):
    """A function of a library that is a section where it is called.

    Attributes:
        path: `module:function` or `module:Class.method`; `module:new|old` for the first of these that there is.
        section: The section's name.
        subclasses: Whether the methods of subclasses are it too, those of the program included.
        wait: Whether the function waits rather than works.
        layer: Of an instrument's targets with the same layer, only the outermost call is recorded: of functions that
            call each other as parts of one thing. By default each target with subclasses has its own: of a method that
            calls that of the class above, one call is recorded.
        required: Whether it is a loss where a class has no such method; not of those that only subclasses have.
        more: What its section is not enough for.
    """

    path: str
    section: str
    subclasses: bool = False
    wait: bool = False
    layer: str = ""
    required: bool = True
    more: More | None = None

    def apply(self, patches: Patches, module: ModuleType, recorder: Recorder, layer: Layer | None) -> None:
        """Make the function a section.

        Raises:
            MissingTargetError: There is no such function.
        """
        names = self.path.partition(":")[2].split("|")
        name = next((name for name in names if hasattr(module, name)), names[0])
        # Of a class and its subclasses it is at no one place.
        site = NO_SITE if self.subclasses else site_of(reduce(_attribute, name.split("."), module))
        section = recorder.timed_section(self.section, site, wait=self.wait)
        more = self.more(recorder, section) if self.more else {}
        given = {"layer": layer, "subclasses": self.subclasses, "required": self.required, **more}
        patches.section(module, name, section, **given)


def methods(owner: str, *names: str, title: str = "", section: str = "", **more: Any) -> list[Target]:
    """Return methods of a class and its subclasses as targets, each called by its name.

    Args:
        owner: `module:Class`.
        names: Of the methods.
        title: What is put before their names.
        section: What all of them are called instead.
        more: As of `Target`.
    """
    return [Target(f"{owner}.{name}", section or title + name, subclasses=True, **more) for name in names]


def _attribute(owner: Any, name: str) -> Any:
    return getattr(owner, name, None)


class Instrument:
    """How a library is recorded. A module's targets and its hook are applied when it is imported: all or none.

    Args:
        distribution: What the library is installed by, whose version counts; "" for Python's own.
        tested: The versions that CI runs: `>=` the oldest, `<` the one after the newest. Another one is recorded where
            all targets are there, and `ticktree doctor` says that it was not tested.
        targets: Functions that are sections.
        hooks: By the module that each is for.
        private: Whether private functions of the library are wrapped: then a version outside `tested` is refused.
        used_by: Of a refused version: see `UntestedVersionError`.
    """

    def __init__(
        self,
        distribution: str,
        *,
        tested: str = "",
        targets: Sequence[Target] = (),
        hooks: Mapping[str, Hook] = MappingProxyType({}),
        private: bool = False,
        used_by: str = "",
    ) -> None:
        self.distribution = distribution
        self.tested = tested
        self.targets = tuple(targets)
        self._hooks = hooks
        self._private = private
        self._used_by = used_by
        self._patches = Patches()

    def install(self, recorder: Recorder) -> None:
        """Wrap the library's functions: now, or when it is imported."""
        layers: dict[str, Layer] = {}
        modules = dict.fromkeys((*(target.path.partition(":")[0] for target in self.targets), *self._hooks))
        with losses.installing(losses.current()[0] or self.distribution, self.distribution):
            if self._used_by:
                # Refuses for all modules at once, and early: the first call of this function may import them.
                self._patches.watch(self._used_by.partition(":")[0], lambda *_: self._require_tested())
            for name in modules:
                self._patches.watch(name, self._applying(name, recorder, layers))

    def uninstall(self) -> None:
        """Put everything back."""
        self._patches.undo()

    def _require_tested(self) -> None:
        require_tested(self.distribution, self.tested, self._used_by)

    def _applying(
        self, name: str, recorder: Recorder, layers: dict[str, Layer]
    ) -> Callable[[Patches, ModuleType], None]:
        targets = [target for target in self.targets if target.path.partition(":")[0] == name]

        def apply(patches: Patches, module: ModuleType) -> None:
            if self._private:
                try:
                    self._require_tested()
                except losses.UntestedVersionError:
                    if self._used_by:
                        return
                    raise
            for target in targets:
                shared = layers.setdefault(target.layer, Layer()) if target.layer else None
                target.apply(patches, module, recorder, shared)
            if name in self._hooks:
                self._hooks[name](patches, module, recorder)

        return apply


def require_tested(distribution: str, tested: str, used_by: str = "") -> None:
    """Refuse versions of a library whose private functions may be others.

    Raises:
        UntestedVersionError: The installed version is not one of those.
    """
    version = losses.version_of(distribution)
    if not losses.is_tested(version, tested):
        raise losses.UntestedVersionError(
            f"it needs private functions, which are known of versions {tested} only", used_by
        )
