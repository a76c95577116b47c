"""Puts data into the built front end, such that nothing a program named itself can be anything but text."""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any, Literal, TypeAlias

# A page of one run, and one of several: a comparison, or variants side by side.
FrontEnd: TypeAlias = Literal["page", "runs"]

_COMPACT = (",", ":")

# Where the data and the title go in the built page; each is in it once.
DATA = b"@@ticktree-data@@"
TITLE = b"@@ticktree-title@@"

_EVENTS_LEVEL = 3

# Shorter data stays legible in the file's source.
PLAIN_AT_MOST = 32_768

# JSON may write any character of a string so; without these three, no parser of HTML sees a tag, an entity or a
# comment in it.
_INERT = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def page(front_end: FrontEnd, what: str, said: bytes, words: Mapping[str, Any], events: bytes = b"") -> bytes:
    """Return a front end with its data in it; the same bytes for the same data.

    Args:
        front_end: which of those that are built.
        what: what it shows: "report", "comparison" or "variants".
        said: the same in JSON.
        words: what else it is told; its "title" is what the browser shows of it, and safe to show.
        events: columns of single calls; without them, the page has no place for any.
    """
    data = (
        b'{"'
        + what.encode()
        + b'":'
        + said
        + b',"view":'
        + json.dumps(words, separators=_COMPACT).encode()
        + b"}"
    )
    built = resources.files("ticktree.outputs.html").joinpath(f"{front_end}.html").read_bytes()
    before, _, rest = built.partition(TITLE)
    between, _, after = rest.partition(DATA)
    return b"".join(
        (before, html.escape(words["title"]).encode(), between, embedded(data), _beside(events), after)
    )


def _beside(events: bytes) -> bytes:
    """Return events in an element of their own behind the data's: they are unpacked when somebody wants them."""
    if not events:
        return b""
    # Most of what is in them looks like chance: a better compression would take twice as long for a hundredth.
    packed = base64.b64encode(gzip.compress(events, compresslevel=_EVENTS_LEVEL, mtime=0))
    return b'</script>\n    <script id="ticktree-events" type="text/plain">' + packed


def embedded(data: bytes) -> bytes:
    """Return JSON in ASCII as the text of a script element that no script runs: itself, or packed and in base64."""
    if len(data) <= PLAIN_AT_MOST:
        return data.decode("ascii").translate(_INERT).encode("ascii")
    return base64.b64encode(gzip.compress(data, compresslevel=9, mtime=0))
