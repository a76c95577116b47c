"""What requests are called: few names, whatever paths there are."""

from __future__ import annotations

import re

# Names with paths, of one process. Every name is a node, with its percentiles.
PATHS_AT_MOST = 64
# With the names of hosts alone, which those get that come after.
NAMES_AT_MOST = 128
_KEPT_AT_MOST = 1024

_METHODS = frozenset(
    ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY")
)
# A number, or what is made to be found in no list of names: numbers of 16 digits (UUIDs too), long texts.
_CHOSEN = re.compile(r"[0-9]+|(?=[^/]*[0-9])[0-9a-fA-F-]{8,}|.{33,}")


class Names:
    """The names of one kind of requests: method, host and path, without what is different in each.

    Of a path, a segment that is a number, a hash or longer than 32 characters is written `{}`; what comes after `?` is
    left out. After 64 paths, further ones are only called by their host; after that, by nothing but the method.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._named: dict[tuple[str, str, str], str] = {}

    def of(self, method: str, host: str, path: str) -> str:
        """Return what a request is called.

        Args:
            method: As it is sent.
            host: With its port, where that is said; "" on the server's side.
            path: As it is sent.
        """
        asked = (method, host, path)
        name = self._named.get(asked)
        if name is None:
            name = self._new(method, host, path)
            if len(self._named) < _KEPT_AT_MOST:
                self._named[asked] = name
        return name

    def _new(self, method: str, host: str, path: str) -> str:
        method = method.upper()
        method = method if method in _METHODS else "(other method)"
        full = f"{method} {host[:64]}{_shape(path)}"
        for name, room in ((full, PATHS_AT_MOST), (f"{method} {host[:64]}/...", NAMES_AT_MOST)):
            if name in self._known or len(self._known) < room:
                self._known.add(name)
                return name
        return f"{method} (other hosts)"


def _shape(path: str) -> str:
    path = path.partition("?")[0].partition("#")[0]
    segments = ("{}" if _CHOSEN.fullmatch(segment) else segment for segment in path.split("/"))
    return "/".join(segments)[:128]
