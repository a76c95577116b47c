"""The commands by name; each is imported when it is called, so that `ticktree run` starts fast."""

from __future__ import annotations

import shlex
from importlib import import_module

import click

from ticktree import __version__
from ticktree.errors import TicktreeError, did_you_mean

# In the order of the help.
_COMMANDS = (
    "run",
    "attach",
    "report",
    "top",
    "compare",
    "bench",
    "whatif",
    "try",
    "check",
    "export",
    "merge",
    "query",
    "list",
    "history",
    "doctor",
    "demo",
    "mcp",
)


# `try` is a keyword, and no module can have its name.
_MODULES = {"try": "trying"}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"ticktree.cli.{_MODULES.get(cmd_name, cmd_name)}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word in _COMMANDS or word.startswith("-"):
            return super().resolve_command(ctx, args)
        from ticktree.supervisor.program import is_interpreter

        if word.endswith(".py") or is_interpreter(word):
            raise TicktreeError(f"{word} is not a command; to run a program: ticktree run {shlex.join(args)}")
        raise click.UsageError(f"No such command {word!r}{did_you_mean(word, _COMMANDS) or '.'}", ctx)


@click.group(
    cls=_LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="ticktree %(version)s", help="Print the version and exit.")
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Where every millisecond of a learning or control loop goes.

    Start with `ticktree demo`, or with `ticktree run` and your program.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
