"""Made the fixtures `format-3.tt` and `format-3.json`, when format 3 was the one that was written.

The same program as in `make_format_2.py`, in the format that had sums of loops and footprints and no timeline yet.

    PYTHONPATH=tests/run python tests/run/make_format_3.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from make_format_2 import every_record
from memory_images import profile_of

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    image = every_record()
    (folder / "format-3.tt").write_bytes(image)
    (folder / "format-3.json").write_text(profile_of(image).to_json() + "\n")
