"""The site's hook: links out of docs/ lead to the repository, and a star in the nav holds every page that fits."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
_LINK = re.compile(r"(?<=\]\()(\.\./[^()\s#]*)(?=[)#])")


def on_config(config: Any) -> Any:
    """Replace each `folder/*.md` of the nav by that folder's pages, its README.md left out."""
    config.nav = _expanded(config.nav)
    return config


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Let links to files that are no pages lead to where the repository is hosted."""

    def outside(match: re.Match[str]) -> str:
        path = os.path.normpath(Path(page.file.src_uri).parent / match[1])
        if not path.startswith(".."):
            return match[1]
        target = Path(os.path.normpath(DOCS / path))
        kind = "tree" if target.is_dir() else "blob"
        return f"{config.repo_url}/{kind}/main/{target.relative_to(DOCS.parent).as_posix()}"

    return _LINK.sub(outside, markdown)


def _expanded(entries: list[Any]) -> list[Any]:
    result: list[Any] = []
    for entry in entries:
        if isinstance(entry, str) and "*" in entry:
            pages = sorted(DOCS.glob(entry))
            result += [page.relative_to(DOCS).as_posix() for page in pages if page.name != "README.md"]
        elif isinstance(entry, dict):
            result.append(
                {
                    title: _expanded(below) if isinstance(below, list) else below
                    for title, below in entry.items()
                }
            )
        else:
            result.append(entry)
    return result
