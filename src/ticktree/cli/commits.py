"""What the repository here says of the commits in a history."""

from __future__ import annotations

import re
from pathlib import Path

from ticktree.analysis.history import Commit, History
from ticktree.machine import git

_NAME = re.compile(r"[0-9a-f]{7,64}")
# Each is a question to git, which takes milliseconds.
_MOST = 100


def commits_of(found: History, folder: Path) -> dict[str, Commit]:
    """Return what is known of the commits at which anything changed; nothing where there is no repository.

    Args:
        found: The history.
        folder: Any in the repository.
    """
    pairs = {
        turn.run.commit: turn.last.commit
        for told in found.told
        for trend in told.trends
        for turn in trend.turns
        if _NAME.fullmatch(turn.run.commit)
    }
    commits = {}
    for commit, before in list(pairs.items())[:_MOST]:
        subject = git.ask(folder, "log", "-1", "--format=%s", commit, "--")
        if subject is not None:
            commits[commit] = Commit(subject.strip(), _after(folder, before, commit))
    return commits


def _after(folder: Path, before: str, commit: str) -> int | None:
    if not _NAME.fullmatch(before):
        return None
    count = git.ask(folder, "rev-list", "--count", f"{before}..{commit}", "--")
    return int(count) if count is not None and count.strip().isdigit() else None
