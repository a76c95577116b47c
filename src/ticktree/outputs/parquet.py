"""Parquet: the same tables as CSV, typed and compressed, with what was lost in the file's own metadata."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

from ticktree.outputs.extras import wanted
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.shapes.tabular import Cell, Kind, tabular
from ticktree.outputs.writing.literal import encodable
from ticktree.profile import Profile
from ticktree.profile.metadata import ordered


def render(profile: Profile, options: ViewOptions) -> bytes:
    """Return the table as a Parquet file; null is what is not known.

    Raises:
        TicktreeError: pyarrow is not installed.
    """
    pyarrow, _ = libraries()
    table = tabular(profile, options.table)
    arrays = {
        column: _array(pyarrow, kind, [row[column] for row in table.rows])
        for column, kind in table.columns.items()
    }
    return file_of(pyarrow.table(arrays).replace_schema_metadata(_notes(profile)))


def libraries() -> tuple[ModuleType, ModuleType]:
    """Return pyarrow and pyarrow.parquet.

    Raises:
        TicktreeError: pyarrow is not installed.
    """
    return tuple(wanted(name, by="parquet", extra="parquet") for name in ("pyarrow", "pyarrow.parquet"))  # type: ignore[return-value]


def file_of(table: Any, **options: Any) -> bytes:
    """Return a table of pyarrow's as a file, compressed; `options` are those of its writer."""
    pyarrow, parquet = libraries()
    written = pyarrow.BufferOutputStream()
    parquet.write_table(table, written, compression="zstd", **options)
    content: bytes = written.getvalue().to_pybytes()
    return content


def _array(pyarrow: Any, kind: Kind, cells: list[Cell]) -> Any:
    types = {
        "text": pyarrow.string(),
        "integer": pyarrow.int64(),
        "real": pyarrow.float64(),
        "flag": pyarrow.bool_(),
    }
    if kind == "text":
        cells = [encodable(cell) if isinstance(cell, str) else cell for cell in cells]
    if kind == "integer" and any(
        isinstance(cell, int) and not -(1 << 63) <= cell < 1 << 63 for cell in cells
    ):
        # Sums of large counts, such as of floating-point operations, have no limit.
        return pyarrow.array(cells, type=pyarrow.decimal128(38))
    return pyarrow.array(cells, type=types[kind])


def _notes(profile: Profile) -> dict[str, str]:
    facts = {
        key: [str(value) for value in ordered(profile.metadata[key])] for key in sorted(profile.metadata)
    }
    return {
        "ticktree.not_recorded": json.dumps({what: profile.losses[what] for what in sorted(profile.losses)}),
        "ticktree.metadata": json.dumps(facts),
    }
