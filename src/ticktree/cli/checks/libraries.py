"""Which libraries `ticktree run` records by themselves, here and now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec

from ticktree.instrument import Library, known, refused


def check() -> Iterator[str]:
    """Yield those recorded by default, those on demand, and third parties' that are not taken."""
    libraries = known()
    yield f"Recorded by themselves under `ticktree run`: {_names(libraries, on_demand=False)}."
    if any(library.on_demand for library in libraries):
        yield f"On demand, as in --instrument default,NAME: {_names(libraries, on_demand=True)}."
    for library in refused():
        yield f"The library {library.name!r} of {library.distribution} is left out: its name is taken."


def _names(libraries: Iterable[Library], on_demand: bool) -> str:
    return ", ".join(_described(library) for library in libraries if library.on_demand == on_demand)


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
