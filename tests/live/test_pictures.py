from __future__ import annotations

import asyncio

import pytest

from support.live_snapshots import CASES, FOLDER, rendered


@pytest.mark.parametrize("name", CASES)
def test_the_screen_equals_the_approved_snapshot(name):
    assert asyncio.run(rendered(name)) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_every_snapshot_file_has_a_case():
    assert {path.stem for path in FOLDER.iterdir()} == set(CASES)
