"""The command line: one file a command, each composed of what the other packages do.

What goes wrong is one clear line on standard error and exit status 2.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the command that the process was started with, and end the process.

    Raises:
        SystemExit: Always, but where a signal ends the process.
    """
    import click

    from ticktree.cli.group import commands
    from ticktree.cli.screen import complain
    from ticktree.errors import TicktreeError

    try:
        status = commands.main(prog_name="ticktree", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "ticktree"
        complain(f"{error.format_message()} See `{where} --help`.")
        status = 2
    except (click.ClickException, TicktreeError) as error:
        complain(error.format_message() if isinstance(error, click.ClickException) else str(error))
        status = 2
    except BrokenPipeError:
        # Whoever read our output has had enough, as `head` has. Python must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except (KeyboardInterrupt, click.Abort):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        status = 130
    sys.exit(status)
