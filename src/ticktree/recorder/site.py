"""Call sites: where in a program a section is, as (file, line, function)."""

from __future__ import annotations

from typing import Any, TypeAlias

Site: TypeAlias = tuple[str, int, str]

# Of what is nowhere in the program, or everywhere: its row says no place.
NO_SITE: Site = ("", 0, "")


def site_of(function: Any) -> Site:
    """Return where a function is defined, or what it wraps; `NO_SITE` of one in C."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    if code is None:
        return NO_SITE
    return (code.co_filename, code.co_firstlineno, getattr(function, "__qualname__", code.co_name))
