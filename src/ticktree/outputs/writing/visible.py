"""Names as they may be shown: nothing gets through that moves a cursor or hides, whatever a program chose."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""Return `text` with each character that is not plainly visible written as an escape, such as `\x1b`.

    Those are controls, line ends, bidirectional overrides and other invisible formats, surrogates, characters
    that are not assigned, and all spaces but the plain one.
    """
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
