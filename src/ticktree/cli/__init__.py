"""The command line: one file a command, each composed of what the other packages do.

What goes wrong is one clear line on standard error and exit status 2.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn


def main() -> None:
    """Run the command that the process was started with, and end the process.

    Raises:
        SystemExit: Always, but where a signal ends the process.
    """
    try:
        status = _status()
    except MemoryError:  # Not even for the imports.
        os.write(2, b"ticktree: out of memory\n")
        status = 2
    except KeyboardInterrupt:  # While something was still imported, too.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        status = 130
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0
    if sys.flags.inspect:
        _end_without_prompt(status)
    sys.exit(status)


def _end_without_prompt(status: int | None) -> NoReturn:
    """End the process where PYTHONINSPECT, which is for the program, would have Python print our end and go on."""
    atexit._run_exitfuncs()
    with suppress(OSError, AttributeError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status or 0)


def _status() -> int | None:
    import click

    from ticktree.cli.group import commands
    from ticktree.cli.screen import complain, stop_printing
    from ticktree.errors import TicktreeError

    try:
        status: int | None = commands.main(prog_name="ticktree", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "ticktree"
        complain(f"{_sentence(error.format_message())} See `{where} --help`.")
    except (click.ClickException, TicktreeError) as error:
        complain(error.format_message() if isinstance(error, click.ClickException) else str(error))
    except BrokenPipeError:
        stop_printing(sys.stdout)  # Whoever read our output has had enough, as `head` has.
        return 1
    except click.Abort:
        raise KeyboardInterrupt from None
    except OverflowError as error:  # After 2262 Python cannot read the clock.
        complain(str(error))
    except OSError as error:  # A disk that is full or gone: no command can do anything about it.
        stop_printing(sys.stdout)
        where = _gone_directory() if error.filename is None else f"{os.fsdecode(error.filename)}: "
        complain(f"{where}{error.strerror or error}")
    return 2


def _gone_directory() -> str:
    """What an error of no file is likely to be of: a shell stays in a directory that has been deleted."""
    try:
        Path.cwd()
    except OSError:
        return "the current directory has been deleted: "
    return ""


def _sentence(message: str) -> str:
    """A message of click's as one sentence: it has its choices in a column."""
    text = " ".join(message.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."
