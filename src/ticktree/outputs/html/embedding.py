"""Embeds data into the built front end so that names chosen by a program remain text."""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any, Literal, TypeAlias

# A page for one run, and a page for several: a comparison, or variants side by side.
FrontEnd: TypeAlias = Literal["page", "runs"]

# The placeholders for the data and the title; the built page has each once.
DATA = b"@@ticktree-data@@"
TITLE = b"@@ticktree-title@@"

_EVENTS_LEVEL = 3

# Shorter data stays readable in the file's source.
PLAIN_AT_MOST = 32_768

# JSON allows this form for any character of a string; without these three characters, an HTML parser finds no tag,
# entity or comment in it.
_INERT = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def page(
    front_end: FrontEnd, view: str, document: bytes, words: Mapping[str, Any], events: bytes = b""
) -> bytes:
    """Return a front end with its data in it; the same bytes for the same data.

    Args:
        front_end: one of the built front ends.
        view: "report", "comparison" or "variants".
        document: the data in JSON.
        words: further data; its "title" is the title of the page, safe to show.
        events: columns of single calls; without them, the page has no element for them.
    """
    about = json.dumps(words, separators=(",", ":")).encode()
    data = embedded(b'{"%b":%b,"view":%b}' % (view.encode(), document, about))
    built = resources.files("ticktree.outputs.html").joinpath(f"{front_end}.html").read_bytes()
    before, _, rest = built.partition(TITLE)
    between, _, after = rest.partition(DATA)
    return b"".join((before, html.escape(words["title"]).encode(), between, data, _events(events), after))


def _events(events: bytes) -> bytes:
    """Return events in a separate element after the data: the page unpacks them only when needed."""
    if not events:
        return b""
    # Most bytes are nearly random: a higher level would take twice as long and save one percent.
    packed = base64.b64encode(gzip.compress(events, compresslevel=_EVENTS_LEVEL, mtime=0))
    return b'</script>\n    <script id="ticktree-events" type="text/plain">' + packed


def embedded(data: bytes) -> bytes:
    """Return ASCII JSON as the text of an inert script element: unchanged, or compressed and in base64."""
    if len(data) <= PLAIN_AT_MOST:
        return data.decode("ascii").translate(_INERT).encode("ascii")
    return base64.b64encode(gzip.compress(data, compresslevel=9, mtime=0))
