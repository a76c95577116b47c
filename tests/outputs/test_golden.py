from __future__ import annotations

import pytest

from support.golden_views import CASES, FOLDER, rendered


@pytest.mark.parametrize("name", CASES)
def test_a_view_equals_the_approved_golden_file(name):
    assert rendered(name).decode() == (FOLDER / name).read_text(encoding="utf-8")


def test_every_golden_file_has_a_case():
    assert {path.name for path in FOLDER.iterdir()} == set(CASES)
