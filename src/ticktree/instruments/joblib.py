"""joblib: the tasks of its worker processes, which are loky's; its threads are those of `multiprocessing.pool`."""

from __future__ import annotations

from ticktree.instruments.pools import of_executor, worker
from ticktree.instruments.targets import Instrument

INSTRUMENT = Instrument(
    "joblib",
    tested=">=1.3.0,<1.7",
    hooks={"joblib.externals.loky.process_executor": worker("_process_worker", of_executor)},
    private=True,
)
