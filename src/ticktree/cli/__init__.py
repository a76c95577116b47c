"""The command line: one file per command, each of which calls the other packages.

Every error is one line on standard error and exit status 2.
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
        SystemExit: Always, unless a signal ends the process.
    """
    try:
        status = _status()
    except MemoryError:  # Possibly during the imports.
        os.write(2, b"ticktree: out of memory\n")
        status = 2
    except KeyboardInterrupt:  # Possibly during the imports.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        status = 130
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0
    if sys.flags.inspect:
        _end_without_prompt(status)
    sys.exit(status)


def _end_without_prompt(status: int | None) -> NoReturn:
    """End the process where PYTHONINSPECT, which is meant for the program, would make Python open a prompt."""
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
        stop_printing(sys.stdout)  # The reader of our output has closed it, as `head` does.
        return 1
    except click.Abort:
        raise KeyboardInterrupt from None
    except OverflowError as error:  # After 2262 Python cannot read the clock.
        complain(str(error))
    except OSError as error:  # A disk that is full or gone, which no command can repair.
        stop_printing(sys.stdout)
        where = _gone_directory() if error.filename is None else f"{os.fsdecode(error.filename)}: "
        complain(f"{where}{error.strerror or error}")
    return 2


def _gone_directory() -> str:
    """Return the likely place of an error that names no file: a shell stays in a directory that has been deleted."""
    try:
        Path.cwd()
    except OSError:
        return "the current directory has been deleted: "
    return ""


def _sentence(message: str) -> str:
    """Return a message of click as one sentence: click puts choices in a column."""
    text = " ".join(message.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."
