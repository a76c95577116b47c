"""Call sites: the position of a section in a program, as (file, line, function)."""

from __future__ import annotations

from typing import Any, TypeAlias

Site: TypeAlias = tuple[str, int, str]

# For what has no position in the program, or many: its row shows no call site.
NO_SITE: Site = ("", 0, "")


def site_of(function: Any) -> Site:
    """Return where a function, or the one it wraps, is defined; `NO_SITE` for one in C."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    if code is None:
        return NO_SITE
    return (code.co_filename, code.co_firstlineno, getattr(function, "__qualname__", code.co_name))
