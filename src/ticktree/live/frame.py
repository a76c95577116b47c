"""What stands around the tree: what is watched and what has become of it, the keys, and words for want of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from ticktree.analysis.survey import Survey
from ticktree.live.columns import NS_PER_SECOND
from ticktree.live.keys import KEYS
from ticktree.live.reading import Reading
from ticktree.live.recent import Span
from ticktree.live.view import View
from ticktree.outputs.view.headline import losses
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.grid import GAP, SEPARATOR, cut
from ticktree.outputs.writing.visible import visible


@dataclass(frozen=True, slots=True)
class Now:
    """All that there is to show.

    Attributes:
        reading: the last one that could be read; None before the first.
        span: the last seconds; None where nothing is known of them.
        state: the last reading, whether or not it found a profile; None before the first.
        every_ns: how often the run is read.
        slowed_ns: how often it is read instead, because reading takes long; 0 where it does not.
        reason: why nothing was recorded; "" where something was, or where it is not known.
        seen: what the report makes of the last reading; None before the first.
        recent: the same of the last seconds; None where nothing is known of them.
    """

    reading: Reading | None = None
    span: Span | None = None
    state: Reading | None = None
    every_ns: int = NS_PER_SECOND
    slowed_ns: int = 0
    reason: str = ""
    seen: Survey | None = None
    recent: Survey | None = None


def header(now: Now, view: View, width: int, chosen: str = "") -> Iterator[Text]:
    """Yield what is watched and what has become of it, and on further lines how, and what is wrong.

    Args:
        now: what is known.
        view: how it is looked at.
        width: of the terminal.
        chosen: what the row that keys act on is called in full, where it is shown by less; safe to show.
    """
    state = _state(now.state)
    room = max(0, width - cell_len(state.plain) - len(GAP))
    name = visible(now.state.name) if now.state else "ticktree"
    title = Text(cut(name, room), "bold")
    command = _command(now)
    if command and cell_len(name) + 12 < room:
        title.append(GAP + cut(command, room - cell_len(name) - len(GAP)), "dim")
    title.truncate(room, pad=True)
    yield Text.assemble(title, GAP, state) if room else state
    how = Text.assemble(*_pieces(now, view))
    if chosen:
        how.append(SEPARATOR, "dim").append(chosen)
    how.truncate(width, overflow="ellipsis")
    yield how
    wrong = [now.state.trouble] if now.state and now.state.trouble else []
    lost = losses(now.reading.profile) if now.reading and now.reading.profile else []
    if wrong:
        yield Text(cut(visible(wrong[0]), width), "red")
    if lost:
        yield Text(cut(", ".join(lost), width), "yellow")


def _state(reading: Reading | None) -> Text:
    if reading is None:
        return Text("reading", "dim")
    if reading.state == "running":
        age = "" if reading.running_ns is None else f" for {formatting.time(reading.running_ns)}"
        return Text(f"running{age}", "green")
    if reading.state == "lost":
        return Text("cannot be read", "bold red")
    if reading.state == "saved":
        return Text("saved profile", "bold")
    how = formatting.ending(reading.exit_status)
    said = "run ended" if reading.state == "ended" else "finished run"
    return Text(f"{said}, {how}" if how else said, "bold" if not reading.exit_status else "bold red")


def _command(now: Now) -> str:
    profile = None if now.reading is None else now.reading.profile
    values = profile.metadata.get("command", ()) if profile else ()
    return ", ".join(visible(str(value)) for value in sorted(map(str, values)))


def _pieces(now: Now, view: View) -> Iterator[tuple[str, str]]:
    """Yield how the run is watched, piece by piece, each with its style."""
    if view.paused:
        yield "paused", "bold yellow"
    elif now.state is None or not now.state.is_last:
        if now.slowed_ns:
            took = formatting.time(now.state.took_ns if now.state else 0)
            yield f"every {formatting.time(now.slowed_ns)}, because reading takes {took}", "yellow"
        else:
            yield f"every {formatting.time(now.every_ns)}", "dim"
    else:
        yield "nothing changes any more", "dim"
    yield f"{SEPARATOR}sorted by {view.order}", "dim"
    if view.filter and not view.typing:
        yield f"{SEPARATOR}only names with ", "dim"
        yield visible(view.filter), "bold"


def waiting(now: Now, width: int) -> Iterator[Text]:
    """Yield why there is no tree."""
    yield Text()
    if now.state is None:
        return
    if now.reading is None:
        said = "Nothing could be read of it yet."
    elif now.state.state == "running":
        said = "Nothing is recorded yet: no section was entered."
    else:
        said = f"Nothing was recorded: {visible(now.reason)}." if now.reason else "Nothing was recorded."
    yield from _wrapped(said, width)


def _wrapped(said: str, width: int) -> Iterator[Text]:
    line = ""
    for word in said.split(" "):
        if line and cell_len(line) + 1 + cell_len(word) > width:
            yield Text(cut(line, width))
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield Text(cut(line, width))


def help_page(width: int) -> Iterator[Text]:
    """Yield what each key does."""
    yield Text()
    for key in KEYS:
        line = Text.assemble((f"{key.shown:>8}", "bold"), f"   {key.says}")
        line.truncate(width, overflow="ellipsis")
        yield line


def footer(view: View, width: int, watching: bool = True) -> Text:
    """Return the last line: the keys, or the letters that are being typed."""
    if view.typing:
        line = Text.assemble(("/", "bold"), visible(view.filter), ("▏", "bold"))
        line.append("  Enter keeps it, Esc shows all", "dim")
    else:
        line = Text()
        for key in KEYS:
            if key.label and not (key.action == "pause" and not watching):
                line.append(f"{key.shown} ", "bold").append(f"{_label(key.label, view)}  ", "dim")
    line.rstrip()
    line.truncate(width, overflow="ellipsis")
    return line


def _label(label: str, view: View) -> str:
    return "go on" if label == "pause" and view.paused else label


def over(line: Text, start: Text, cells: int) -> Text:
    """Return `line` with its first cells, which are empty, taken by `start`."""
    start.truncate(cells, pad=True)
    return start + line[cells:]


def fitted(lines: Sequence[Text], last: Text, height: int) -> list[Text]:
    """Return exactly as many lines as the terminal has, the last of them at the bottom."""
    shown = list(lines[: max(0, height - 1)])
    return [*shown, *[Text()] * (height - 1 - len(shown)), last][-height:]
