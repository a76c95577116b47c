"""Profiles with hostile names, and trees whose parts ran concurrently."""

from __future__ import annotations

from dataclasses import replace

from support.example_profiles import MS, gauge_of, node
from ticktree.profile import Loop, Node, Profile

NAMES = (
    *(
        "a;b",
        "a b",
        " ",
        "",
        "a\nb",
        "a\\nb",
        "\\e",
        "\\",
        '"',
        "a/b",
        "'",
        ",",
        "=1+1",
        "{}",
        "# x",
        "a 7",
        "x [k]",
    ),
    *(
        "\x00",
        "\x1b[31m",
        "\r\n",
        "\t",
        "\u202e",
        "\u2028",
        "\ud800",
        "שלום",
        "日本語",
        "😀",
        "</script>",
        "x" * 10_000,
    ),
)


def hostile() -> Profile:
    """Every name under every kind of thing that has one."""
    sections = [node(name, [at * MS], node(name, [MS])) for at, name in enumerate(NAMES, start=2)]
    root = Node(name="root", self_ns=7, children={each.name: each for each in sections})
    loops = [
        Loop(path=path, ticks=1, hz=frozenset({30.0}), stats=each.stats, busy_ns=each.stats.sum_ns)
        for path, depth, each in root.walk()
        if depth == 1
    ]
    return Profile(
        root=root,
        loops={loop.path: loop for loop in loops},
        gauges={name: gauge_of(name, [1.0, 2.5]) for name in NAMES},
        metadata={"name": frozenset({"\ud800\n"}), "command": frozenset(NAMES[:5])},
        losses={"names_cut": 2, "unwound": 0},
    )


def side_by_side() -> Profile:
    """A worker beside all the rest with a section of its own, and tasks of which a part overlapped."""
    inner = node("inner", [20 * MS])
    worker = node("worker", [30 * MS], inner, concurrent_ns=30 * MS)
    tasks = node("tasks", [10 * MS, 10 * MS], concurrent_ns=4 * MS)
    rest = node("rest", [5 * MS])
    main = node("main", [40 * MS], worker, tasks, rest, self_ns=19 * MS)
    return Profile(root=Node(name="root", self_ns=MS, children={"main": main}), losses={"unwound": 3})


def unknown_durations() -> Profile:
    """Calls that another program only counted."""
    told = node("told", [5, 6])
    stats = replace(told.steady, min_ns=None, max_ns=None, histogram=type(told.steady.histogram)())
    told = replace(told, steady=stats)
    return Profile(root=Node(name="root", children={"told": told}))
