"""Runs the trainer's script, and reads its learning results."""

import re

from support.workloads import WORKLOADS, Ended, run_script

SCRIPT = str(WORKLOADS / "parallel_trainer" / "train.py")


class Learned(Ended):
    """A training that is over."""

    def number(self, pattern):
        """The number that the output says there."""
        return int(re.search(pattern, self.stdout)[1])

    @property
    def fingerprint(self):
        return re.search(r"sha256 (\w+)", self.stdout)[1]


def run_trainer(folder, *arguments, recorded=True, **options):
    return Learned(
        *run_script(folder, SCRIPT, *arguments, under=["--quiet"] if recorded else None, **options)
    )
