"""layout.py says what core/layout.h says: a C program prints the one, ctypes the other."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ticktree.run.reading import layout

CORE = Path(__file__).parents[2] / "src" / "ticktree" / "recorder" / "core"
RECORDS = {
    "tt_anchor": layout.Anchor,
    "tt_header": layout.Header,
    "tt_stats": layout.Stats,
    "tt_node": layout.Node,
    "tt_frame": layout.Frame,
    "tt_tree": layout.Tree,
    "tt_event": layout.Event,
    "tt_ring": layout.Ring,
    "tt_lane": layout.Lane,
    "tt_share": layout.Share,
    "tt_path": layout.Path,
    "tt_edge": layout.Edge,
    "tt_footprint": layout.Footprint,
    "tt_worst_row": layout.WorstRow,
    "tt_worst_tick": layout.WorstTick,
    "tt_causes": layout.Causes,
    "tt_missed_rows": layout.MissedRows,
    "tt_loop_sums": layout.LoopSums,
    "tt_loop": layout.Loop,
    "tt_gauge_octave": layout.GaugeOctave,
    "tt_gauge": layout.Gauge,
}
# What only the writing process understands is one field to a reader.
OPAQUE = {("tt_frame", "private"), ("tt_node", "windows")}
NUMBERS = {
    "TT_MAGIC": layout.MAGIC,
    "TT_FORMAT": layout.FORMAT,
    "TT_LINE": layout.LINE,
    "TT_OCTAVES": layout.OCTAVES,
    "TT_SUB_BUCKETS": layout.SUB_BUCKETS,
    "TT_WINDOWS": layout.WINDOWS,
    "TT_SHARES": layout.SHARES,
    "TT_FIRST_TICKS": layout.FIRST_TICKS,
    "TT_MISSED_ROWS": layout.MISSED_ROWS,
    "TT_WINDOW_NS": 10_000_000,
    "sizeof(tt_octave)": layout.OCTAVE_BYTES,
    "TT_LOSS_COUNT": len(layout.LOSSES),
    **{f"TT_NODE_{flag.name}": flag.value for flag in layout.NodeFlag},
    **{f"TT_HEADER_{flag.name}": flag.value for flag in layout.HeaderFlag},
    **{f"TT_CLOCK_{name.upper()}": at for at, name in enumerate(layout.CLOCKS)},
}


@pytest.fixture(scope="module")
def said_in_c(tmp_path_factory):
    """What the C compiler makes of each expression."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler or not CORE.exists():
        pytest.skip("needs the sources and a C compiler")
    folder = tmp_path_factory.mktemp("layout")
    expressions = [*NUMBERS, *(f"sizeof({name})" for name in RECORDS)]
    for name, record in RECORDS.items():
        for field, *_ in record._fields_:
            if (name, field) not in OPAQUE:
                expressions += [f"offsetof({name}, {field})", f"sizeof((({name} *)0)->{field})"]
    lines = [f'printf("%llu\\n", (unsigned long long)({expression}));' for expression in expressions]
    source = folder / "layout.c"
    source.write_text('#include <stdio.h>\n#include "layout.h"\nint main(void){' + "\n".join(lines) + "}")
    subprocess.run([compiler, "-I", CORE, "-o", folder / "layout", source], check=True)
    printed = subprocess.run([folder / "layout"], check=True, capture_output=True, text=True).stdout.split()
    return dict(zip(expressions, map(int, printed), strict=True))


def test_constants_and_flags_are_the_same(said_in_c):
    assert {name: said_in_c[name] for name in NUMBERS} == NUMBERS


@pytest.mark.parametrize("name", RECORDS)
def test_every_field_lies_where_c_puts_it(said_in_c, name):
    record = RECORDS[name]
    assert ctypes.sizeof(record) == said_in_c[f"sizeof({name})"]
    for field, *_ in record._fields_:
        if (name, field) not in OPAQUE:
            told = getattr(record, field)
            there = (said_in_c[f"offsetof({name}, {field})"], said_in_c[f"sizeof((({name} *)0)->{field})"])
            assert (told.offset, told.size) == there, field


def test_no_field_of_c_is_missing_here():
    """Names are the same, so that what one side gains the other cannot overlook."""
    text = re.sub(r"/\*.*?\*/", "", (CORE / "layout.h").read_text(), flags=re.DOTALL)
    for body, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", text, flags=re.DOTALL):
        if name not in RECORDS:
            continue
        declared = set(re.findall(r"(\w+)(?:\[\w+(?: \+ 1)?\])?\s*[,;]", body))
        known = {field for field, *_ in RECORDS[name]._fields_}
        private = {
            "below",
            "section",
            "python_frame",
            "cpu_start",
            "measured",
            "watch",
            "afar",
            "afar_serial",
            "focus",
            "home",
            "reserved",
            "reserved1",
        }
        missing = declared - known - (private if name == "tt_frame" else set())
        assert not missing, (name, missing)


def test_losses_are_in_the_order_of_the_enum():
    text = (CORE / "layout.h").read_text()
    (body,) = re.findall(r"enum tt_loss \{(.*?)\};", text, flags=re.DOTALL)
    names = re.findall(r"TT_LOSS_(\w+)", body)[:-1]
    words = dict(zip(names, layout.LOSSES, strict=True))
    assert words["UNWOUND"] == "unwound_sections"
    assert words["UNMATCHED"] == "unmatched_leaves"
    assert words["NODES"] == "calls_over_node_cap"
    assert words["FRAMES"] == "calls_nested_too_deep"
    assert words["NAMES_CUT"] == "names_cut"
    assert words["NAMES"] == "calls_over_name_cap"
    assert words["MEMORY"] == "records_without_memory"
    assert words["BAD_VALUES"] == "bad_values"
    assert words["FOREIGN"] == "foreign_leaves"
    assert words["GAUGE_BUCKETS"] == "gauge_values_unfiled"
    assert words["THREADS"] == "threads_ended_open"
    assert words["SIGNALS"] == "signals_without_place"
    assert words["EDGES"] == "wakes_unfiled"


def test_every_loss_has_room_in_the_header():
    assert len(layout.LOSSES) <= layout.Header.losses.size // 8
