from __future__ import annotations

import random
from dataclasses import replace

import pytest

from support.example_profiles import MS, node, training
from ticktree.analysis.comparison.compare import compare
from ticktree.analysis.context import Context
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.comparison import COMPARISONS
from ticktree.outputs.recursion import flattened
from ticktree.outputs.variants import VARIANTS, variants
from ticktree.outputs.view.notes import notes_of
from ticktree.outputs.view.tree import TreeRow, tree_rows
from ticktree.profile import Node, Profile, Share, Stats


def profile_of(*children: Node) -> Profile:
    return Profile(root=Node(name="root", children={child.name: child for child in children}))


def rows_of(*children: Node, everything: bool = False) -> dict[str, TreeRow]:
    profile = profile_of(*children)
    whole = profile if everything else replace(profile, root=flattened(profile.root))
    rows = tree_rows(Context(whole).run)[1:]
    return {f"{'  ' * (row.depth - 1)}{row.names[0]}": row for row in rows}


def notes(row: TreeRow) -> tuple[str, ...]:
    return notes_of(row.node, ViewOptions())


def search(levels: int, self_ns: int = 2 * MS) -> Node:
    """A search that expands on each level, takes 3 ms there and calls itself."""
    deepest = node("search", [self_ns + MS], node("expand", [MS]))
    for level in range(2, levels + 1):
        deepest = node("search", [level * (self_ns + MS)], node("expand", [MS]), deepest)
    return deepest


def chain(name: str, levels: int, deepest: Node) -> Node:
    """Nodes of one name in each other, that take a millisecond each, with `deepest` in the last of them."""
    for _ in range(levels):
        deepest = Node(name=name, self_ns=MS, steady=Stats.of([MS]), children={deepest.name: deepest})
    return deepest


def visits(levels: int) -> Node:
    """`visit` and `left`, which call each other and take 1 and 2 ms, so often."""
    at = node("visit", [MS])
    for level in range(1, levels):
        at = node("visit", [(3 * level + 1) * MS], node("left", [3 * level * MS], at))
    return at


def random_tree(rng: random.Random, depth: int) -> Node:
    children = [random_tree(rng, depth - 1) for _ in range(rng.choice((0, 1, 1, 2)) if depth else 0)]
    below = {child.name: child for child in children}
    self_ns, count = rng.randrange(1000), rng.randrange(1, 4)
    counted = [child.total_ns - child.concurrent_ns for child in below.values()]
    total_ns = self_ns + sum(counted)
    name = rng.choice("ffgh")
    return Node(
        name=name,
        self_ns=self_ns,
        concurrent_ns=total_ns if rng.random() < 0.1 else 0,
        steady=Stats.of([total_ns] * count),
        by_thread={"w": Share(count, total_ns, self_ns)},
        children=below,
    )


def test_a_recursion_is_one_row_with_its_depth_and_number_of_calls():
    rows = rows_of(node("plan", [400 * MS], search(100)))
    assert list(rows) == ["plan", "  search", "    expand", "    [self]", "  [self]"]
    row = rows["  search"]
    assert notes(row) == ("recursive: 100 levels, 100 calls",)
    assert (row.ns, row.calls, row.stats.mean_ns, row.share) == (300 * MS, 1, 300 * MS, 0.75)


def test_sections_in_a_recursion_are_summed_over_its_levels():
    rows = rows_of(search(100))
    assert (rows["  expand"].ns, rows["  expand"].calls) == (100 * MS, 100)
    assert rows["  expand"].stats.p99_ns == MS
    assert rows["  [self]"].ns == 200 * MS


def test_functions_that_call_each_other_recurse_and_the_inner_one_is_without_the_outer_ones_time():
    rows = rows_of(visits(101))
    assert list(rows) == ["visit", "  left", "  [self]"]
    assert notes(rows["visit"]) == ("recursive: 101 levels, 101 calls",)
    assert (rows["visit"].ns, rows["  [self]"].ns) == (301 * MS, 101 * MS)
    left = rows["  left"]
    assert (left.ns, left.calls, left.stats.mean_ns) == (200 * MS, 100, 2 * MS)
    assert notes(left) == ("without the recursive calls",)
    assert left.stats.p50_ns is None


