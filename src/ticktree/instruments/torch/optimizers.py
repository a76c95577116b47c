"""Optimizers: `step` and `zero_grad`, each optimizer with its own name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from ticktree.instruments.patches import Patches, with_subclasses
from ticktree.instruments.ticks import unmarked_loop
from ticktree.instruments.torch.gradients import Gradients, Resolve
from ticktree.instruments.torch.instances import Instances
from ticktree.recorder import Flag, Layer, OutermostFunction, Recorder, Section, SectionsByObject
from ticktree.recorder.site import NO_SITE

LOOP = "train step"


def wrap(
    patches: Patches,
    recorder: Recorder,
    module: ModuleType,
    is_compiling: Flag,
    gradients: Gradients,
) -> None:
    """Wrap `zero_grad`, and the `step` of every class that has or will have an instance.

    torch does the same: at the first optimizer of a class it puts a wrapper around that class's `step`.
    """
    optimizers = _Optimizers(recorder, is_compiling, gradients)
    # Without other ticks, the steps of the first optimizer are ticks: a tick lasts from one step to the next.
    ticks = unmarked_loop(recorder, LOOP)
    make_step = optimizers.method_maker("step", gradients.note_use, gradients.stepping, ticks.begins)
    owners: set[type] = set()

    def wrap_step(kind: type) -> None:
        owner = next((base for base in kind.__mro__ if "step" in vars(base)), kind)
        if owner not in owners:
            owners.add(owner)
            patches.wrap(owner, "step", make_step)

    def make_patch(patch: Callable[[Any], None]) -> Callable[[Any], None]:
        def _patch_step_function(self: Any) -> None:
            patch(self)
            wrap_step(type(self))

        return _patch_step_function

    base = module.Optimizer
    for kind in with_subclasses(base):
        if hasattr(vars(kind).get("step"), "hooked"):
            wrap_step(kind)
    patches.wrap(base, "_patch_step_function", make_patch)
    make_zero_grad = optimizers.method_maker("zero_grad", gradients.note_clear, Layer(of_each=True))
    patches.wrap(base, "zero_grad", make_zero_grad)


class _Optimizers:
    """The program's optimizers, by the names of their rows."""

    def __init__(self, recorder: Recorder, is_compiling: Flag, gradients: Gradients) -> None:
        self._recorder = recorder
        self._is_compiling = is_compiling
        self._gradients = gradients
        self._names = Instances(lambda name, _: name)

    def method_maker(
        self, verb: str, resolve: Resolve, layer: Layer, before: Callable[[Any], None] | None = None
    ) -> Callable[[Any], Any]:
        """Return a function that makes a method a section of its optimizer, and notes what it does with gradients."""
        default = self._recorder.timed_section(f"optimizer {verb}", NO_SITE)

        @cache
        def named_section(name: str) -> Section:
            return self._recorder.timed_section(f"optimizer {verb} {name}", NO_SITE)

        def get_section(optimizer: Any) -> Section:
            self._gradients.register(optimizer)
            return named_section(self._names.get(optimizer))

        redirection = self._gradients.make_redirection(resolve, get_section)
        choice = SectionsByObject(get_section)
        return lambda method: OutermostFunction(
            method, default, layer, before, choice=choice, unless=self._is_compiling, redirection=redirection
        )
