"""Names as they may be shown or written: whatever a program chose, nothing moves a cursor or hides.

`visible` is for people, to whom a line end and a backslash before an n may look the same. A file that another program
reads must not make two sections one: `literal` keeps every name one of its own.
"""

from __future__ import annotations


def visible(text: str) -> str:
    r"""Return `text` with each character that is not plainly visible written as an escape, such as `\x1b`.

    Those are controls, line ends, bidirectional overrides and other invisible formats, surrogates, characters
    that are not assigned, and all spaces but the plain one.
    """
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def literal(name: str) -> str:
    r"""Return `name` in plainly visible characters; different names stay different.

    A backslash is written `\\`, what cannot be seen as an escape such as `\n`, and a name of no characters `\e`.
    """
    return visible(name.replace("\\", "\\\\")) or "\\e"


def encodable(text: str) -> str:
    r"""Return `text` without what UTF-8 has no bytes for: a lone surrogate is written as `\ud800`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
