"""What requests are called: few names, whatever paths there are."""

from __future__ import annotations

import pytest

from ticktree.remote.requests import NAMES_AT_MOST, PATHS_AT_MOST, Names


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/step", "/step"),
        ("/api/v1/cars/17/image", "/api/v1/cars/{}/image"),
        ("/users/123e4567-e89b-12d3-a456-426614174000", "/users/{}"),
        ("/blobs/9f86d081884c7d65", "/blobs/{}"),
        ("/deadbeef/facade", "/deadbeef/facade"),
        ("/search?q=1", "/search"),
        ("/" + "x" * 40, "/{}"),
        ("", ""),
    ],
)
def test_what_is_different_in_each_request_is_left_out(path, shape):
    assert Names().of("get", "host:80", path) == f"GET host:80{shape}"


def test_there_are_few_names_whatever_paths_and_hosts_there_are():
    names = Names()
    found = {
        names.of("POST", f"host{at % 300}", f"/page{'abc'[at % 3]}{'x' * (at % 30)}") for at in range(5000)
    }
    assert len(found) <= NAMES_AT_MOST + 1
    assert len({name for name in found if not name.endswith(("...", "hosts)"))}) <= PATHS_AT_MOST


def test_a_method_that_nobody_knows_makes_no_name():
    names = Names()
    assert {names.of(f"M{at}", "h", "/") for at in range(100)} == {"(other method) h/"}
