"""Ray: every task and actor of a program's job, wherever in the cluster it runs, and waits for results.

The driver's side is installed when the program imports Ray: a job that it then connects has a hook, which Ray runs as
each worker starts and which makes the worker record. Each call carries the names of the sections that are open where
it is made; its work is recorded below them.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from ticktree.instruments.patches import Patches
from ticktree.instruments.targets import Instrument

if TYPE_CHECKING:
    from ticktree.recorder import Recorder


def _wrap(patches: Patches, _: ModuleType, recorder: Recorder) -> None:
    """Wrap the driver's side; workers that have begun to record continue until their job ends."""
    from ticktree.instruments.ray import driver, submitting, waiting

    submitting.wrap(patches, recorder)
    waiting.wrap(patches, recorder)
    driver.wrap(patches, recorder)


INSTRUMENT = Instrument("ray", tested=">=2.55.0,<2.61", hooks={"ray": _wrap}, private=True)
