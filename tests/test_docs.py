"""The documentation is true: its links lead somewhere, its programs run and print what it says they print."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

import ticktree
from ticktree.cli.group import commands
from ticktree.outputs import EXPORTS, OUTPUTS
from ticktree.run.reading.layout import LOSSES

ROOT = Path(__file__).parents[1]
FAKE_ROS = ROOT / "tests" / "support" / "fake_ros"
DOCS = ROOT / "docs"
# What is built or installed here is not ours to check.
NOT_OURS = {"build", "dist", "node_modules", "shared", "ticktree-runs"}

COMMANDS = tuple(commands.list_commands(click.Context(commands)))
# Losses that readers add to the recorder's own.
READERS_LOSSES = (
    "nodes_caught_in_a_write",
    "machine_readings_damaged",
    "memory_files_damaged",
    "modules_not_instrumented",
    "processes_outlived_run",
    "processes_without_room",
    "negative_self_times",
    "self_times_that_do_not_add_up",
    "timers_without_a_call",
    "wakes_by_unknown_processes",
    "calls_before_the_timeline",
    "parts_damaged",
    "ray_nodes_not_fully_read",
    "ray_nodes_died",
    "ray_milliseconds_not_collected",
    "profiles_not_merged",
    "runs_not_gathered",
    "runs_gathered_in_part",
)

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\S*)\n(?P<body>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE
)
COMMENT_BEFORE = re.compile(r"<!--\s*(?P<text>(?:(?!-->).)*?)\s*-->\s*\Z", re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\((?P<target>[^()\s]+)(?:\s+\"[^\"]*\")?\)")
HTML_LINK = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"(?P<target>[^\"]+)\"")
HEADING = re.compile(r"^#{1,6} +(?P<text>.*?) *#*$", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: the file it is in.
        line: where it begins.
        language: what it is said to be in.
        body: its text.
        remark: the HTML comment right before it, or "".
    """

    page: Path
    line: int
    language: str
    body: str
    remark: str

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    def visible(path: Path) -> bool:
        parts = path.relative_to(ROOT).parts
        return not any(part.startswith(".") or part in NOT_OURS for part in parts)

    return [path for path in sorted(ROOT.rglob("*.md")) if visible(path)]


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        before = COMMENT_BEFORE.search(text[: match.start()])
        line = text.count("\n", 0, match.start()) + 1
        remark = before["text"] if before else ""
        found.append(Block(page, line, match["language"], match["body"], remark))
    return found


def prose(page: Path) -> str:
    """A page without its blocks and comments: they hold no links."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get where the repository is hosted."""
    seen: dict[str, int] = {}
    result = set()
    for match in HEADING.finditer(prose(page)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match["text"]).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        number = seen.get(slug, 0)
        seen[slug] = number + 1
        result.add(f"{slug}-{number}" if number else slug)
    return result


def links(page: Path) -> Iterator[str]:
    text = re.sub(r"`[^`\n]*`", lambda code: "`" * len(code[0]), prose(page))
    for pattern in (LINK, HTML_LINK):
        yield from (match["target"] for match in pattern.finditer(text))


def commands_in(block_or_line: str) -> Iterator[tuple[str, list[str]]]:
    """Every `ticktree COMMAND` in a text of the command line, with the words that follow it."""
    for match in re.finditer(r"\bticktree (?P<command>[a-z]+)\b(?P<rest>[^\n|;&>]*)", block_or_line):
        if match["command"] in COMMANDS:
            rest = match["rest"].partition("#")[0].replace("[", " ").replace("]", " ")
            yield match["command"], shlex.split(rest)


def own_options(command: str, words: list[str], takes_value: set[str]) -> list[str]:
    """The options among `words` that are the command's own and not those of a program it runs."""
    options: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if not word.startswith("-") or word == "-":
            if command in ("run", "demo") and word not in ("OPTIONS", "SCRIPT"):
                break
            continue
        options.append(word.partition("=")[0])
        if options[-1] in takes_value and waiting:
            waiting.pop(0)
    return options


