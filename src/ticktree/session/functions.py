"""The public functions that act on the program's own session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, overload

from ticktree import recorder as native
from ticktree.recorder.children import FOCUS_VARIABLES
from ticktree.recorder.focus import DEPTH, begin_focus, checked_names, end_focus, focus_environment
from ticktree.recorder.timed import Function
from ticktree.session.session import current
from ticktree.session.showing import print_profile

if TYPE_CHECKING:
    from ticktree.profile import Profile


def enable(*, timeline: bool | int = False, quiet: bool = False) -> None:
    """Starts or continues recording. The run is kept in ./ticktree-runs/ when the program ends.

    The program's last line on standard error then says where, and how to see it.

    Args:
        timeline: Of how many completed calls of each process to keep start and end, the last ones; True for as many
            as are kept by default. They are what `ticktree export --to perfetto` shows.
        quiet: Do not print that line.

    Raises:
        TicktreeError: `timeline` is below 0.
    """
    current.enable(timeline=timeline, quiet=quiet)


def disable() -> None:
    """Stops recording; what is open is left at this moment, without counting as completed."""
    current.disable()


def snapshot() -> Profile:
    """What this process has recorded so far, as a profile; empty if it never recorded."""
    return current.snapshot()


def summary() -> None:
    """Prints the tree to standard error."""
    print_profile(current.snapshot())


def focus(*names: str, depth: int = DEPTH, c_functions: bool = False, warmup: int | None = None) -> None:
    """Records every call of the functions named and the calls below them, by call site; starts recording if need be.

    Processes that are started from here look at the same functions.

    Args:
        names: `package.module.Class.method`, or of the program itself `Class.method`; none: nothing is any more.
        depth: How many levels of calls below them.
        c_functions: Record calls of C functions there too.
        warmup: First calls of each function whose statistics are set aside; None: as many as are unlike the rest.

    Raises:
        TicktreeError: It cannot be: says why.
    """
    for variable in FOCUS_VARIABLES:
        os.environ.pop(variable, None)
    end_focus()
    if not names or native.OFF_FOR_GOOD:
        return
    checked = checked_names(names)
    current.enable()
    begin_focus(current.recorder, checked, depth, c_functions, warmup)
    os.environ.update(focus_environment(checked, depth, c_functions, warmup))


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
    """Makes a function a section: `@ticktree.timed`, or `@ticktree.timed("name", memory=True)`.

    Plain functions and methods are timed from call to return, coroutines from entry to exit with what they
    await, generators only while they run: each resumption is one call. Name, signature and docstring are kept.

    Args:
        target: The function, or a name for it instead of its qualified name.
        name: The same name, where it is not the first argument.
        wait: The function waits rather than works.
        memory: Sample the memory that a call needs, of the process and of devices.
        cpu: Sample CPU time.
        device: A device whose time is to be measured, too; see `section`.

    Raises:
        TypeError: If what is decorated is not a function, or the name is not a str.
        ValueError: If there is no such device.
    """
    return native.timed(current.recorder, target, name=name, wait=wait, memory=memory, cpu=cpu, device=device)


def instrument(*names: str) -> None:
    """Record what known libraries do, without an edit of the program, in this process and in those that it starts.

    Before a library is imported or after: it is wrapped when it is there.

    Args:
        names: As after `--instrument` of `ticktree run`: names of libraries, `default` for those that are not on
            demand, `-NAME` to leave one out; commas may stand between. Without any, the default ones.

    Raises:
        TicktreeError: One of them is not known.
    """
    from ticktree.instruments import install

    install(*_words(names))


def uninstrument(*names: str) -> None:
    """Put back what known libraries were wrapped with: by `instrument`, or by `ticktree run`.

    Args:
        names: Which; without any, all.

    Raises:
        TicktreeError: One of them is not known.
    """
    from ticktree.instruments import uninstall

    uninstall(*_words(names))


def instrumented() -> tuple[str, ...]:
    """Return the names of the libraries that are recorded in this process, or will be when they are imported."""
    from ticktree.instruments import installed

    return installed()


def _words(names: Iterable[str]) -> list[str]:
    return [word.strip() for name in names for word in name.split(",")]
