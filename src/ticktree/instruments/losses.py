"""What of a library could not be instrumented: counted, named once, and never the program's affair."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from ticktree.errors import one_line

_LONGEST_REASON = 200  # characters: an exception may quote a whole file


class MissingTargetError(AttributeError):
    """A class or function that an instrument wraps is not where it expects it."""


class UntestedVersionError(Exception):
    """An instrument that needs private functions of a library was not tested with this version of it.

    Args:
        text: The reason, for the user.
        used_by: The function, `module:path`, whose call shows that the program uses what is not recorded; "" where
            the import does. torch imports its compiler and its distributed models in programs that use neither.
    """

    def __init__(self, text: str, used_by: str = "") -> None:
        super().__init__(text)
        self.used_by = used_by


class InstrumentLoss(NamedTuple):
    """One module of a library that is left as it is.

    Attributes:
        library: Its name, as after `--instrument`; a third party's with its distribution.
        version: Of the distribution; "" where it is not known.
        target: The module, or "" for all of the library.
        reason: Why, in one line.
    """

    library: str
    version: str
    target: str
    reason: str

    def sentence(self) -> str:
        """Return the message for the user, in one line."""
        version = f" {self.version}" if self.version else ""
        what = f"{self.target} of {self.library}{version}" if self.target else f"{self.library}{version}"
        return f"cannot instrument {what}: {self.reason}"


def _print(loss: InstrumentLoss) -> None:
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(f"ticktree: {one_line(loss.sentence())}", file=sys.stderr)


# Called with each loss. Where the process has a run, the session has it noted there (session/session.py), so that
# `ticktree run` says it once, however many processes meet it.
report: Callable[[InstrumentLoss], None] = _print

# Which library is being installed, and the distribution whose version a loss names.
_installing: tuple[str, str] = ("", "")


@contextmanager
def installing(library: str, distribution: str) -> Iterator[None]:
    """Have what is watched meanwhile be of this library."""
    global _installing
    before, _installing = _installing, (library, distribution)
    try:
        yield
    finally:
        _installing = before


def current() -> tuple[str, str]:
    """Return the library that is being installed, and its distribution."""
    return _installing


def note(whose: tuple[str, str], target: str, error: BaseException) -> None:
    """Report a loss; never raises.

    Args:
        whose: What `current` returned when it began.
        target: The module that is left as it is; "" for the whole library.
        error: What went wrong.
    """
    library, distribution = whose
    text = " ".join(str(error).split())[:_LONGEST_REASON]
    if not isinstance(error, (MissingTargetError, UntestedVersionError)):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    with suppress(Exception):
        report(InstrumentLoss(library, version_of(distribution), target, text))


def version_of(distribution: str) -> str:
    """Return the installed version of a distribution, without its build; "" where there is none."""
    if not distribution:
        return ""
    from importlib import metadata  # here, because it costs a program that lacks nothing 20 ms

    try:
        return metadata.version(distribution).partition("+")[0]
    except metadata.PackageNotFoundError:
        return ""


def is_tested(version: str, tested: str) -> bool:
    """Return whether a version is in a range such as `>=2.3,<2.10`; one that is not known is not."""
    if not version:
        return False
    number = _release(version)
    least, _, below = tested.removeprefix(">=").partition(",<")
    return _release(least) <= number < _release(below)


def _release(version: str) -> tuple[int, ...]:
    """The numbers at a version's beginning: those of 2.10.0rc1 are 2, 10 and 0."""
    numbers = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)
