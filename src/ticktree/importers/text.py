"""Parse the JSON of a file, compressed or not, from ticktree or another program."""

from __future__ import annotations

import json
from typing import Any

from ticktree.files.guarded import decompress
from ticktree.profile import ProfileError, codec
from ticktree.profile.codec import pause_gc

_GZIP = b"\x1f\x8b"


def parse_json(content: bytes) -> Any:
    """Return the JSON value in a file's content.

    Traces may contain what other readers of traces accept: NaN and infinities, which profiles must not contain, and a
    list of events without its end, because their writers omit it when they are stopped.

    Raises:
        ProfileError: it is not JSON, or a damaged compressed file.
    """
    if content.startswith(_GZIP):
        content = _decompress(content)
    text = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"[") or b'"traceEvents"' in text:
        return _parse_trace(text)
    return codec.parse_json(content)


def _decompress(content: bytes) -> bytes:
    try:
        return bytes(decompress(content))
    except ValueError as error:
        raise ProfileError(str(error)) from None


def _parse_trace(content: bytes) -> Any:
    try:
        text = content.decode()
        with pause_gc():
            try:
                return _decode(text)
            except json.JSONDecodeError:
                if not text.startswith("["):
                    raise
                return _decode(text.rstrip().rstrip(",") + "]")
    except ValueError as error:
        raise ProfileError(f"a Chrome trace that is damaged or cut short: not JSON ({error})") from None


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        return codec.loads(text, json.JSONDecoder())