def test_a_name_nested_in_itself_a_few_times_is_no_recursion():
    for root in (profile_of(search(4)).root, training().root):
        assert flattened(root) is root


def test_with_all_every_level_is_a_row():
    text = OUTPUTS["terminal"].render(profile_of(search(100)), ViewOptions(width=400, all=True)).decode()
    assert text.count("─ search ") == 100


def test_a_concurrent_section_of_the_same_name_is_no_level():
    beside = Node(name="search", self_ns=9 * MS, concurrent_ns=9 * MS)
    root = profile_of(chain("search", 6, beside)).root
    inner = flattened(root).children["search"].children["search"]
    assert (inner.total_ns, inner.concurrent_ns) == (9 * MS, 9 * MS)


@pytest.mark.parametrize("seed", range(60))
def test_a_flattened_tree_sums_correctly_for_every_thread(seed):
    rng = random.Random(seed)
    trees = [random_tree(rng, 14) for _ in range(3)]
    root = profile_of(*{tree.name: tree for tree in trees}.values()).root
    flat = flattened(root)
    below = [each for _, _, each in flat.walk()]
    assert flat.total_ns == root.total_ns
    assert sum(each.self_ns for each in below) == sum(each.self_ns for _, _, each in root.walk())
    assert {name: child.total_ns for name, child in flat.children.items()} == {
        name: child.total_ns for name, child in root.children.items()
    }
    for each in below[1:]:
        assert each.attributed
        assert not list(each.problems())


@pytest.mark.slow
def test_a_recursion_deeper_than_pythons_stack_has_a_row():
    assert len(rows_of(search(3000))) == 3


@pytest.mark.parametrize("form", ["terminal", "markdown"])
def test_a_report_of_a_deep_recursion_fits_a_screen(form):
    rendered = OUTPUTS[form].render(profile_of(search(250)), ViewOptions()).decode()
    assert rendered.count("expand") < 12
    assert len(rendered.splitlines()) < 40


def test_the_call_tree_of_a_lab_book_shows_the_depth_of_a_recursion():
    walk = chain(
        "walk(n - 1) | walk : app.py @ L3", 100, Node(name="leaf", self_ns=MS, steady=Stats.of([MS]))
    )
    rendered = OUTPUTS["markdown"].render(profile_of(node("main : app.py @ L1", [200 * MS], walk))).decode()
    lines = [line for line in rendered.splitlines() if line.startswith("  - `walk(n - 1)` | `walk`")]
    assert len(lines) == 1
    assert lines[0].endswith(", recursive: 100 levels, 100 calls)")


def test_a_comparison_shows_two_levels_of_a_recursion_and_counts_the_rest():
    base, new = ([profile_of(node("plan", [400 * MS], search(100, self_ns)))] for self_ns in (2 * MS, MS))
    compared = compare(base, new)
    text = COMPARISONS["terminal"](compared, [], ViewOptions(width=200)).decode()
    assert text.count("expand") <= 1
    assert "197 sections deeper in a recursion not shown (--all)." in " ".join(text.split())
    everything = COMPARISONS["terminal"](compared, [], ViewOptions(width=200, all=True)).decode()
    assert everything.count("expand") == 100
    assert "not shown" not in everything


def test_runs_side_by_side_show_two_levels_of_a_recursion_that_sum_correctly():
    runs = variants([("a", profile_of(search(100))), ("b", profile_of(search(3)))], ViewOptions())
    text = VARIANTS["terminal"](runs, ViewOptions(width=120)).decode()
    table = text[text.index("sections ") :].splitlines()[1:6]
    assert [line.split()[0] for line in table] == ["search", "search", "expand", "[self]", "Mean"]
    assert table[1].split()[1:5] == ["297", "ms", "6.00", "ms"]
    assert table[1].endswith("and 98 levels of recursion in it")
    everything = VARIANTS["terminal"](runs, ViewOptions(width=120, all=True)).decode()
    assert everything.count("expand") == 100