def clean_environment(directory: Path) -> dict[str, str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("TICKTREE", "PYTHON"))}
    if "PYTHONPATH" in os.environ:  # the tests may run on a checkout
        env["PYTHONPATH"] = os.environ["PYTHONPATH"]
    return {**env, "TICKTREE_MEMORY_DIR": str(directory), "PYTHONIOENCODING": "utf-8"}


PAGES = pages()
BLOCKS = [block for page in PAGES for block in blocks(page)]
PROGRAMS = [block for block in BLOCKS if block.language == "python"]


def outputs_of_programs() -> dict[str, Block]:
    """By the name of a program, the block that says what it prints."""
    result = {}
    last: Block | None = None
    for block in BLOCKS:
        if block.language == "python":
            last = block
        elif block.remark == "checked":
            assert last is not None, block.name
            assert last.page == block.page, block.name
            result[last.name] = block
    return result


PRINTED = outputs_of_programs()


def is_program(block: Block) -> bool:
    return not block.remark.startswith("not run:")


@pytest.fixture(scope="module")
def help_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    directory = tmp_path_factory.mktemp("help")
    return {
        command: subprocess.run(
            [sys.executable, "-m", "ticktree", command, "--help"],
            capture_output=True,
            text=True,
            check=True,
            env=clean_environment(directory),
        ).stdout
        for command in COMMANDS
    }


def options_in_help(text: str) -> set[str]:
    lines = re.findall(r"^ {2}(-.*?)(?: {2,}|$)", text, re.MULTILINE)
    return {option for line in lines for option in OPTION.findall(line)}


def options_with_values(text: str) -> set[str]:
    lines = re.findall(r"^ {2}(-.*?) (?:[A-Z]+|\[[^\]]*\])(?: {2,}|$)", text, re.MULTILINE)
    return {option for line in lines for option in OPTION.findall(line)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file_and_a_heading_that_are_there(page: Path) -> None:
    broken = []
    for target in links(page):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists() or (anchor and (path.suffix != ".md" or anchor not in anchors(path))):
            broken.append(target)
    assert not broken


@pytest.mark.slow
@pytest.mark.parametrize("block", PROGRAMS, ids=lambda block: block.name)
def test_every_program_of_the_docs_runs_and_prints_what_they_say(block: Block, tmp_path: Path) -> None:
    if not is_program(block):
        assert len(block.remark) > len("not run: why"), "say why it is not run"
        return
    script = tmp_path / "program.py"
    script.write_text(block.body, encoding="utf-8")
    env = clean_environment(tmp_path)
    if "import rclpy\n" in block.body:  # no environment of ours has it
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (env.get("PYTHONPATH"), str(FAKE_ROS))))
    done = subprocess.run(
        [sys.executable, "-u", script.name],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    if block.name in PRINTED:
        # The last line says where the run is, under a name that differs each time.
        lines = done.stdout.splitlines(keepends=True)
        output = "".join(line for line in lines if not line.startswith("ticktree: the run is saved"))
        assert output == PRINTED[block.name].body


@pytest.mark.slow
def test_every_option_that_the_docs_use_exists(help_of: dict[str, str]) -> None:
    unknown = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        shown = [block.body for block in blocks(page) if block.language != "python"]
        shown += re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
        for command, words in (found for piece in shown for found in commands_in(piece)):
            known = options_in_help(help_of[command])
            used = own_options(command, words, options_with_values(help_of[command]))
            unknown += [
                f"{page.relative_to(ROOT)}: ticktree {command} {option}"
                for option in used
                if option not in known
            ]
    assert not unknown


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_of_the_command_line_has_every_option_of_a_command_and_no_other(
    command: str, help_of: dict[str, str]
) -> None:
    page = (DOCS / "command-line.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## ticktree {command}\n")[2].partition("\n## ")[0]
    described = {
        option
        for codes in re.findall(r"^- ((?:`-[^`]*`(?:, )?)+):", section, re.MULTILINE)
        for option in OPTION.findall(codes)
    }
    # Every command has them: the page says so once.
    assert described == options_in_help(help_of[command]) - {"-h", "--help"}


def ratios(page: Path, section: str, column: int) -> dict[str, str]:
    """By its name, the figure of each row of the tables in a section, as bare as it is."""
    text = page.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip(" *") for cell in row] for row in rows]
    return {row[0]: row[min(column, len(row) - 1)] for row in cells if row[0]}


