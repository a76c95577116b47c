"""The camera above the table: draws what is there now, with MuJoCo's renderer."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

import ticktree

from .aloha_world import AlohaWorld

Picture = NDArray[np.uint8]
_COSTLY = (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION)


class AlohaCamera:
    """Takes pictures of a world. An OpenGL context is of one thread: all pictures are taken by the first that does.

    Args:
        world: what it sees.
        width: of its pictures, in pixels.
        height: of its pictures, in pixels.
        fast_drawing: leave out shadows and reflections.
    """

    def __init__(self, world: AlohaWorld, width: int, height: int, *, fast_drawing: bool = True) -> None:
        self._world = world
        self._size = width, height
        self._fast = fast_drawing
        self._data: Any = mujoco.MjData(world.model)
        self._renderer: Any = None

    def read(self) -> Picture:
        """Take a picture: height x width x RGB."""
        if self._renderer is None:
            with ticktree.section("open renderer"):
                self._renderer = self._open()
        with ticktree.section("copy world"):
            self._world.copy_to(self._data)
        with ticktree.section("render") as drawing:
            self._renderer.update_scene(self._data, camera="top")
            picture: Picture = self._renderer.render()
            drawing.work(bytes=picture.nbytes)
        return picture

    def close(self) -> None:
        """Give the OpenGL context back."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _open(self) -> Any:
        width, height = self._size
        renderer = mujoco.Renderer(self._world.model, height, width)
        if self._fast:
            for flag in _COSTLY:
                renderer.scene.flags[flag] = 0
        return renderer
