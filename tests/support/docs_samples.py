"""Update the output of programs and commands in the pages of the docs.

    PYTHONPATH=tests python -m support.docs_samples [PAGE...]

runs them again and writes what they print below them: times differ with each run and machine, so that no test compares
them. A sample is a block of text below one of these lines:

    <!-- output -->                 of the program above it
    <!-- output: COMMAND -->        of a command; the program above it is the file that it names
    <!-- output 6-17: COMMAND -->   of a command, these lines
    <!-- golden: FILE -->           a file of tests/outputs/golden: a test compares it
    <!-- golden: FILE: WORDS -->    its paragraph that begins with these words
    <!-- golden 1-9: FILE... -->    of either, these lines
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
GOLDEN = Path(__file__).parents[1] / "outputs" / "golden"
EXCERPT = re.compile(r"output (\d+)-(\d+): ")
GOLDEN_REMARK = re.compile(r"golden(?: (?P<first>\d+)-(?P<last>\d+))?: (?P<name>[^:]+)(?:: (?P<words>.*))?$")
BLOCK = re.compile(r"(?:<!-- (?P<remark>[^\n]*) -->\n)?```(?P<language>\w*)\n(?P<body>.*?)```", re.DOTALL)


def is_sample(remark: str | None) -> bool:
    """Whether a block below this line is what something printed."""
    return remark is not None and (
        remark == "output"
        or remark.startswith("output: ")
        or EXCERPT.match(remark) is not None
        or is_golden(remark)
    )


def samples(page: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each sample of a page with the program above it."""
    program = ""
    for block in BLOCK.finditer(page):
        if block["language"] == "python":
            program = block["body"]
        elif is_sample(block["remark"]):
            yield block, program


def is_golden(remark: str) -> bool:
    """Whether a golden file holds the block below this line."""
    return GOLDEN_REMARK.match(remark) is not None


def golden(remark: str) -> str:
    """What a golden file holds, or a paragraph of it, or lines of either."""
    match = GOLDEN_REMARK.match(remark)
    assert match is not None, remark
    text = (GOLDEN / match["name"]).read_text(encoding="utf-8")
    if words := match["words"]:
        text = next(part.rstrip("\n") + "\n" for part in text.split("\n\n") if part.startswith(words))
    if match["first"]:
        text = "".join(text.splitlines(keepends=True)[int(match["first"]) - 1 : int(match["last"])])
    return text


def printed(remark: str, program: str) -> str:
    """What the program, or the command, prints."""
    if is_golden(remark):
        return golden(remark)
    excerpt = EXCERPT.match(remark)
    command = remark[excerpt.end() :] if excerpt else remark.removeprefix("output").removeprefix(": ")
    words = command.split() or ["python", "program.py"]
    script = next((word for word in words if word.endswith(".py")), None)
    words[0:1] = [sys.executable] if words[0] == "python" else [sys.executable, "-m", "ticktree"]
    with tempfile.TemporaryDirectory() as folder:
        if script is not None:
            (Path(folder) / script).write_text(program, encoding="utf-8")
        done = subprocess.run(
            words,
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=True,
        )
    lines = [line for line in done.stdout.splitlines() if not line.startswith("ticktree: the run is saved")]
    if excerpt:
        return "\n".join(line.rstrip() for line in lines[int(excerpt[1]) - 1 : int(excerpt[2])]) + "\n"
    return "\n".join([*([f"$ {command}"] if command else []), *lines]) + "\n"


def renewed(page: str) -> str:
    """The page with all its samples as they are printed now."""
    result, position = [], 0
    for block, program in samples(page):
        start, end = block.span("body")
        result += [page[position:start], printed(block["remark"], program)]
        position = end
    return "".join([*result, page[position:]])


if __name__ == "__main__":
    for path in [Path(name) for name in sys.argv[1:]] or sorted(DOCS.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        path.write_text(renewed(text), encoding="utf-8")
