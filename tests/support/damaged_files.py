"""Damage: what can happen to a file, drawn from a seeded source."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

VALUES = (
    *(
        None,
        True,
        -1,
        0,
        1,
        2**63,
        -(2**70),
        10**400,
        1.5,
        "",
        "x\0y",
        "\ud800",
        "\x1b[2J",
        "NaN",
        [],
        {},
        [[]],
    ),
    *({"a": 1}, [1, "x", None], "a" * 5000),
)
LITERALS = (
    b"1e400",
    b"-1e400",
    b"NaN",
    b"Infinity",
    b"9" * 5000,
    b"[" * 50_000,
    b'{"a":' * 20_000,
    b"-0.0",
    b"1E-400",
)


def damaged(content: bytes, noise: random.Random) -> bytes:
    """The content of a file after one kind of damage."""
    kinds = [_flipped, _cut, _spliced, _filled, _replaced]
    if content[:1] in (b"{", b"["):
        kinds += [_restructured] * 6 + [_with_literal] * 2
    return noise.choice(kinds)(content, noise)


def _flipped(content: bytes, noise: random.Random) -> bytes:
    found = bytearray(content)
    for _ in range(noise.choice([1, 1, 4, 30])):
        if found:
            found[noise.randrange(len(found))] ^= 1 << noise.randrange(8)
    return bytes(found)


def _cut(content: bytes, noise: random.Random) -> bytes:
    return content[: noise.randrange(len(content) + 1)]


def _spliced(content: bytes, noise: random.Random) -> bytes:
    first, last, at = (noise.randrange(len(content) + 1) for _ in range(3))
    return content[:at] + content[min(first, last) : max(first, last)] + content[at:]


def _filled(content: bytes, noise: random.Random) -> bytes:
    at, length = noise.randrange(len(content) + 1), noise.choice([1, 8, 64, 1000])
    return content[:at] + noise.choice([b"\0", b"\xff", b"\x7f"]) * length + content[at + length :]


def _replaced(content: bytes, noise: random.Random) -> bytes:
    at, length = noise.randrange(len(content) + 1), noise.choice([1, 2, 4, 8])
    return content[:at] + noise.randbytes(length) + content[at + length :]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every list or object with each of its keys, and so on in those."""
    found, waiting = [], [value]
    while waiting:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        for key in keys:
            found.append((one, key))
            waiting.append(one[key])
    return found


def _restructured(content: bytes, noise: random.Random) -> bytes:
    value = json.loads(content)
    places = _places(value)
    for _ in range(noise.choice([1, 1, 1, 3])):
        if places:
            around, key = noise.choice(places)
            other, other_key = noise.choice(places)
            what = noise.randrange(4)
            try:
                if what == 0:
                    del around[key]
                elif what == 1:
                    around[key] = copy.deepcopy(other[other_key])
                else:
                    around[key] = noise.choice(VALUES)
            except (KeyError, IndexError):
                continue
    return json.dumps(value).encode()


def _with_literal(content: bytes, noise: random.Random) -> bytes:
    value = json.loads(content)
    places = _places(value)
    if not places:
        return content
    around, key = noise.choice(places)
    around[key] = "@literal@"
    return json.dumps(value).encode().replace(b'"@literal@"', noise.choice(LITERALS), 1)
