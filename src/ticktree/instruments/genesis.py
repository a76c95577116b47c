"""Genesis: what a step of a scene consists of. In programs that mark nothing, a scene's steps are ticks.

Times are the host's: the device may do later what is asked of it.
"""

from __future__ import annotations

from types import ModuleType

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument, Target
from ticktree.instruments.ticks import unmarked_loop
from ticktree.recorder import Recorder
from ticktree.recorder.site import NO_SITE

LOOP = "scene"

_SCENE = "genesis.engine.scene"
_TARGETS = [
    *(Target(f"{_SCENE}:Scene.{name}", f"scene.{name}") for name in ("build", "reset", "read_sensors")),
    Target("genesis.engine.simulator:Simulator.step", "sim.step"),
    Target("genesis.vis.visualizer:Visualizer.update_on_sim_step", "visualizer.update_on_sim_step"),
    Target("genesis.vis.camera:Camera.render", "camera.render", subclasses=True),
]


def _wrap_scene(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    section = recorder.timed_section("scene.step", NO_SITE)
    patches.section(module, "Scene.step", section, None, unmarked_loop(recorder, LOOP).begins)


INSTRUMENT = Instrument("genesis-world", targets=_TARGETS, hooks={_SCENE: _wrap_scene})
