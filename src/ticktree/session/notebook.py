"""`%load_ext ticktree`: the IPython extension that records a cell that begins with `%%ticktree`, and shows its report.

The extension removes the line before IPython compiles the cell, and records between IPython's events for the cell's
begin and end. So IPython runs the cell like every other, with its result, its output, its exceptions and `await`: a
magic that ran the cell would have to imitate all that. IPython itself is never imported: it is the caller.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ticktree.errors import TicktreeError, reason
from ticktree.session.functions import instrument
from ticktree.session.session import current
from ticktree.session.showing import print_line

if TYPE_CHECKING:
    from ticktree.profile import Profile

MAGIC = "%%ticktree"
NOTHING = (
    "nothing was recorded in this cell: it entered no section and called no library that ticktree knows; mark its "
    'loop with ticktree.loop("name", iterable) or a part of it with `with ticktree.section("name"):`'
)


def load_ipython_extension(shell: Any) -> None:
    """Record cells that begin with `%%ticktree`, and instrument known libraries in them."""
    if _extension(shell) is None:
        instrument("default", "-waits")  # the kernel waits for its own threads, within every cell
        Extension(shell).load()


def unload_ipython_extension(shell: Any) -> None:
    """Stop recording cells."""
    extension = _extension(shell)
    if extension is not None:
        extension.unload()


def _extension(shell: Any) -> Extension | None:
    return next((item for item in shell.input_transformers_cleanup if isinstance(item, Extension)), None)


class Extension:
    """The callbacks that are registered with IPython."""

    # Prevents a terminal from calling it to check whether a cell is complete: a magic is, once an empty line follows.
    has_side_effects = True

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._depth = 0  # a cell may run other cells
        self._is_recording = False
        self._was_recording = False
        self._base: Profile | None = None

    def load(self) -> None:
        """Register the callbacks."""
        self._shell.input_transformers_cleanup.insert(0, self)
        self._shell.events.register("pre_run_cell", self.begin)
        self._shell.events.register("post_run_cell", self.end)
        self._shell.register_magic_function(self.misplaced, "cell", MAGIC.removeprefix("%%"))

    def unload(self) -> None:
        """Unregister the callbacks."""
        self._shell.input_transformers_cleanup.remove(self)
        self._shell.events.unregister("pre_run_cell", self.begin)
        self._shell.events.unregister("post_run_cell", self.end)
        self._shell.magics_manager.magics["cell"].pop(MAGIC.removeprefix("%%"), None)

    def __call__(self, lines: list[str]) -> list[str]:
        """Return a cell's lines for IPython to compile, without the first line if it is the magic."""
        if self._depth or not _is_marked("".join(lines)):
            return lines
        return lines[next(index for index, line in enumerate(lines) if line.strip()) + 1 :]

    def misplaced(self, line: str, cell: str) -> None:  # noqa: ARG002 - IPython passes both to a magic
        """Record this cell and show its report below it. It is the cell's first line, without anything behind it."""
        raise TicktreeError(f"{MAGIC} must be the cell's first line, and nothing may follow it there")

    def begin(self, info: Any) -> None:
        """Begin to record if the cell begins with the magic."""
        self._depth += 1
        if self._depth == 1 and _is_marked(info.raw_cell):
            try:
                self._begin()
            except Exception as error:  # the cell runs in any case
                print_line(f"cannot record this cell: {reason(error)}")

    def end(self, result: Any) -> None:
        """Show the cell's report if it was recorded."""
        if not result.info.raw_cell.strip():  # IPython sends no begin event for empty cells
            return
        self._depth = max(0, self._depth - 1)
        if self._depth == 0 and self._is_recording:
            try:
                self._end(result)
            except Exception as error:  # not the cell's fault
                print_line(f"cannot show this cell: {reason(error)}")

    def _begin(self) -> None:
        self._was_recording = current.recorder.recording
        # A run that is being recorded continues; the cell's profile is the difference.
        self._base = current.snapshot() if current.run else None
        self._is_recording = True
        if current.run:
            current.resume()
        else:
            current.begin_afresh()

    def _end(self, result: Any) -> None:
        self._is_recording = False
        profile, base, self._base = current.snapshot(), self._base, None
        if not self._was_recording:
            current.disable()
        if base is not None:
            profile = _subtract(base, profile)
        from ticktree.profile.machine import is_empty

        if is_empty(profile):
            if result.error_before_exec is None:
                print_line(NOTHING)
            return
        name = f"In [{result.execution_count}]" if result.execution_count else "cell"
        named = replace(profile, metadata={**profile.metadata, "name": frozenset({name})})
        data, metadata = self._shell.display_formatter.format(named)
        self._shell.display_pub.publish(data=data, metadata=metadata)


def _is_marked(cell: str) -> bool:
    return next((line.strip() for line in cell.splitlines() if line.strip()), "") == MAGIC


def _subtract(base: Profile, profile: Profile) -> Profile:
    from ticktree.live.difference import NotLaterError, difference

    try:
        return difference(base, profile)
    except NotLaterError:  # the cell reset the recording: the profile is the cell's
        return profile