def test_the_figures_of_the_readme_are_those_of_the_measurements() -> None:
    output = ratios(ROOT / "README.md", "Why not the profiler you have?", 1)
    measured = ratios(DOCS / "measurements.md", "Other profilers", 1)
    figures = {name: cell.removesuffix(" ×") for name, cell in output.items() if cell.endswith(" ×")}
    assert len(figures) >= 5
    for name, figure in figures.items():
        first = name.replace("*", "").partition(",")[0]
        (found,) = [cell for row, cell in measured.items() if row.startswith(first)]
        assert float(figure) == float(found)


def test_every_page_is_in_the_list_of_pages_or_in_that_of_its_folder() -> None:
    listed = {
        (index.parent / target.partition("#")[0]).resolve()
        for index in (ROOT / "README.md", *DOCS.rglob("README.md"))
        for target in links(index)
    }
    assert not [page for page in DOCS.rglob("*.md") if page not in listed and page.name != "README.md"]


def test_llms_txt_has_every_page_of_the_list_and_leads_to_pages_that_are_there() -> None:
    pages, listed = (
        set(re.findall(r"\]\(([^)#]+\.md)", (DOCS / name).read_text())) for name in ("README.md", "llms.txt")
    )
    assert {page for page in pages if not page.startswith("..")} <= listed
    assert [page for page in listed if not (DOCS / page).is_file()] == []


def test_the_page_of_the_api_has_every_public_name() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    headings = " ".join(match["text"] for match in HEADING.finditer(page))
    missing = [name for name in ticktree.__all__ if not re.search(rf"\b{name}\b", headings)]
    assert not missing


def test_every_loss_is_explained() -> None:
    page = (DOCS / "concepts.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^- `(\w+)`: ", page.partition("\n## Losses\n")[2], re.MULTILINE))
    assert rows == {*LOSSES, *READERS_LOSSES}


def test_every_output_has_a_page_of_its_name() -> None:
    assert {path.stem for path in (DOCS / "outputs").glob("*.md")} == {*OUTPUTS, *EXPORTS}


def a_profile_with_every_field() -> ticktree.Profile:
    recorder = ticktree.Recorder(virtual_clock=True)
    for tick in recorder.loop("train", range(6), hz=100, pace=True, warmup=2):
        with recorder.section("sample", cpu=True, memory=True, device="cuda") as sample:
            recorder.advance(20_000_000 if tick == 4 else 1_000_000)
            sample.work(bytes=1, flops=1, items=1)
        recorder.gauge("depth", tick)
    recorder.section("open").__enter__()
    recorder.advance(1000)
    return recorder.snapshot()


def keys_of(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, below in value.items():
            if key not in ("metadata", "losses", "per_run", "breakdown", "missed_breakdown", "gauges"):
                yield from keys_of(below)
            if key == "gauges":
                yield from keys_of(list(below.values()))
            yield key
    elif isinstance(value, list):
        for below in value:
            yield from keys_of(below)


def test_every_field_of_a_profile_is_described() -> None:
    page = (DOCS / "file-format.md").read_text(encoding="utf-8")
    described = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", FENCE.sub("", page)))))
    fields = set(keys_of(json.loads(a_profile_with_every_field().to_json())))
    assert not fields - described
