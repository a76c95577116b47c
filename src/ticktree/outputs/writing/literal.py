r"""Names as a text format can hold them: every name stays one of its own, whatever the program chose.

`visible` is for people, to whom a line end and a backslash before an n may look the same. A file that another program
reads must not make two sections one.
"""

from __future__ import annotations

from ticktree.outputs.writing.visible import visible


def literal(name: str) -> str:
    r"""Return `name` in plainly visible characters; different names stay different.

    A backslash is written `\\`, what cannot be seen as an escape such as `\n`, and a name of no characters `\e`.
    """
    return visible(name.replace("\\", "\\\\")) or "\\e"


def encodable(text: str) -> str:
    r"""Return `text` without what UTF-8 has no bytes for: a lone surrogate is written as `\ud800`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
