"""Names that are safe to show or write: no character of them moves a cursor or is invisible.

`visible` is for people, to whom a line end and a backslash before an n may look the same. `literal` is for other
programs: different names stay different.
"""

from __future__ import annotations


def visible(text: str) -> str:
    r"""Return `text` with each invisible character escaped, such as `\x1b`.

    These are controls, line ends, bidirectional overrides and other invisible formats, surrogates, unassigned
    characters, and all spaces except the ASCII space.
    """
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def literal(name: str) -> str:
    r"""Return `name` in visible characters; different names stay different.

    A backslash is written `\\`, an invisible character as an escape such as `\n`, and an empty name `\e`.
    """
    return visible(name.replace("\\", "\\\\")) or "\\e"


def encodable(text: str) -> str:
    r"""Return `text` with lone surrogates, which UTF-8 cannot encode, escaped, such as `\ud800`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
