"""Random damage to the content of a file, from a seeded source."""

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
    kinds = [_flip_bits, _cut, _splice, _fill, _replace_bytes]
    if content[:1] in (b"{", b"["):
        kinds += [_restructure] * 6 + [_with_literal] * 2
    return noise.choice(kinds)(content, noise)


def _flip_bits(content: bytes, noise: random.Random) -> bytes:
    result = bytearray(content)
    for _ in range(noise.choice([1, 1, 4, 30])):
        if result:
            result[noise.randrange(len(result))] ^= 1 << noise.randrange(8)
    return bytes(result)


def _cut(content: bytes, noise: random.Random) -> bytes:
    return content[: noise.randrange(len(content) + 1)]


def _splice(content: bytes, noise: random.Random) -> bytes:
    first, last, position = (noise.randrange(len(content) + 1) for _ in range(3))
    return content[:position] + content[min(first, last) : max(first, last)] + content[position:]


def _fill(content: bytes, noise: random.Random) -> bytes:
    position, length = noise.randrange(len(content) + 1), noise.choice([1, 8, 64, 1000])
    return (
        content[:position] + noise.choice([b"\0", b"\xff", b"\x7f"]) * length + content[position + length :]
    )


def _replace_bytes(content: bytes, noise: random.Random) -> bytes:
    position, length = noise.randrange(len(content) + 1), noise.choice([1, 2, 4, 8])
    return content[:position] + noise.randbytes(length) + content[position + length :]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every list or object with each of its keys, and so on in those."""
    places, waiting = [], [value]
    while waiting:
        value = waiting.pop()
        keys = (
            list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        )
        for key in keys:
            places.append((value, key))
            waiting.append(value[key])
    return places


def _restructure(content: bytes, noise: random.Random) -> bytes:
    value = json.loads(content)
    places = _places(value)
    for _ in range(noise.choice([1, 1, 1, 3])):
        if places:
            around, key = noise.choice(places)
            other_container, other_key = noise.choice(places)
            action = noise.randrange(4)
            try:
                if action == 0:
                    del around[key]
                elif action == 1:
                    around[key] = copy.deepcopy(other_container[other_key])
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
