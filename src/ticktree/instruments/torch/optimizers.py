"""Optimizers: `step` and `zero_grad`, each optimizer with its own name."""

from __future__ import annotations

from collections.abc import Callable
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
    """Wraps `zero_grad`, and the `step` of every class of which there is or will be an optimizer.

    torch does the same: the first optimizer of a class has it put a wrapper around that class's `step`.
    """
    optimizers = _Optimizers(recorder, is_compiling, gradients)
    # Where nothing else makes ticks, the steps of the first optimizer do: a tick is from one of its steps to the next.
    ticks = unmarked_loop(recorder, LOOP)
    make_step = optimizers.method("step", gradients.use, gradients.stepping, ticks.begins)
    wrapped: set[type] = set()

    def wrap_step(kind: type) -> None:
        owner = next((each for each in kind.__mro__ if "step" in vars(each)), kind)
        if owner not in wrapped:
            wrapped.add(owner)
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
    patches.wrap(
        base, "zero_grad", optimizers.method("zero_grad", gradients.mark_unused, Layer(of_each=True))
    )


class _Optimizers:
    """Those of the program, by the names of their rows."""

    def __init__(self, recorder: Recorder, is_compiling: Flag, gradients: Gradients) -> None:
        self._recorder = recorder
        self._is_compiling = is_compiling
        self._gradients = gradients
        self._names = Instances(lambda name, _: name)

    def method(
        self, verb: str, resolve: Resolve, layer: Layer, before: Callable[[Any], None] | None = None
    ) -> Callable[[Any], Any]:
        """Returns what makes a method a section of its optimizer, and resolves what it does with gradients."""
        anyones = self._recorder.timed_section(f"optimizer {verb}", NO_SITE)
        made: dict[str, Section] = {}

        def sections(optimizer: Any) -> Section:
            self._gradients.register(optimizer)
            name = self._names.of(optimizer)
            if name not in made:
                made[name] = self._recorder.timed_section(f"optimizer {verb} {name}", NO_SITE)
            return made[name]

        redirection = self._gradients.redirection(resolve, sections)
        choice = SectionsByObject(sections)
        return lambda method: OutermostFunction(
            method, anyones, layer, before, choice=choice, unless=self._is_compiling, redirection=redirection
        )
