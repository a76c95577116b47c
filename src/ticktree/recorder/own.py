"""The program's own recorder: what the public functions record with."""

from __future__ import annotations

from ticktree.recorder._native import Recorder

OWN = Recorder()
