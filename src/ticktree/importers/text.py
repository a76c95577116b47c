"""The text of a file as JSON has it: compressed or not, of our own making or of another program's."""

from __future__ import annotations

import json
from typing import Any

from ticktree.files.guarded import unpacked
from ticktree.profile import ProfileError, codec
from ticktree.profile.codec import collector_paused

_GZIP = b"\x1f\x8b"


def value_in(content: bytes) -> Any:
    """Return what JSON has in a file's content.

    Traces are forgiven what their readers forgive: what is no number, which profiles may not hold, and a list of
    events without its end, which their writers leave out when they are stopped.

    Raises:
        ProfileError: it is not JSON, or a compressed file that is damaged.
    """
    if content.startswith(_GZIP):
        content = _decompressed(content)
    text = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"[") or b'"traceEvents"' in text:
        return _trace(text)
    return codec.value_in(content)


def _decompressed(content: bytes) -> bytes:
    try:
        return bytes(unpacked(content))
    except ValueError as error:
        raise ProfileError(str(error)) from None


def _trace(content: bytes) -> Any:
    try:
        text = content.decode()
        with collector_paused():
            try:
                return _decoded(text)
            except json.JSONDecodeError:
                if not text.startswith("["):
                    raise
                return _decoded(text.rstrip().rstrip(",") + "]")
    except ValueError as error:
        raise ProfileError(f"a Chrome trace that is damaged or cut short: not JSON ({error})") from None


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        return codec.loads(text, json.JSONDecoder())
