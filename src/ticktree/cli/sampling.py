"""The sampler of `ticktree run`: whether it can run, and what to print if it cannot."""

from __future__ import annotations

import sysconfig
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.cli.focus import functions_of
from ticktree.cli.screen import complain
from ticktree.errors import TicktreeError, reason
from ticktree.run.free_memory import require_free_memory
from ticktree.supervisor.periodic import PeriodicTask

if TYPE_CHECKING:
    from ticktree.cli.recording import RecordingOptions
    from ticktree.profile import SampledStack, Weight
    from ticktree.run.finishing import RunDirectory
    from ticktree.run.observations import StackSamples
    from ticktree.supervisor.sampler.sampling import Sampling

_LOOK_EVERY_S = 0.5
_KEEP_EVERY_S = 2.0
# With many processes or stacks each task takes long: limit each to a hundredth of a core.
_REST = 99


class RunSampler:
    """Samples one run; does nothing if sampling is not wanted or not possible here."""

    def __init__(self, run: RunDirectory, recording_options: RecordingOptions) -> None:
        self._run = run
        self._is_explicit = recording_options.sample is not None
        self._is_inside, self._cost_ns, self._failed = False, 0, ""
        self._sampling: Sampling | None = None
        if recording_options.no_sample:
            return
        try:
            require_free_memory()  # without which no sample could be kept
            from ticktree.supervisor.sampler.sampling import Sampling

            hz, self._is_inside = recording_options.sample or (None, False)
            self._sampling = Sampling(run.memory_dir, hz, is_inside=self._is_inside)
        except ModuleNotFoundError:  # built on a system where one process cannot read another
            if self._is_explicit:
                complain("sampling needs Linux: no other system lets one process read another")
        except (TicktreeError, OSError, MemoryError):
            if self._is_explicit:
                complain("the program is not sampled: there is not enough memory")

    def begin(self, pid: int) -> None:
        """Begin, now that the program has started."""
        if self._sampling is not None:
            try:
                self._sampling.begin(pid)
            except Exception as error:  # not even a bug in ticktree may harm the program, which has started
                self._failed = reason(error)

    def tasks(self) -> list[PeriodicTask]:
        """What to do while the program runs."""
        if self._sampling is None:
            return []
        return [
            PeriodicTask(self._sampling.look, _LOOK_EVERY_S, rest=_REST, cost=time.process_time),
            PeriodicTask(self._sampling.keep, _KEEP_EVERY_S, _KEEP_EVERY_S, _REST, time.process_time),
        ]

    def end(self) -> None:
        """Stop, now that the program has ended, and note what its source says of the samples while it is available."""
        if self._sampling is None:
            return
        try:
            sampled = self._sampling.end()
        except Exception as error:
            self._failed = reason(error)
            return
        self._failed = self._failed or self._sampling.unsaved
        self._cost_ns = sampled.cpu_ns if sampled is not None and self._is_inside else 0
        if sampled is not None:
            with suppress(OSError):  # a full disk
                self._run.describe(facts_of(sampled, self._run.manifest.argv))

    def failure(self) -> str | None:
        """Return a line for samples that are missing because of an error; None if there was none."""
        return f"samples of the program are missing: {self._failed}" if self._failed else None

    def say(self, *, is_empty: bool) -> None:
        """Print what sampling cost, or why the program was not sampled if that leaves the user without an answer."""
        if self._sampling is not None and self._sampling.refused and (self._is_explicit or is_empty):
            complain(
                f"the program was not sampled: the system does not let ticktree read its memory "
                f"({self._sampling.refused}); --sample thread samples on a thread in the program"
            )
        if self._cost_ns:
            complain(f"sampling used {self._cost_ns / 1e9:.3g} s of CPU time on threads in the program")


_MOST_BYTES = 1 << 22
# A function with a smaller share of the samples explains too little.
_LEAST_SHARE = 0.2
_AS_MUCH = 0.9
# A file with a smaller share has no line that a rule would speak of.
_LEAST_SHARE_OF_FILE = 0.01
# Where installers put packages, of this environment and of any other on the program's path.
_PACKAGES = frozenset({"site-packages", "dist-packages"})


def facts_of(sampled: StackSamples, argv: Sequence[str]) -> dict[str, str]:
    """Return what the source says of a program's samples: what to mark, a function for --focus, and lines of note."""
    # Imported here, because the start of `ticktree run` must not wait for the model.
    from ticktree.profile import SampledStack
    from ticktree.profile.samples import MIN_SAMPLES, SAMPLED_FUNCTION, SAMPLED_LOOP, SAMPLED_LOOP_CODE

    if sum(weight.count for weight in sampled.stacks.values()) < MIN_SAMPLES:
        return {}  # reports show nothing of so few
    from ticktree.analysis.line_kinds import noted_lines
    from ticktree.analysis.sampled_source import main_loop
    from ticktree.profile.noted_lines import SAMPLED_LINES, write_noted_lines

    stacks = [
        (SampledStack("", "", stack.state, stack.lines), weight)
        for stack, weight in sampled.stacks.items()
        if not stack.thread
    ]
    facts: dict[str, str] = {}
    often = _often(stacks)
    source_of = cache(lambda file: _own_source(file) if file in often else None)
    loop = main_loop(stacks, source_of)
    if loop is not None:
        facts[SAMPLED_LOOP] = f"{Path(loop.file).name}:{loop.line}"
        facts[SAMPLED_LOOP_CODE] = loop.mark
    function = _function(stacks, set(functions_of(list(argv))))
    if function is not None:
        facts[SAMPLED_FUNCTION] = function
    noted = noted_lines((stack for stack, _ in stacks), source_of)
    if noted:
        facts[SAMPLED_LINES] = write_noted_lines(noted)
    return facts


def _function(stacks: Sequence[tuple[SampledStack, Weight]], functions: set[str]) -> str | None:
    """Return the outermost of the script's functions that explain the most time; None if none explains enough."""
    times: dict[str, int] = defaultdict(int)
    depths: dict[str, int] = {}
    for stack, weight in stacks:
        names = [line.function for line in stack.lines]
        for function in functions & set(names):
            times[function] += weight.ns
            depths[function] = min(depths.get(function, len(names)), names.index(function))
    max_ns = max(times.values(), default=0)
    if max_ns < _LEAST_SHARE * sum(weight.ns for _, weight in stacks) or not max_ns:
        return None
    return min(
        (name for name in times if times[name] >= _AS_MUCH * max_ns), key=lambda name: (depths[name], name)
    )


def _often(stacks: Sequence[tuple[SampledStack, Weight]]) -> set[str]:
    """Return the files that enough of the samples pass through: to parse one takes milliseconds."""
    times: dict[str, int] = defaultdict(int)
    for stack, weight in stacks:
        for file in {line.file for line in stack.lines}:
            times[file] += weight.ns
    least_ns = _LEAST_SHARE_OF_FILE * sum(weight.ns for _, weight in stacks)
    return {file for file, ns in times.items() if ns >= least_ns}


def _own_source(file: str) -> str | None:
    """Return a file's source if it belongs to the program; None for the standard library and installed packages."""
    path = Path(file)
    library = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    is_installed = not _PACKAGES.isdisjoint(path.parts) or any(map(path.is_relative_to, library))
    if not file.endswith(".py") or is_installed:
        return None
    try:
        data = path.read_bytes() if path.stat().st_size <= _MOST_BYTES else b""
        return data.decode()
    except (OSError, ValueError):
        return None
