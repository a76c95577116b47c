from __future__ import annotations

import pytest

from support.golden_views import CASES, FOLDER, rendered


@pytest.mark.parametrize("name", CASES)
def test_a_view_looks_as_it_was_last_approved(name):
    assert rendered(name).decode() == (FOLDER / name).read_text(encoding="utf-8")


def test_no_view_is_kept_that_nothing_draws():
    assert {path.name for path in FOLDER.iterdir()} == set(CASES)
