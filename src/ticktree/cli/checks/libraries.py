"""Which libraries `ticktree run` instruments, here and now, and which of them in versions that are not tested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec

from ticktree.instruments import Instrument, Library, known, refused
from ticktree.instruments.losses import is_tested, version_of


def check() -> Iterator[str]:
    """Yield those that are by default, those on demand, untested versions, and third parties' that are not taken."""
    libraries = known()
    yield f"Instrumented under `ticktree run`: {_names(libraries, on_demand=False)}."
    if any(library.on_demand for library in libraries):
        yield f"On demand, as in --instrument default,NAME: {_names(libraries, on_demand=True)}."
    yield from _untested(libraries)
    for library in refused():
        yield f"The library {library.name!r} of {library.distribution} is left out: its name is taken."


def _names(libraries: Iterable[Library], on_demand: bool) -> str:
    return ", ".join(_described(library) for library in libraries if library.on_demand == on_demand)


def _untested(libraries: Iterable[Library]) -> Iterator[str]:
    for library in libraries:
        if library.distribution:  # a third party's code is not imported for this
            continue
        instrument = library.instrument()
        if isinstance(instrument, Instrument) and instrument.tested:
            version = version_of(instrument.distribution)
            if version and not is_tested(version, instrument.tested):
                yield f"{library.name}: {instrument.distribution} {version} is not tested, but {instrument.tested}."


def _described(library: Library) -> str:
    if library.distribution:
        return f"{library.name} (of {library.distribution})"
    there = not library.packages or any(_is_there(package) for package in library.packages)
    return library.name if there else f"{library.name} (not installed here)"


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (
        ImportError,
        ValueError,
    ):  # of a package whose parent is broken, or that is there under a false name
        return False
