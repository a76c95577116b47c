from __future__ import annotations

import asyncio

import pytest

from support.live_snapshots import CASES, FOLDER, rendered


@pytest.mark.parametrize("name", CASES)
def test_the_screen_looks_as_it_was_last_approved(name):
    assert asyncio.run(rendered(name)) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_no_screen_is_kept_that_nothing_draws():
    assert {path.stem for path in FOLDER.iterdir()} == set(CASES)
