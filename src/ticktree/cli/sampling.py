"""The sampler of `ticktree run`: whether there is one, and what is said where it may not look."""

from __future__ import annotations

import sysconfig
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.cli.focus import functions_of
from ticktree.cli.screen import complain
from ticktree.errors import TicktreeError
from ticktree.run.room import require_room
from ticktree.supervisor.periodic import PeriodicTask

if TYPE_CHECKING:
    from ticktree.cli.recording import RecordingOptions
    from ticktree.profile import SampledStack, Weight
    from ticktree.run.finishing import RunDirectory
    from ticktree.run.sampled import Sampled
    from ticktree.supervisor.sampler.sampling import Sampling

LOOK_EVERY_S = 0.5
KEEP_EVERY_S = 2.0
# Of many processes or stacks either takes long: at most a hundredth of a core each.
REST = 99


class RunSampler:
    """Samples one run, or does nothing where that is not wanted or not possible here.

    Args:
        run: the run.
        asked: what to record of it.
    """

    def __init__(self, run: RunDirectory, asked: RecordingOptions) -> None:
        self._run = run
        self._is_asked = asked.sample is not None
        self._is_inside, self._cost_ns = False, 0
        self._sampling: Sampling | None = None
        if asked.no_sample:
            return
        try:
            require_room()  # without which no sample could be kept
            from ticktree.supervisor.sampler.sampling import Sampling

            hz, self._is_inside = asked.sample or (None, False)
            self._sampling = Sampling(run.memory_dir, hz, is_inside=self._is_inside)
        except ModuleNotFoundError:  # built on a system where one process cannot read another
            if self._is_asked:
                complain("this ticktree cannot sample: only Linux lets one process read another")
        except (TicktreeError, OSError, MemoryError):
            if self._is_asked:
                complain("the program is not sampled: there is no memory for it")

    def begin(self, pid: int) -> None:
        """Begin, now that the program has started."""
        if self._sampling is not None:
            with suppress(
                Exception
            ):  # whatever goes wrong, a mistake of ours included: the program has started
                self._sampling.begin(pid)

    def tasks(self) -> list[PeriodicTask]:
        """What to do while the program runs."""
        if self._sampling is None:
            return []
        return [
            PeriodicTask(self._sampling.look, LOOK_EVERY_S, rest=REST, cost=time.process_time),
            PeriodicTask(self._keep, KEEP_EVERY_S, KEEP_EVERY_S, REST, time.process_time),
        ]

    def _keep(self) -> None:
        if self._sampling is not None:
            self._sampling.keep()

    def end(self) -> None:
        """Stop, now that the program has ended, and note what to mark in it while its source is at hand."""
        if self._sampling is None:
            return
        sampled = self._sampling.end()
        self._cost_ns = sampled.cpu_ns if sampled is not None and self._is_inside else 0
        if sampled is not None:
            with suppress(OSError):  # a full disk
                self._run.describe(first_marks(sampled, self._run.manifest.argv))

    def say(self, *, is_empty: bool) -> None:
        """Say what samples cost the program; or once that the system did not let us look, where an answer is missing.

        Args:
            is_empty: whether nothing else was recorded.
        """
        if self._sampling is not None and self._sampling.refused and (self._is_asked or is_empty):
            complain(
                f"the program was not sampled: the system does not let us read its memory ({self._sampling.refused}); "
                "--sample thread samples on a thread in it"
            )
        if self._cost_ns:
            complain(f"sampling took {self._cost_ns / 1e9:.3g} s of a core on threads in the program")


_MOST_BYTES = 1 << 22
# A function with less of the samples explains little.
_LEAST_SHARE = 0.2
_AS_MUCH = 0.9


def first_marks(sampled: Sampled, argv: Sequence[str]) -> dict[str, str]:
    """Return the facts of a run that say what to mark: its main loop, and a function to look into.

    Args:
        sampled: what was sampled of it.
        argv: the program's command line.
    """
    # The start of `ticktree run` waits for no model.
    from ticktree.analysis.main_loop import main_loop
    from ticktree.profile import SampledStack
    from ticktree.profile.samples import SAMPLED_FUNCTION, SAMPLED_LOOP, SAMPLED_LOOP_CODE

    stacks = [
        (SampledStack("", "", seen.state, seen.lines), weight)
        for seen, weight in sampled.stacks.items()
        if not seen.thread
    ]
    facts: dict[str, str] = {}
    loop = main_loop(stacks, _own_source)
    if loop is not None:
        facts[SAMPLED_LOOP] = f"{Path(loop.file).name}:{loop.line}"
        facts[SAMPLED_LOOP_CODE] = loop.mark
    function = _function(stacks, set(functions_of(list(argv))))
    if function is not None:
        facts[SAMPLED_FUNCTION] = function
    return facts


def _function(stacks: Sequence[tuple[SampledStack, Weight]], known: set[str]) -> str | None:
    """Return the outermost of the script's functions that explain as much as any; None where none explains much."""
    times: dict[str, int] = defaultdict(int)
    depths: dict[str, int] = {}
    for stack, weight in stacks:
        names = [line.function for line in stack.lines]
        for function in known & set(names):
            times[function] += weight.ns
            depths[function] = min(depths.get(function, len(names)), names.index(function))
    most = max(times.values(), default=0)
    if most < _LEAST_SHARE * sum(weight.ns for _, weight in stacks) or not most:
        return None
    return min(
        (name for name in times if times[name] >= _AS_MUCH * most), key=lambda name: (depths[name], name)
    )


def _own_source(file: str) -> str | None:
    """A file's source, where it is the program's own: neither the interpreter's nor an installed package's."""
    path = Path(file)
    if not file.endswith(".py") or any(path.is_relative_to(folder) for folder in _installed()):
        return None
    try:
        data = path.read_bytes() if path.stat().st_size <= _MOST_BYTES else b""
        return data.decode()
    except (OSError, ValueError):
        return None


def _installed() -> set[str]:
    return {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
