"""The checks of `ticktree doctor` on recording: whether it works here, with which libraries, and what a run has."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

from ticktree.cli.focus import never_called_of
from ticktree.cli.machine_checks import Broken, Problem
from ticktree.cli.summary import why_empty
from ticktree.errors import TicktreeError
from ticktree.instruments import Instrument, Library, available_libraries, shadowed_libraries
from ticktree.instruments.losses import is_tested, version_of
from ticktree.loading import load
from ticktree.outputs.writing import formatting
from ticktree.profile.machine import FOCUS_UNSEEN, program_gauges
from ticktree.recorder import IS_OFF, OFF_VARIABLE, gil
from ticktree.run.directory import DEFAULT_OUT
from ticktree.run.finishing import RunDirectory
from ticktree.run.losses import instrument_losses

_PROGRAM = "import ticktree\nwith ticktree.section('here'): pass"
_PTH = "ticktree.pth"


def recording() -> Iterator[str]:
    """Yield whether recording works, and if not, why."""
    try:
        with tempfile.TemporaryDirectory(prefix="ticktree-doctor-") as out:
            complaint, recorded = _record(Path(out))
    except (TicktreeError, OSError) as error:
        yield Broken(f"Does not work: {error}.")
        return
    if recorded:
        yield "Works: a test program was started, recorded and read back."
        return
    yield Broken("Does not work: a test program was started, and nothing was recorded.")
    if complaint:
        yield Broken(f"Its output: {complaint}")
    if IS_OFF and not gil.is_gil_disabled():  # the line on Python reports the latter
        yield Broken(f"{OFF_VARIABLE} is set, which turns ticktree off.")
    elif not any((place / _PTH).is_file() for place in _places()):
        yield Broken(f"{_PTH} is not in a site directory of this Python: install ticktree again.")


def _record(out: Path) -> tuple[str, bool]:
    """Run the program; return its standard error, and whether its section was recorded."""
    run = RunDirectory.create("doctor", out, supervised=True)
    try:
        process = subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={**os.environ, "TICKTREE_RUN": str(run.path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    finally:
        profile = run.finish()
    return process.stderr.strip(), "here" in profile.root.children


def _places() -> Iterator[Path]:
    yield from map(Path, site.getsitepackages())
    if site.ENABLE_USER_SITE:
        yield Path(site.getusersitepackages())


def libraries() -> Iterator[str]:
    """Yield the libraries by default, those on demand, untested versions, and third-party ones that are left out."""
    libraries = available_libraries()
    yield f"Instrumented under `ticktree run`: {_names(libraries, on_demand=False)}."
    if any(library.on_demand for library in libraries):
        yield f"On demand, as in --instrument default,NAME: {_names(libraries, on_demand=True)}."
    yield from _untested(libraries)
    for library in shadowed_libraries():
        yield Problem(
            f"The instrument {library.name!r} of {library.distribution} is left out: another one has this name."
        )


def _names(libraries: Iterable[Library], on_demand: bool) -> str:
    return ", ".join(_described(library) for library in libraries if library.on_demand == on_demand)


def _untested(libraries: Iterable[Library]) -> Iterator[str]:
    for library in libraries:
        if library.distribution:  # doctor does not import third-party code for this
            continue
        instrument = library.instrument()
        if isinstance(instrument, Instrument) and instrument.tested:
            version = version_of(instrument.distribution)
            if version and not is_tested(version, instrument.tested):
                yield Problem(
                    f"{library.name}: {instrument.distribution} {version} is not tested; {instrument.tested} is."
                )


def _described(library: Library) -> str:
    if library.distribution:
        return f"{library.name} (of {library.distribution})"
    is_usable = not library.packages or any(_is_there(package) for package in library.packages)
    return library.name if is_usable else f"{library.name} (not installed here)"


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # its parent is broken, or it is installed under another name
        return False


def newest(path: Path | None) -> Iterator[str]:
    """Yield what the run at `path`, or the newest run, has recorded."""
    if path is None:
        runs = RunDirectory.list(DEFAULT_OUT)
        if not runs:
            yield (
                f"None in {DEFAULT_OUT} yet: record one with `ticktree run SCRIPT`, with a program that calls "
                "ticktree.enable(), or with `ticktree demo`."
            )
            return
        path = runs[-1].path
    try:
        profile = load(path)
    except TicktreeError as error:
        if path.exists():
            yield Problem(f"{error}.")
            return
        raise
    if FOCUS_UNSEEN in profile.gauges:
        yield Problem(
            f"{path.name}: another profiler used the hook that --focus needs: calls may be missing."
        )
    for name in never_called_of(profile):
        yield Problem(f"{path.name}: --focus {name} was never called.")
    for sentence in instrument_losses(profile):
        yield Problem(f"{path.name}: {sentence}.")
    reason = why_empty(profile)
    if reason is not None:
        yield Problem(f"{path.name} is empty: {reason}.")
        return
    nodes = sum(1 for _ in profile.root.walk()) - 1
    calls = sum(node.count for _, _, node in profile.root.walk())
    counts = (
        (nodes, "node"),
        (calls, "call"),
        (len(profile.loops), "loop"),
        (len(program_gauges(profile.gauges)), "gauge"),
    )
    yield f"{path.name}: {', '.join(formatting.counted(number, noun) for number, noun in counts)}."
