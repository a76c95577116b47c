"""Parts of libraries that could not be instrumented: counted, reported once, never raised in the program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from ticktree.errors import one_line

_MAX_REASON_LENGTH = 200  # characters: an exception may quote a whole file


class MissingTargetError(AttributeError):
    """A class or function that an instrument wraps does not exist where the instrument expects it."""


class UntestedVersionError(Exception):
    """An instrument that needs private functions of a library was not tested with this version of it.

    Args:
        text: The reason, for the user.
        used_by: The function, `module:path`, whose call shows that the program uses what is not recorded; "" if
            the import shows it. torch imports its compiler and its distributed models in programs that use neither.
    """

    def __init__(self, text: str, used_by: str = "") -> None:
        super().__init__(text)
        self.used_by = used_by


class InstrumentLoss(NamedTuple):
    """One module of a library that is not wrapped.

    Attributes:
        library: Its name for `--instrument`; a third party's with its distribution.
        version: The distribution's version; "" if it is unknown.
        target: The module, or "" for the whole library.
        reason: The reason, in one line.
    """

    library: str
    version: str
    target: str
    reason: str

    def sentence(self) -> str:
        """Return the message for the user, in one line."""
        version = f" {self.version}" if self.version else ""
        target = f"{self.target} of {self.library}{version}" if self.target else f"{self.library}{version}"
        return f"cannot instrument {target}: {self.reason}"


def _print(loss: InstrumentLoss) -> None:
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(f"ticktree: {one_line(loss.sentence())}", file=sys.stderr)


# Called with each loss. If the process has a run, the session notes the loss there (session/session.py), so that
# `ticktree run` prints it once, however many processes have it.
report: Callable[[InstrumentLoss], None] = _print

# The library that is being installed, and the distribution whose version a loss names.
_installing: tuple[str, str] = ("", "")


@contextmanager
def installing(library: str, distribution: str) -> Iterator[None]:
    """Attribute losses of modules that are watched meanwhile to this library."""
    global _installing
    before, _installing = _installing, (library, distribution)
    try:
        yield
    finally:
        _installing = before


def current() -> tuple[str, str]:
    """Return the library that is being installed, and its distribution."""
    return _installing


def note(library: tuple[str, str], target: str, error: BaseException) -> None:
    """Report a loss; never raises.

    Args:
        library: What `current` returned when the installation began.
        target: The module that is not wrapped; "" for the whole library.
        error: The reason.
    """
    name, distribution = library
    reason = " ".join(str(error).split())[:_MAX_REASON_LENGTH]
    if not isinstance(error, (MissingTargetError, UntestedVersionError)):
        reason = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
    with suppress(Exception):
        report(InstrumentLoss(name, version_of(distribution), target, reason))


def version_of(distribution: str) -> str:
    """Return the installed version of a distribution, without its build; "" if it is not installed."""
    if not distribution:
        return ""
    from importlib import metadata  # here, because it would cost programs without losses 20 ms

    try:
        return metadata.version(distribution).partition("+")[0]
    except metadata.PackageNotFoundError:
        return ""


def is_tested(version: str, tested: str) -> bool:
    """Return whether a version is in a range such as `>=2.3,<2.10`; an unknown version, "", is not."""
    if not version:
        return False
    oldest, _, end = tested.removeprefix(">=").partition(",<")
    return _release(oldest) <= _release(version) < _release(end)


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers at the beginning of a version: 2, 10 and 0 for 2.10.0rc1."""
    numbers = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)
