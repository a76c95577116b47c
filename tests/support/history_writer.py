"""A process that adds runs to a history until it is killed, and reports each when it is stored."""

from __future__ import annotations

import sys
from pathlib import Path

from ticktree.history import Store
from ticktree.profile.run_summary import Measure, RunSummary

PATHS = 200


def invented(name: str) -> RunSummary:
    measures = {f"train/part {at}": Measure(at + 1, 1000, 1, 2, 3, 4, 0.5, False) for at in range(PATHS)}
    return RunSummary(name, name, 1, {"command": "train.py"}, measures)


if __name__ == "__main__":
    store = Store(Path(sys.argv[1]), patience_s=100)
    for number in range(int(sys.argv[3])):
        run_id = f"{sys.argv[2]}-{number}"
        store.add([invented(run_id)])
        print(run_id, flush=True)
