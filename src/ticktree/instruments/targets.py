"""A library as data: the functions that are sections, and the versions that were tested."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple, TypeAlias

from ticktree.instruments import losses
from ticktree.instruments.patches import Patches
from ticktree.recorder import Layer, Recorder, Section
from ticktree.recorder.site import NO_SITE, site_of

# Code where a section is not enough: wraps functions of a module that has just been imported.
Hook: TypeAlias = Callable[[Patches, ModuleType, Recorder], None]
# Returns more arguments of `Patches.section` for a function and its section, such as one that turns calls into ticks.
MakeOptions: TypeAlias = Callable[[Recorder, Section], dict[str, Any]]


class Target(NamedTuple):
    """A function of a library that is a section where it is called.

    Attributes:
        path: `module:function` or `module:Class.method`; `module:new|old` for the first of these that exists.
        section: The section's name.
        subclasses: Whether methods of subclasses count too, including the program's subclasses.
        wait: Whether the function waits rather than works.
        layer: Among an instrument's targets with the same layer, only the outermost call is recorded: for functions
            that call each other to do one thing. By default each target with subclasses has its own, so a method that
            calls its base class's is recorded once.
        required: Whether a class without the method is a loss; False for methods that only subclasses have.
        make_options: Makes more arguments for `Patches.section`.
    """

    path: str
    section: str
    subclasses: bool = False
    wait: bool = False
    layer: str = ""
    required: bool = True
    make_options: MakeOptions | None = None

    def apply(self, patches: Patches, module: ModuleType, recorder: Recorder, layer: Layer | None) -> None:
        """Make the function a section.

        Raises:
            MissingTargetError: There is no such function.
        """
        names = self.path.partition(":")[2].split("|")
        name = next((name for name in names if hasattr(module, name)), names[0])
        function: Any = module
        for part in name.split("."):
            function = getattr(function, part, None)
        # Methods of several classes have no single definition.
        site = NO_SITE if self.subclasses else site_of(function)
        section = recorder.timed_section(self.section, site, wait=self.wait)
        options: dict[str, Any] = {"layer": layer, "subclasses": self.subclasses, "required": self.required}
        if self.make_options:
            options |= self.make_options(recorder, section)
        patches.section(module, name, section, **options)


def methods(owner: str, *names: str, title: str = "", section: str = "", **options: Any) -> list[Target]:
    """Return methods of a class and its subclasses as targets, each with its name as section.

    Args:
        owner: `module:Class`.
        names: The methods' names.
        title: Put before their names.
        section: A name for all of them instead.
        options: Passed to `Target`.
    """
    return [Target(f"{owner}.{name}", section or title + name, subclasses=True, **options) for name in names]


class Instrument:
    """How a library is recorded. A module's targets and its hook are applied when it is imported: all or none.

    Args:
        distribution: The distribution that installs the library, whose version counts; "" for Python's own.
        tested: The versions that CI runs: `>=` the oldest, `<` the one after the newest. Another version is recorded
            if it has all targets, and `ticktree doctor` reports that it was not tested.
        targets: Functions that are sections.
        hooks: By module.
        private: Whether private functions of the library are wrapped: then a version outside `tested` is refused.
        used_by: For a refused version, see `UntestedVersionError`.
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
                # Refuse all modules at once, and early: the first call of this function may import them.
                self._patches.watch(self._used_by.partition(":")[0], lambda *_: self._require_tested())
            for name in modules:
                self._patches.watch(name, self._make_apply(name, recorder, layers))

    def uninstall(self) -> None:
        """Restore the library's functions."""
        self._patches.undo()

    def _require_tested(self) -> None:
        require_tested(self.distribution, self.tested, self._used_by)

    def _make_apply(
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
                layer = layers.setdefault(target.layer, Layer()) if target.layer else None
                target.apply(patches, module, recorder, layer)
            if name in self._hooks:
                self._hooks[name](patches, module, recorder)

        return apply


def require_tested(distribution: str, tested: str, used_by: str = "") -> None:
    """Refuse versions of a library whose private functions may differ.

    Raises:
        UntestedVersionError: The installed version is not in the range.
    """
    version = losses.version_of(distribution)
    if not losses.is_tested(version, tested):
        raise losses.UntestedVersionError(
            f"it needs private functions, which are known of versions {tested} only", used_by
        )
