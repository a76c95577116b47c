"""Which Python this is, and whether ticktree can record it as it is."""

from __future__ import annotations

import platform
from collections.abc import Iterator

from ticktree.recorder import gil


def check() -> Iterator[str]:
    """Yield the version, and what is special about a free-threaded build."""
    yield f"{platform.python_implementation()} {platform.python_version()}."
    remark = gil.remark()
    if remark is not None:
        yield f"{remark[0].upper()}{remark[1:]}."
