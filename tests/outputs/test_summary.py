from __future__ import annotations

import io
import os
import pty

import pytest

from support.example_profiles import control
from ticktree.outputs import OUTPUTS, ViewOptions, print_summary


def test_piped_output_is_plain_and_100_columns_wide():
    stream = io.StringIO()
    print_summary(control(), stream)
    assert stream.getvalue() == OUTPUTS["terminal"].render(control(), ViewOptions(width=100)).decode()


def test_an_encoding_without_lines_and_bars_gets_question_marks_not_an_error():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_summary(control(), stream)
    assert b"?? observe" in stream.buffer.getvalue()


@pytest.mark.parametrize(
    ("variable", "colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_a_terminal_gets_colours_unless_the_user_disables_them(variable, colored, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    assert drawn_on_a_terminal(60).startswith(b"\x1b[1mrobot" if colored else b"robot")


def test_a_terminal_is_drawn_on_as_wide_as_it_is(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert max(map(len, drawn_on_a_terminal(60).decode().splitlines())) <= 60


def drawn_on_a_terminal(width: int) -> bytes:
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    reader = os.fdopen(ours, "rb", buffering=0)
    with os.fdopen(theirs, "w", encoding="utf-8") as stream:
        assert len(OUTPUTS["terminal"].render(control())) < 4096  # what a terminal holds unread
        print_summary(control(), stream)
        drawn = reader.read(65_536)
    reader.close()
    return drawn
