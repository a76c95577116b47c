"""The native module describes the records as C lays them out, and completely."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ticktree.recorder import memory_layout
from ticktree.run.reading import layout

CORE = Path(__file__).parents[2] / "src" / "ticktree" / "recorder" / "core"
RECORDS, CONSTANTS, LOSSES, CLOCKS, CHECKSUM = memory_layout()


@pytest.mark.parametrize("name", RECORDS)
def test_the_reader_has_every_field_at_its_offset_in_c(name):
    size, fields = RECORDS[name]
    kind = layout._TYPES[name]
    assert ctypes.sizeof(kind) == size
    for field, _, offset, length in fields:
        assert (getattr(kind, field).offset, getattr(kind, field).size) == (offset, length), field


def test_every_loss_has_a_unique_name_and_a_field_in_the_header():
    assert None not in LOSSES
    assert len(set(LOSSES)) == len(LOSSES)
    text = (CORE / "layout.h").read_text()
    assert list(LOSSES) == re.findall(r'^    X\(\w+, "(\w+)"\)', text, flags=re.MULTILINE)
    assert len(LOSSES) <= layout.Header.losses.size // 8
    assert len(CLOCKS) == len(re.findall(r"TT_CLOCK_\w+ =", text))


@pytest.mark.parametrize(
    ("declared", "instead"),
    [
        ("uint64_t raised;", "uint64_t other, raised;"),  # a record grows
        ("uint64_t cpu_ns, cpu_wall;", "uint64_t cpu_wall, cpu_ns;"),  # two fields change places
        ("work_items, raised,", "work_items,"),  # a field is no longer described
    ],
)
def test_another_layout_has_another_checksum(tmp_path, declared, instead):
    """So a reader refuses files whose records it would misread."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler or not CORE.exists():
        pytest.skip("needs the sources and a C compiler")
    declared_in_c = re.sub(r"_Static_assert.*", "", (CORE / "layout.h").read_text())
    text = declared_in_c + (CORE / "description.h").read_text().replace('#include "layout.h"', "")
    assert declared in text
    assert checksum(compiler, tmp_path, text) == CHECKSUM
    assert checksum(compiler, tmp_path, text.replace(declared, instead)) != CHECKSUM


def checksum(compiler: str, folder: Path, header: str) -> int:
    """Return the checksum that a program prints with this text as layout.h."""
    (folder / "layout.h").write_text(header)
    program = '#include <stdio.h>\n#include "layout.h"\nint main(void) { printf("%u", tt_layout_sum()); }'
    (folder / "sum.c").write_text(program)
    subprocess.run([compiler, "-o", folder / "sum", folder / "sum.c"], check=True)
    return int(subprocess.run([folder / "sum"], check=True, capture_output=True).stdout)
