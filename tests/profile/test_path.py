from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.profile import path

names = st.lists(st.text(alphabet="ab/\\e\n", max_size=4) | st.text(max_size=4), max_size=5)


@given(names)
def test_splitting_a_joined_path_gives_the_names_back(names):
    assert path.split(path.join(names)) == tuple(names)


@given(names, names)
def test_different_names_have_different_paths(left, right):
    assert (path.join(left) == path.join(right)) == (left == right)


@given(names, st.text(max_size=3))
def test_a_childs_path_is_its_parents_with_its_name(parent, name):
    assert path.child(path.join(parent), name) == path.join([*parent, name])
    assert path.name_of(path.child(path.join(parent), name)) == name


@given(names, st.text(max_size=4))
def test_a_child_is_right_below_its_parent_and_below_all_above_that(parent, name):
    path_of_child = path.child(path.join(parent), name)
    assert path.parent(path_of_child) == path.join(parent)
    assert all(
        path.is_descendant(path_of_child, path.join(parent[:length])) for length in range(len(parent) + 1)
    )
    assert not path.is_descendant(path_of_child, path_of_child)


def test_a_node_whose_name_begins_as_anothers_is_not_below_it():
    assert not path.is_descendant("ab/c", "a")
    assert not path.is_descendant("", "a")


def test_a_slash_and_a_backslash_in_a_name_are_escaped():
    assert path.join(["train", "a/b", "c\\d"]) == r"train/a\/b/c\\d"


def test_the_root_has_the_empty_path():
    assert path.join([]) == path.ROOT == ""
    assert path.split("") == ()
    assert path.name_of("") == ""


@pytest.mark.parametrize("text", ["/a", "a/", "a//b", "a\\", r"\a", r"a\e", "/"])
def test_what_join_cannot_return_is_no_path(text):
    with pytest.raises(ValueError, match="not a path"):
        path.split(text)


@pytest.mark.parametrize(
    ("names", "read"),
    [
        (("train", "update"), "train/update"),
        (("api/step", "win\\dir", ""), 'api/step/win\\dir/""'),
        (("search",) * 2 + ("expand",), "search/search/expand"),
        (("plan", *["search"] * 98, "expand"), "plan/98 × search/expand"),
        ((), ""),
    ],
)
def test_a_displayed_path_has_unescaped_names_and_recursion_once(names, read):
    assert path.display_text(path.join(names)) == read
