"""The public functions that act on the program's own session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, overload

from ticktree import recorder as native
from ticktree.recorder.children import FOCUS_VARIABLES
from ticktree.recorder.focus import DEFAULT_DEPTH, begin_focus, check_names, end_focus, focus_environment
from ticktree.recorder.wrapping import Function
from ticktree.session.session import current
from ticktree.session.showing import print_profile

if TYPE_CHECKING:
    from ticktree.profile import Profile


def enable(*, timeline: bool | int = False, quiet: bool = False) -> None:
    """Start or continue recording. The run is kept in ./ticktree-runs/ when the program ends.

    The program's last line on standard error then names the run and the command that shows it.

    Args:
        timeline: How many completed calls per process to keep with start and end, the last ones; True for the default
            number. `ticktree export --to perfetto` shows them.
        quiet: Do not print that line.

    Raises:
        TicktreeError: `timeline` is below 0.
    """
    current.enable(timeline=timeline, quiet=quiet)


def disable() -> None:
    """Stop recording; calls that are open end now, and do not count as completed."""
    current.disable()


def snapshot() -> Profile:
    """Return the profile of everything this process has recorded so far; empty if it never recorded."""
    return current.snapshot()


def summary() -> None:
    """Print the tree to standard error."""
    print_profile(current.snapshot())


def focus(
    *names: str, depth: int = DEFAULT_DEPTH, c_functions: bool = False, warmup: int | None = None
) -> None:
    """Record every call of the named functions and the calls below them by call site; start recording if necessary.

    Processes that this one starts focus on the same functions.

    Args:
        names: `package.module.Class.method`, or `Class.method` for the program's own; without names, end the focus.
        depth: How many levels of calls below them to record.
        c_functions: Record calls of C functions there too.
        warmup: How many first calls of each function are set aside; None for as many as differ from the rest.

    Raises:
        TicktreeError: The focus is not possible; the message says why.
    """
    for variable in FOCUS_VARIABLES:
        os.environ.pop(variable, None)
    end_focus()
    if not names or native.IS_OFF:
        return
    functions = check_names(names)
    current.enable()
    begin_focus(current.recorder, functions, depth, c_functions, warmup)
    os.environ.update(focus_environment(functions, depth, c_functions, warmup))


@overload
def timed(
    target: Function,
    /,
    *,
    name: str | None = None,
    wait: bool = False,
    memory: bool = False,
    cpu: bool = False,
    device: str | None = None,
) -> Function: ...
@overload
def timed(
    target: str | None = None,
    /,
    *,
    name: str | None = None,
    wait: bool = False,
    memory: bool = False,
    cpu: bool = False,
    device: str | None = None,
) -> Callable[[Function], Function]: ...
def timed(
    target: Any = None,
    /,
    *,
    name: str | None = None,
    wait: bool = False,
    memory: bool = False,
    cpu: bool = False,
    device: str | None = None,
) -> Any:
    """Make a function a section: `@ticktree.timed`, or `@ticktree.timed("name", memory=True)`.

    Plain functions and methods are timed from call to return, coroutines from entry to exit including what they
    await, generators only while they run: each resumption is one call. Name, signature and docstring are kept.

    Args:
        target: The function, or a name for it instead of its qualified name.
        name: The name, if it is not the first argument.
        wait: The function waits rather than works.
        memory: Sample the memory that a call needs in the process and on devices.
        cpu: Sample CPU time.
        device: A device whose time to measure, too; see `section`.

    Raises:
        TypeError: The decorated object is not a function, or the name is not a str.
        ValueError: There is no such device.
    """
    return native.timed(current.recorder, target, name=name, wait=wait, memory=memory, cpu=cpu, device=device)


def instrument(*names: str) -> None:
    """Record known libraries without an edit of the program, in this process and in those that it starts.

    A library can be imported before or after: ticktree wraps it once it is imported.

    Args:
        names: As after `--instrument` of `ticktree run`: names of libraries, `default` for those that are not on
            demand, `-NAME` to leave one out; a name may be a comma-separated list. Without names, the default ones.

    Raises:
        TicktreeError: A name is not known.
    """
    from ticktree.instruments import install

    install(*_split_names(names))


def uninstrument(*names: str) -> None:
    """Remove the wrappers of `instrument` or `ticktree run` from known libraries.

    Args:
        names: Names of libraries; without names, all.

    Raises:
        TicktreeError: A name is not known.
    """
    from ticktree.instruments import uninstall

    uninstall(*_split_names(names))


def instrumented() -> tuple[str, ...]:
    """Return the names of the libraries that are recorded in this process, or will be once they are imported."""
    from ticktree.instruments import installed_names

    return installed_names()


def _split_names(names: Iterable[str]) -> list[str]:
    return [name.strip() for names in names for name in names.split(",")]
